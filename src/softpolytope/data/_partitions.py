"""Rows in partitions that live elsewhere: how a partition becomes training data, and what is known of all together."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softpolytope._typing import FloatArray
from softpolytope.data._dataset import BLOCK_ROWS, InMemoryDataset, checked_design
from softpolytope.data._kernels import standardize as _standardize
from softpolytope.model import Design
from softpolytope.parallel import PartitionStore

# Numbers of blocks within a partition; the partition's own number stands above them.
BLOCKS_OF_A_PARTITION = 2**32


@dataclass(frozen=True, slots=True)
class CodedRows:
    """The rows of a partition as inference wants them, for any class against the rest."""

    design: Design
    column_scale: FloatArray  # (columns,), what the design was divided by
    codes: NDArray[np.int32]  # (rows,), which of the classes
    row_weights: FloatArray  # (rows,)

    @property
    def nbytes(self) -> int:
        """Size in memory."""
        design: Any = self.design
        parts = (design.data, design.indices, design.indptr) if sparse.issparse(self.design) else (design,)
        return int(sum(part.nbytes for part in (*parts, self.codes, self.row_weights)))

    @property
    def is_sparse(self) -> bool:
        """Whether the design is in CSR form, of which a block has a copy."""
        return bool(sparse.issparse(self.design))

    @property
    def bytes_of_a_copied_row(self) -> float:
        """Size of a row of the design, on average."""
        return self.nbytes / max(1, len(self.codes))

    def against_rest(self, positive: int, *, is_flipped: bool) -> InMemoryDataset:
        """One class against the rest, or the rest against it."""
        labels = (self.codes == positive) != is_flipped
        return InMemoryDataset(self.design, self.column_scale, labels, self.row_weights, BLOCK_ROWS)


@dataclass(frozen=True, slots=True)
class RowCoding:
    """How rows as they come are made ready: labels to codes, class weights, columns centerd and scaled."""

    classes: NDArray[Any]
    class_factors: FloatArray  # (classes,), of the rows' weights
    center: FloatArray  # (columns,)
    scale: FloatArray  # (columns,), what columns are divided by
    column_scale: FloatArray  # (columns,), what of it inference is told
    is_constant: NDArray[np.bool_]  # (columns,), those that become zero: their value is the intercept's matter

    @property
    def key(self) -> bytes:
        """The same for preparations that do the same."""
        parts = (self.class_factors, self.center, self.scale, self.column_scale, self.is_constant)
        return b"".join([*(part.tobytes() for part in parts), repr(self.classes.tolist()).encode()])

    def coded(self, raw: tuple[Any, Any, Any]) -> CodedRows:
        """Rows of a partition made ready; rows without weight are left out."""
        X, y, given = raw
        codes = np.searchsorted(self.classes, y).astype(np.int32)
        weights = self.class_factors[codes]
        if given is not None:
            weights = weights * np.asarray(given, dtype=np.float64)
        design = self._standardized(X)
        if not weights.all():
            kept = np.flatnonzero(weights)
            design, codes, weights = design[kept], codes[kept], weights[kept]
        return CodedRows(design, self.column_scale, codes, weights)

    def _standardized(self, X: Any) -> Any:
        """The design, with a column of ones before the others."""
        if hasattr(X, "tocsr"):
            stack: Any = sparse.hstack  # its stubs know no mixture of dense and sparse
            rows: Any = checked_design(stack([np.ones((X.shape[0], 1)), X.tocsr()], format="csr"))
            rows.data /= self.scale[rows.indices]
            return rows
        values = np.ascontiguousarray(X.to_numpy() if hasattr(X, "to_numpy") else X, dtype=np.float64)
        design = np.empty((values.shape[0], values.shape[1] + 1))
        _standardize.fill_design(values, self.center, self.scale, design)
        if self.is_constant.any():
            design[:, self.is_constant] = 0.0
        return design


@dataclass(frozen=True, slots=True)
class DatasetBlockFactory:
    """What blocks of one class against the rest have in common, whatever they are for."""

    preparation: RowCoding
    positive: int
    is_flipped: bool

    @property
    def rows_key(self) -> bytes:
        """Names the rows made ready."""
        return self.preparation.key

    def rows(self, raw: tuple[Any, Any, Any], partition: int) -> CodedRows:  # noqa: ARG002  # all are treated alike
        """Rows made ready."""
        return self.preparation.coded(raw)

    def data(self, rows: CodedRows) -> InMemoryDataset:
        """Rows under this labeling."""
        return rows.against_rest(self.positive, is_flipped=self.is_flipped)


@dataclass(frozen=True, slots=True)
class PartitionedDataset:
    """One class against the rest, of rows that live in partitions in a store."""

    store: PartitionStore
    preparation: RowCoding
    positive: int
    n_rows: int  # of positive weight
    total_weight: float
    largest: FloatArray  # (columns,), largest absolute value of each column as inference sees it
    mean_square: FloatArray  # (columns,), of the same
    digest: str  # of the rows, their partitions, and how they are made ready
    is_flipped: bool = False

    @property
    def n_columns(self) -> int:
        """Number of columns of the design."""
        return len(self.largest)

    @property
    def fingerprint(self) -> str:
        """Names the rows, and the class that is told from the rest."""
        return repr((self.digest, self.positive, self.is_flipped))

    def column_size(self) -> FloatArray:
        """Largest absolute value of each column."""
        return self.largest

    def flipped(self) -> Self:
        """The same rows under the other labeling."""
        return replace(self, is_flipped=not self.is_flipped)
