"""A fingerprint of the rows a model was trained on: hashes, by which it recognizes them, and nothing else of them.

A row has one hash, of its features rounded to 24 significant bits: what single precision holds, so that a row is
recognized after it went through a text file or through single precision. Of rows with few distinct values, new ones
look like old ones; how often that happens is known from how many training rows look like no other (Good 1953: the
probability that a row has not been seen is about the share of rows that were seen once).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softpolytope._typing import BoolArray, FloatArray

# Hashes that are kept; of more rows, those of the lowest hashes. They take 64 KiB in a file, so that a model of many
# rows stays small; the sum of all hashes recognizes the whole table whatever its size.
MAX_HASHES = 2**14
HASH_BITS = 31
# Numbers that are hashed at a time.
_BLOCK = 2**18
_DROPPED_BITS = np.uint64(29)  # of the 53 of a double
_HALF = np.uint64(2**28)
_SEED = np.uint64(0x9E3779B97F4A7C15)

Hashes = NDArray[np.uint64]


# No slots: skops refuses classes that have them.
@dataclass(frozen=True)
class TrainingRows:
    """Hashes of training rows."""

    hashes: NDArray[np.uint32]  # distinct and sorted, below 2**31 >> n_halvings
    is_repeated: BoolArray  # whether several rows have the hash
    n_halvings: int  # how often the share of hashes that are kept was halved
    n_rows: int  # rows of positive weight, copies counted
    checksum: int  # sum of all hashes, in 64 bits

    @classmethod
    def of(cls, X: Any, row_weights: FloatArray | None = None) -> "TrainingRows":
        """Return the fingerprint of rows, dense or CSR, except those of weight zero.

        Examples
        --------
        >>> import numpy as np
        >>> from softpolytope.model import TrainingRows
        >>> X = np.arange(12.0).reshape(6, 2)
        >>> TrainingRows.of(X[:4]).recognized(X).tolist()
        [True, True, True, True, False, False]
        """
        hashes = row_hashes(X)
        if row_weights is not None:
            hashes = hashes[row_weights > 0.0]
        values, counts = np.unique(_shortened(hashes), return_counts=True)
        return cls(values, counts > 1, 0, len(hashes), checksum_of(hashes))._thinned(0)

    @property
    def limit(self) -> int:
        """Hashes from here on are not kept."""
        return int(2**HASH_BITS >> self.n_halvings)

    @property
    def chance_of_equal(self) -> float:
        """Probability that a new row looks like a training row, by Good's estimate."""
        return self._or_collision(self._share_seen())

    @property
    def largest_chance_of_equal(self) -> float:
        """Upper end of what that estimate leaves open."""
        n_rows = self._n_rows_kept()
        seen = min(self._share_seen() + 1.0 / n_rows, 1.0)
        # Three standard deviations of the estimate, or more: no rows have a larger one.
        return self._or_collision(min(seen + 3.0 * float(np.sqrt(seen * (2.0 - seen) / n_rows)), 1.0))

    def _n_rows_kept(self) -> float:
        """Rows whose hashes are kept, about."""
        return max(self.n_rows / (1 << self.n_halvings), 1.0)

    def _share_seen(self) -> float:
        return 1.0 - min(float((~self.is_repeated).sum()) / self._n_rows_kept(), 1.0)

    def _or_collision(self, chance: float) -> float:
        """Probability that a row has the hash of another, or else does by accident."""
        return chance + (1.0 - chance) * min(len(self.hashes) / self.limit, 1.0)

    def is_looked_up(self, hashes: Hashes) -> BoolArray:
        """Return whether each row is one whose hash would have been kept."""
        return np.asarray(_shortened(hashes) < self.limit)

    def has(self, hashes: Hashes) -> BoolArray:
        """Return whether each hash is one of those kept."""
        short = _shortened(hashes)
        places = np.minimum(np.searchsorted(self.hashes, short), max(len(self.hashes) - 1, 0))
        return self.hashes[places] == short if len(self.hashes) else np.zeros(len(short), dtype=bool)

    def recognized(self, X: Any) -> BoolArray:
        """Return whether each row looks like a training row; of many training rows only a share is recognized."""
        return self.has(row_hashes(X))

    def with_batch(self, other: "TrainingRows") -> "TrainingRows":
        """Return the fingerprint of these rows and a batch of others."""
        one, two = self._thinned(other.n_halvings), other._thinned(self.n_halvings)
        values, first, counts = np.unique(
            np.concatenate([one.hashes, two.hashes]), return_index=True, return_counts=True
        )
        is_repeated = np.concatenate([one.is_repeated, two.is_repeated])[first] | (counts > 1)
        total = (one.checksum + two.checksum) % 2**64
        return TrainingRows(values, is_repeated, one.n_halvings, one.n_rows + two.n_rows, total)._thinned(0)

    def followed_by(self, other: "TrainingRows") -> "TrainingRows":
        """Return the fingerprint of a fit to other rows, or the same, that went on from a fit to these.

        Both are recognized; how often rows look alike is that of the other rows alone, which may hold these again.
        """
        both = self.with_batch(other)
        own = other._thinned(both.n_halvings)
        is_repeated = np.ones(len(both.hashes), dtype=bool)
        is_repeated[np.searchsorted(both.hashes, own.hashes)] = own.is_repeated
        return replace(both, is_repeated=is_repeated, n_rows=own.n_rows, checksum=own.checksum)

    def _thinned(self, n_halvings: int) -> "TrainingRows":
        """Keep a smaller share of the hashes: at most what so many halvings leave, and not more than `MAX_HASHES`."""
        found = replace(self, n_halvings=max(self.n_halvings, n_halvings))
        while int(np.searchsorted(self.hashes, found.limit)) > MAX_HASHES:
            found = replace(found, n_halvings=found.n_halvings + 1)
        stop = int(np.searchsorted(self.hashes, found.limit))
        return replace(found, hashes=self.hashes[:stop].copy(), is_repeated=self.is_repeated[:stop].copy())


