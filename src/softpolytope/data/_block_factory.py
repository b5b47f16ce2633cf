"""Blocks of the rows of a dataset: how they are made, of rows in memory or of a partition with encoded labels."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.data._dataset import BLOCK_ROWS, InMemoryDataset, design_arrays, to_csr
from softpolytope.data._kernels import standardize as _standardize
from softpolytope.model import Design
from softpolytope.parallel import BlockFactory, Raw

Block = TypeVar("Block")


@dataclass(frozen=True, slots=True)
class EncodedRows:
    """Rows of a partition with standardized columns and encoded labels, for any class against the rest."""

    design: Design
    column_scale: FloatArray  # (columns,), powers of two by which the design was divided
    codes: NDArray[np.int32]  # (rows,), indices of classes
    row_weights: FloatArray  # (rows,)

    @property
    def nbytes(self) -> int:
        """Size in memory."""
        return int(sum(part.nbytes for part in (*design_arrays(self.design), self.codes, self.row_weights)))

    @property
    def is_sparse(self) -> bool:
        """Whether the design is in CSR form, so that blocks copy it."""
        return isinstance(self.design, sparse.csr_array)


@dataclass(frozen=True, slots=True)
class RowEncoding:
    """Encoding of the rows of a partition: codes for labels, class weights, columns centered and scaled."""

    classes: NDArray[Any]
    class_factors: FloatArray  # (classes,), factors of the row weights
    center: FloatArray  # (columns,)
    scale: FloatArray  # (columns,), divisors of the columns
    column_scale: FloatArray  # (columns,), the part of `scale` that inference multiplies back
    is_constant: BoolArray  # (columns,), columns that become zero because the intercept represents them

    @property
    def key(self) -> bytes:
        """Content of the encoding: equal keys mean equal encodings."""
        parts = (self.class_factors, self.center, self.scale, self.column_scale, self.is_constant)
        return b"".join([*(part.tobytes() for part in parts), repr(self.classes.tolist()).encode()])

    def encode(self, raw: Raw) -> EncodedRows:
        """Return the encoded rows of a partition, without those of weight zero."""
        X, y, given = raw
        codes = np.asarray(np.searchsorted(self.classes, y), dtype=np.int32)
        weights = self.class_factors[codes]
        if given is not None:
            weights = weights * np.asarray(given, dtype=np.float64)
        design = self._standardized(X)
        if not weights.all():
            kept = np.flatnonzero(weights)
            design, codes, weights = design[kept], codes[kept], weights[kept]
        return EncodedRows(design, self.column_scale, codes, weights)

    def _standardized(self, X: Any) -> Design:  # rows of a source: an array, a data frame or a sparse matrix
        """Return the design: a column of ones, then the standardized features."""
        if hasattr(X, "tocsr"):
            ones = sparse.csr_array(np.ones((X.shape[0], 1)))
            thin = to_csr(sparse.hstack([ones, X.tocsr()], format="csr"))
            thin.data /= self.scale[thin.indices]
            return thin
        values = np.ascontiguousarray(X.to_numpy() if hasattr(X, "to_numpy") else X, dtype=np.float64)
        design = np.empty((values.shape[0], values.shape[1] + 1))
        _standardize.fill_design(values, self.center, self.scale, design)
        if self.is_constant.any():
            design[:, self.is_constant] = 0.0
        return design


@dataclass(frozen=True, slots=True)
class OneVsRest:
    """Labeling of encoded rows: one class against the rest, or the rest against it."""

    encoding: RowEncoding
    positive: int
    is_flipped: bool = False


@dataclass(frozen=True, slots=True)
class DatasetBlockFactory(BlockFactory[EncodedRows, Block]):
    """Base of factories that make blocks of a dataset; `Dataset.blocks` sets the labeling of rows in partitions."""

    labeling: OneVsRest | None = field(default=None, kw_only=True)

    @abstractmethod
    def build(self, rows: InMemoryDataset, partition: int) -> list[Block]:
        """Return the blocks of the rows of a partition; rows in memory are partition 0."""

    @property
    def rows_key(self) -> bytes:
        """Key of the encoded rows, by which several factories share them."""
        return self._one_vs_rest().encoding.key

    def rows(self, raw: Raw, partition: int) -> EncodedRows:  # noqa: ARG002  # all partitions are encoded alike
        """Return encoded rows."""
        return self._one_vs_rest().encoding.encode(raw)

    def blocks(self, rows: EncodedRows, partition: int) -> list[Block]:
        """Return the blocks of encoded rows."""
        return self.build(self.dataset(rows), partition)

    def dataset(self, rows: EncodedRows) -> InMemoryDataset:
        """Return encoded rows under the labeling."""
        labeling = self._one_vs_rest()
        labels = (rows.codes == labeling.positive) != labeling.is_flipped
        return InMemoryDataset(rows.design, rows.column_scale, labels, rows.row_weights, BLOCK_ROWS)

    def _one_vs_rest(self) -> OneVsRest:
        if self.labeling is None:
            raise ValueError("A factory makes blocks of partitions only after PartitionedDataset has set its labeling.")
        return self.labeling
