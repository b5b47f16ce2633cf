"""Fingerprint of the rows a model was trained on: hashes that recognize these rows without storing them.

The hash of a row is that of its features rounded to 24 significant bits, the digits of single precision, so that a row
is recognized after a text file or single precision. New rows with few distinct values may equal training rows; how
often is estimated from the number of training rows that are unique (Good 1953: the probability that a new row has not
been seen is about the share of rows that were seen once).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.model._log_posterior import Design

# Number of hashes that are kept, the lowest ones. They take 64 KiB in a file, so that the model of many rows stays
# small; the sum of all hashes recognizes the whole table whatever its size.
MAX_HASHES = 2**14
HASH_BITS = 31
# Numbers that are hashed at once.
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
    def from_rows(cls, X: Design, row_weights: FloatArray | None = None) -> "TrainingRows":
        """Return the fingerprint of rows, dense or CSR, except those of weight zero.

        Examples
        --------
        >>> import numpy as np
        >>> from softpolytope.model import TrainingRows
        >>> X = np.arange(12.0).reshape(6, 2)
        >>> TrainingRows.from_rows(X[:4]).recognize(X).tolist()
        [True, True, True, True, False, False]
        """
        hashes = row_hashes(X)
        if row_weights is not None:
            hashes = hashes[row_weights > 0.0]
        values, counts = np.unique(_shorten(hashes), return_counts=True)
        rows = cls(values, counts > 1, 0, len(hashes), sum_hashes(hashes))
        return rows if len(values) <= MAX_HASHES else rows._thin(0)

    @property
    def limit(self) -> int:
        """Upper bound of the hashes that are kept."""
        return int(2**HASH_BITS >> self.n_halvings)

    @property
    def match_probability(self) -> float:
        """Probability that a new row has the hash of a training row, by Good's estimate."""
        return self._or_collision(self._share_seen())

    @property
    def max_match_probability(self) -> float:
        """Upper confidence limit of the match probability."""
        n_rows = self._n_rows_kept()
        seen = min(self._share_seen() + 1.0 / n_rows, 1.0)
        # At least three standard deviations of the estimate, whatever the law of the rows.
        return self._or_collision(min(seen + 3.0 * float(np.sqrt(seen * (2.0 - seen) / n_rows)), 1.0))

    def _n_rows_kept(self) -> float:
        """Return the approximate number of rows whose hashes are kept."""
        return max(self.n_rows / (1 << self.n_halvings), 1.0)

    def _share_seen(self) -> float:
        """Return the estimated share of new rows that equal a training row."""
        return 1.0 - min(float((~self.is_repeated).sum()) / self._n_rows_kept(), 1.0)

    def _or_collision(self, probability: float) -> float:
        """Add the probability that two different rows have the same hash."""
        return probability + (1.0 - probability) * min(len(self.hashes) / self.limit, 1.0)

    def is_covered(self, hashes: Hashes) -> BoolArray:
        """Return whether each hash is one that would have been kept."""
        return np.asarray(_shorten(hashes) < self.limit)

    def contains(self, hashes: Hashes) -> BoolArray:
        """Return whether each hash is one of those kept."""
        return np.isin(_shorten(hashes), self.hashes)

    def recognize(self, X: Design) -> BoolArray:
        """Return whether each row has the hash of a training row; of many training rows only a share is recognized."""
        return self.contains(row_hashes(X))

    def with_batch(self, other: "TrainingRows") -> "TrainingRows":
        """Return the fingerprint of these rows and a batch of others."""
        one, two = self._thin(other.n_halvings), other._thin(self.n_halvings)
        values, first, counts = np.unique(
            np.concatenate([one.hashes, two.hashes]), return_index=True, return_counts=True
        )
        is_repeated = np.concatenate([one.is_repeated, two.is_repeated])[first] | (counts > 1)
        total = (one.checksum + two.checksum) % 2**64
        return TrainingRows(values, is_repeated, one.n_halvings, one.n_rows + two.n_rows, total)._thin(0)

    def with_later_fit(self, other: "TrainingRows") -> "TrainingRows":
        """Return the fingerprint of a fit to other rows, or the same rows, that continued a fit to these.

        Both are recognized; the match probability is that of the other rows alone, which may include these.
        """
        both = self.with_batch(other)
        own = other._thin(both.n_halvings)
        is_repeated = np.ones(len(both.hashes), dtype=bool)
        is_repeated[np.searchsorted(both.hashes, own.hashes)] = own.is_repeated
        return replace(both, is_repeated=is_repeated, n_rows=own.n_rows, checksum=own.checksum)

    def _thin(self, n_halvings: int) -> "TrainingRows":
        """Keep a smaller share of the hashes: after at least `n_halvings` halvings, not more than `MAX_HASHES`."""
        found = replace(self, n_halvings=max(self.n_halvings, n_halvings))
        while int(np.searchsorted(self.hashes, found.limit)) > MAX_HASHES:
            found = replace(found, n_halvings=found.n_halvings + 1)
        stop = int(np.searchsorted(self.hashes, found.limit))
        return replace(found, hashes=self.hashes[:stop].copy(), is_repeated=self.is_repeated[:stop].copy())


def row_hashes(X: Design) -> Hashes:
    """Return a 64-bit hash of each row, the same for dense and sparse rows, because zeros add nothing.

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
    keys = mix_bits(np.arange(1, n_columns + 1, dtype=np.uint64) * _SEED)
    if isinstance(X, np.ndarray):
        found = np.empty(n_rows, dtype=np.uint64)
        step = max(_BLOCK // max(n_columns, 1), 1)
        for start in range(0, n_rows, step):
            found[start : start + step] = _terms(X[start : start + step], keys).sum(axis=1, dtype=np.uint64)
    else:
        terms = _terms(X.data, keys[X.indices])
        sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms, dtype=np.uint64)])
        found = sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    return mix_bits(found)


def sum_hashes(hashes: Hashes) -> int:
    """Return the sum of hashes in 64 bits, which does not depend on their order."""
    return int(hashes.sum(dtype=np.uint64))


def _terms(values: FloatArray, keys: Hashes) -> Hashes:
    """Return a hash of every number and its column, 0 for zeros."""
    # Adding zero turns -0.0 into 0.0.
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    rounded = (bits + _HALF) >> _DROPPED_BITS
    return np.asarray(np.where(rounded == 0, np.uint64(0), mix_bits(rounded ^ keys)))


def mix_bits(values: Hashes) -> Hashes:
    """Scatter bits one to one (the finalizer of splitmix64): every input bit changes about half of the output bits."""
    found: Hashes = values ^ (values >> np.uint64(30))
    found *= np.uint64(0xBF58476D1CE4E5B9)
    found ^= found >> np.uint64(27)
    found *= np.uint64(0x94D049BB133111EB)
    found ^= found >> np.uint64(31)
    return found


def _shorten(hashes: Hashes) -> NDArray[np.uint32]:
    """Keep the upper bits of hashes."""
    return (hashes >> np.uint64(64 - HASH_BITS)).astype(np.uint32)