def row_hashes(X: Any) -> Hashes:
    """Return a 64-bit hash of each row; zeros add nothing, so that dense and sparse rows have the same.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from softpolytope.model import row_hashes
    >>> X = np.array([[0.0, 0.1], [2.0, -0.0]])
    >>> bool((row_hashes(X) == row_hashes(sparse.csr_array(X))).all())
    True
    """
    n_rows, n_columns = X.shape
    keys = _mixed(np.arange(1, n_columns + 1, dtype=np.uint64) * _SEED)
    found = np.empty(n_rows, dtype=np.uint64)
    step = max(_BLOCK // max(n_columns, 1), 1)
    if sparse.issparse(X):
        rows: Any = X
        terms = _terms(rows.data, keys[rows.indices])
        sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms, dtype=np.uint64)])
        found = sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]
    else:
        for start in range(0, n_rows, step):
            found[start : start + step] = _terms(X[start : start + step], keys).sum(axis=1, dtype=np.uint64)
    return _mixed(found)


def checksum_of(hashes: Hashes) -> int:
    """Return the sum of hashes in 64 bits, which does not depend on their order."""
    return int(hashes.sum(dtype=np.uint64))


def _terms(values: Any, keys: Hashes) -> Hashes:
    """A hash of every number and its column; none of zero."""
    # Adding zero makes one of both zeros.
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    rounded = (bits + _HALF) >> _DROPPED_BITS
    return np.asarray(np.where(rounded == 0, np.uint64(0), _mixed(rounded ^ keys)))


def _mixed(values: Hashes) -> Hashes:
    """Spread the bits: every bit given changes about half of those returned."""
    found: Hashes = values ^ (values >> np.uint64(30))
    found *= np.uint64(0xBF58476D1CE4E5B9)
    found ^= found >> np.uint64(27)
    found *= np.uint64(0x94D049BB133111EB)
    found ^= found >> np.uint64(31)
    return found


def _shortened(hashes: Hashes) -> NDArray[np.uint32]:
    return (hashes >> np.uint64(64 - HASH_BITS)).astype(np.uint32)
