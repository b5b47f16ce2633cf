"""What a fit is asked to do, and how."""

import hashlib
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from scipy import sparse

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.data import (
    ColumnTransform,
    FeatureSummary,
    InMemoryDataset,
    PartitionedDataset,
    identity_transform,
    standardized_data,
)
from softpolytope.estimators._parameters import Settings, auto_inference
from softpolytope.model import Design, TrainingRows
from softpolytope.parallel import Callback

# Rows at which diagnostics compare the chains' probabilities.
N_PROBES = 10


@dataclass(frozen=True, slots=True)
class PreparedData:
    """Rows as inference wants them, and what a fit must know of them besides."""

    data: InMemoryDataset | PartitionedDataset
    units: ColumnTransform
    digest: str  # of rows and model
    probes: FloatArray  # (a few rows, features)
    features: FeatureSummary
    weight: float


class AnyTask(Protocol):
    """One label against the rest."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def seed(self) -> tuple[int, ...]:
        """The seed of all its random numbers."""
        ...

    @property
    def folder(self) -> str:
        """Where its checkpoints are, inside the user's folder."""
        ...

    def auto_inference(self) -> Literal["gibbs", "map"]:
        """What inference="auto" stands for."""
        ...

    def training_rows(self) -> TrainingRows | None:
        """Fingerprint of the rows, if they are in memory."""
        ...

    def prepared(self, settings: Settings) -> PreparedData:
        """Rows ready for inference."""
        ...


@dataclass(frozen=True, slots=True)
class Task:
    """One label against the rest, of rows in memory."""

    design: Design  # (rows, 1 + features), the intercept first
    is_positive: BoolArray
    row_weights: FloatArray
    seed: tuple[int, ...]
    folder: str  # of its checkpoints, inside the user's

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.design.shape[0])

    def auto_inference(self) -> Literal["gibbs", "map"]:
        """What inference="auto" stands for."""
        return auto_inference(self.design, self.row_weights)

    def training_rows(self) -> TrainingRows:
        """Fingerprint of the rows of positive weight."""
        design: Any = self.design
        features = sparse.csr_array(design)[:, 1:] if sparse.issparse(self.design) else design[:, 1:]
        return TrainingRows.of(features, self.row_weights)

    def prepared(self, settings: Settings) -> PreparedData:
        """Rows ready for inference."""
        data = InMemoryDataset.from_arrays(self.design, self.is_positive, self.row_weights)
        digest, probes, features = _digest(data, settings), _probes(data), FeatureSummary.of(data)
        data, units = standardized_data(data) if settings.standardize else (data, identity_transform(data))
        return PreparedData(data, units, digest, probes, features, float(data.row_weights.sum()))


@dataclass(frozen=True, slots=True)
class How:
    """How a fit is carried out; none of it changes a draw."""

    n_threads: int
    callback: Callback | None
    keeps_states: bool


def _digest(data: InMemoryDataset, settings: Settings) -> str:
    """A hash of the rows and the model."""
    return hashlib.sha256(repr((settings.model, data.fingerprint)).encode()).hexdigest()


def _probes(data: InMemoryDataset) -> FloatArray:
    """The features of a few rows; the canonical order of the rows is as good as random."""
    rows: Any = data.design[:N_PROBES]
    dense = rows.toarray() if sparse.issparse(data.design) else rows
    return np.ascontiguousarray((dense * data.column_scale)[:, 1:])
