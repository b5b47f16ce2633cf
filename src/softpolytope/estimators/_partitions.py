"""Regressions of rows that live elsewhere: what the survey of the rows makes of parameters."""

import hashlib
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import FloatArray
from softpolytope.data import (
    MIN_SPREAD,
    ColumnTransform,
    DataSummary,
    FeatureSummary,
    Moments,
    PartitionedDataset,
    RowCoding,
    SummaryBlock,
    SummaryBlockFactory,
    check_labels_agree,
    power_of_two,
)
from softpolytope.estimators._inputs import class_factors
from softpolytope.estimators._parameters import MIN_ROWS_FOR_MODES, Settings
from softpolytope.estimators._tasks import PreparedData
from softpolytope.parallel import PartitionStore, one_blas_thread


@dataclass(frozen=True)
class Labels:
    """The classes, and what class_weight makes of each row's weight."""

    classes: NDArray[Any]
    factors: FloatArray  # (classes,)
    moments: list[Moments]  # of each class, weights multiplied


def summarize(store: PartitionStore, names: list[str] | None) -> DataSummary:
    """Look at all rows once."""
    blocks = store.blocks(SummaryBlockFactory(names))
    # What columns are divided by decides every draw, and follows from matrix products.
    with one_blas_thread():
        survey = blocks.sum(SummaryBlock.survey)
    blocks.close()
    return survey


def labels_of(survey: DataSummary, class_weight: Any) -> Labels:
    """Classes and their weights; raises if there are not two of positive weight."""
    values = list(survey.by_label)
    check_labels_agree(values, "y")
    classes = np.unique(np.array(values, dtype=object if isinstance(values[0], str) else None))
    found = [survey.by_label[value] for value in classes.tolist()]
    if len(classes) < 2:
        raise ValueError(f"y holds only one class, {classes.tolist()[0]!r}; at least two classes are needed.")
    weights = np.array([item.weight for item in found])
    if not (weights > 0.0).all():
        missing = classes.tolist()[int(np.argmin(weights))]
        raise ValueError(f"class {missing!r} has no row of positive weight; leave its rows out or weight them.")
    if class_weight is None:
        factors = np.ones(len(classes))
    elif class_weight == "balanced":
        factors = weights.sum() / (len(classes) * weights)
    else:
        factors = class_factors(class_weight, classes)
    if not (factors > 0.0).all():
        raise ValueError(f"class_weight must be finite and > 0 for rows in partitions; got {class_weight!r}.")
    return Labels(classes, factors, [item.times(factor) for item, factor in zip(found, factors, strict=True)])


@dataclass(frozen=True)
class PartitionedTask:
    """One label against the rest, of rows that live elsewhere."""

    store: PartitionStore
    survey: DataSummary
    labels: Labels
    positive: int
    seed: tuple[int, ...]
    folder: str  # of its checkpoints, inside the user's
    moments: Moments = field(init=False)  # of all rows

    def __post_init__(self) -> None:
        object.__setattr__(self, "moments", reduce(add, self.labels.moments))

    @property
    def n_rows(self) -> int:
        """Rows of positive weight."""
        return self.moments.n_rows

    def auto_inference(self) -> Literal["gibbs", "map"]:
        """What "auto" stands for."""
        return "map" if self.moments.weight >= MIN_ROWS_FOR_MODES else "gibbs"

    def training_rows(self) -> None:
        """Rows elsewhere have no fingerprint: it would have to be brought here from all partitions."""

    def prepared(self, settings: Settings) -> PreparedData:
        """Data and what else is known of them."""
        units, scale, is_constant = self._units(settings)
        everything = self.moments
        preparation = RowCoding(self.labels.classes, self.labels.factors, units.center, units.scale, scale, is_constant)
        digest = hashlib.sha256(repr(settings.model).encode())
        digest.update(self.survey.digests)
        digest.update(preparation.key)
        size, square = self._sizes(units, scale, is_constant)
        data = PartitionedDataset(
            self.store,
            preparation,
            self.positive,
            everything.n_rows,
            everything.weight,
            size,
            square,
            digest.hexdigest(),
        )
        # Where columns are divided by a power of two only, inference is told, and reports in the user's units.
        told = ColumnTransform(units.center, units.scale / scale)
        return PreparedData(data, told, digest.hexdigest(), self.survey.probes, self._features(), everything.weight)

    def _units(self, settings: Settings) -> tuple[ColumnTransform, FloatArray, NDArray[np.bool_]]:
        """What columns are centerd at and divided by, what of the latter inference is told, and what becomes zero."""
        n_columns = len(self.moments.mean) + 1
        none = np.zeros(n_columns, dtype=bool)
        power = np.concatenate([[1.0], power_of_two(self._largest())])
        power[power == 0.0] = 1.0
        if not settings.standardize:
            return ColumnTransform(np.zeros(n_columns), power), power, none
        mean, spread = self._mean_and_spread()
        center = np.zeros(n_columns) if self.survey.is_sparse else np.concatenate([[0.0], mean])
        is_left = np.concatenate([[True], spread <= MIN_SPREAD * np.abs(center[1:])])
        scale = np.where(is_left, power, np.concatenate([[1.0], spread]))
        is_constant = none if self.survey.is_sparse else is_left & (np.arange(n_columns) > 0)
        return ColumnTransform(center, scale), np.ones(n_columns), is_constant

    def _mean_and_spread(self) -> tuple[FloatArray, FloatArray]:
        """Mean and deviation of features in the user's units; of sparse ones zero and the root of the mean square."""
        moments = self.moments
        scale = np.where(moments.scale > 0.0, moments.scale, 1.0)
        variance = moments.square / moments.weight
        if self.survey.is_sparse:
            return np.zeros_like(scale), np.sqrt(variance + moments.mean**2) * scale
        return moments.mean * scale, np.sqrt(variance) * scale

    def _largest(self) -> FloatArray:
        return np.maximum(np.abs(self.moments.lower), np.abs(self.moments.upper))

    def _sizes(
        self, units: ColumnTransform, scale: FloatArray, is_constant: NDArray[np.bool_]
    ) -> tuple[FloatArray, FloatArray]:
        """Largest absolute value and mean square of the columns as inference sees them."""
        moments = self.moments
        lower, upper = (np.concatenate([[1.0], end]) for end in (moments.lower, moments.upper))
        ends = [np.abs(((end - units.center) / units.scale) * scale) for end in (lower, upper)]
        largest = np.where(is_constant, 0.0, np.maximum(*ends))
        largest[0] = 1.0
        own = np.where(moments.scale > 0.0, moments.scale, 1.0)
        factor = scale[1:] / units.scale[1:]
        deviation = np.sqrt(moments.square / moments.weight) * own * factor
        centerd = (moments.mean * own - units.center[1:]) * factor
        square = np.concatenate([[1.0], np.where(is_constant[1:], 0.0, deviation**2 + centerd**2)])
        return largest, square

    def _features(self) -> FeatureSummary:
        moments = self.moments
        scale = np.where(moments.scale > 0.0, moments.scale, 1.0)
        deviation = np.sqrt(moments.square / moments.weight) * scale
        ends = (moments.lower, moments.upper)
        return FeatureSummary(moments.weight, moments.mean * scale, deviation, *ends, moments.is_integer)
