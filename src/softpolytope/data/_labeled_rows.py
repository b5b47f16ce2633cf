"""Rows of one class against the rest, as a fit is given them and, once prepared, as inference takes them."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import add
from typing import Any, Protocol, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.data._block_factory import Block, DatasetBlockFactory, OneVsRest, RowEncoding
from softpolytope.data._dataset import InMemoryDataset
from softpolytope.data._moments import FeatureSummary, Moments
from softpolytope.data._partitions import PartitionedDataset
from softpolytope.data._row_block import RowSampler
from softpolytope.data._standardization import ColumnTransform, PartitionUnits, identity_transform, standardized_data
from softpolytope.data._summary import N_PROBES, DataSummary
from softpolytope.model import Design
from softpolytope.parallel import Blocks, BlockThreads, PartitionStore


class Dataset(Protocol):
    """Rows of one class against the rest, in memory or in the partitions of a store."""

    @property
    def n_rows(self) -> int:
        """Number of rows of positive weight."""
        ...

    @property
    def n_columns(self) -> int:
        """Number of columns of the design."""
        ...

    @property
    def total_weight(self) -> float:
        """Sum of the row weights."""
        ...

    @property
    def n_copies(self) -> float:
        """Upper bound of the number of rows when every copy of a row is a row of its own."""
        ...

    @property
    def fingerprint(self) -> str:
        """Hash of the rows, their labels and the way they are cut into blocks."""
        ...

    def column_size(self) -> FloatArray:
        """Return the largest absolute value of each column."""
        ...

    def root_mean_square(self) -> FloatArray:
        """Return the root mean square of each column."""
        ...

    def check_labels(self) -> None:
        """Raise ValueError unless there are rows of both labels."""
        ...

    def flipped(self) -> Self:
        """Return the same rows under the opposite labeling."""
        ...

    def n_parallel(self, n_jobs: int, n_threads: int) -> int:
        """Return how many of several jobs to run at once; one if it should have all threads for its blocks."""
        ...

    def blocks(self, factory: DatasetBlockFactory[Block], threads: BlockThreads | None = None) -> Blocks[Block]:
        """Return the blocks of a factory, on the given threads if the rows are in memory."""
        ...

    def sampler(self, make_rng: Callable[..., Generator]) -> RowSampler:
        """Return a sampler of the rows; `make_rng(block=...)` is the generator of a partition and can be pickled."""
        ...


@dataclass(frozen=True, slots=True)
class PreparedData:
    """Rows for inference, and what a fit reports about them."""

    data: Dataset
    transform: ColumnTransform  # from the user's columns to those of the data
    features: FeatureSummary
    get_digest: Callable[[object], str]  # hash of the rows, not standardized, and a model
    get_probes: Callable[[], FloatArray]  # (a few rows, features)


class LabeledRows(Protocol):
    """Rows of one class against the rest, in memory or in partitions, in the user's units."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    def prepare(self, *, standardize: bool) -> PreparedData:
        """Return the rows as inference takes them."""
        ...


@dataclass(frozen=True, slots=True)
class InMemoryRows:
    """Labeled rows in memory."""

    design: Design  # (rows, 1 + features), the intercept first
    is_positive: BoolArray  # (rows,)
    row_weights: FloatArray  # (rows,)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.design.shape[0])

    def dataset(self) -> InMemoryDataset:
        """Return the distinct rows, not standardized."""
        return InMemoryDataset.from_arrays(self.design, self.is_positive, self.row_weights)

    def prepare(self, *, standardize: bool) -> PreparedData:
        """Return the distinct rows as inference takes them."""
        given = self.dataset()
        summary = FeatureSummary.from_rows(given)
        data, transform = standardized_data(given) if standardize else (given, identity_transform(given.n_columns))
        return PreparedData(data, transform, summary, partial(_digest, given), partial(_first_rows, given))


def _digest(data: InMemoryDataset, model: object) -> str:
    return hashlib.sha256(repr((model, data.fingerprint)).encode()).hexdigest()


def _first_rows(data: InMemoryDataset) -> FloatArray:
    """Return the features of a few rows; the canonical order of the rows is as good as random."""
    rows = data.design[:N_PROBES]
    dense = rows.toarray() if isinstance(rows, sparse.csr_array) else rows
    return np.ascontiguousarray((dense * data.column_scale)[:, 1:])


@dataclass(frozen=True)
class PartitionedRows:
    """Labeled rows in the partitions of a store."""

    store: PartitionStore
    summary: DataSummary
    classes: NDArray[Any]
    class_factors: FloatArray  # (classes,), factors of the row weights
    positive: int  # index of the positive class
    moments: Moments = field(init=False)  # of all rows, with the factors

    def __post_init__(self) -> None:
        by_label = (self.summary.by_label[label] for label in self.classes.tolist())
        weighted = [moments.times(factor) for moments, factor in zip(by_label, self.class_factors, strict=True)]
        object.__setattr__(self, "moments", reduce(add, weighted))

    @property
    def n_rows(self) -> int:
        """Number of rows of positive weight."""
        return self.moments.n_rows

    def prepare(self, *, standardize: bool) -> PreparedData:
        """Return the rows as inference takes them."""
        moments = self.moments
        units = PartitionUnits.from_moments(moments, standardize=standardize, is_sparse=self.summary.is_sparse)
        transform = units.transform
        encoding = RowEncoding(
            self.classes, self.class_factors, transform.center, transform.scale, units.column_scale, units.is_constant
        )
        key = self.summary.digests + encoding.key
        sizes = units.sizes(moments)
        labeling = OneVsRest(encoding, self.positive)
        data = PartitionedDataset(
            self.store, labeling, moments.n_rows, moments.weight, *sizes, hashlib.sha256(key).hexdigest()
        )
        features = FeatureSummary.from_moments(moments)

        def digest(model: object) -> str:
            return hashlib.sha256(repr(model).encode() + key).hexdigest()

        # Coefficients are those of columns that inference has multiplied by `column_scale`.
        own = ColumnTransform(transform.center, transform.scale / units.column_scale)
        return PreparedData(data, own, features, digest, lambda: self.summary.probes)
