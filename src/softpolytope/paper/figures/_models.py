"""The models behind the figures, fitted once and stored next to the pictures."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from softpolytope import (
    Prior,
    StackSoftplusClassifier,
    SumSoftplusClassifier,
    SumStackSoftplusClassifier,
    load_model,
)
from softpolytope._typing import CountArray, FloatArray
from softpolytope.datasets import load_benchmark, make_circle, make_double_moon, make_xor
from softpolytope.exceptions import ModelFileError

Family = Literal["sum", "stack", "sum_stack"]
Sampler = Literal["paper", "library"]
Classifier: TypeAlias = SumSoftplusClassifier | StackSoftplusClassifier | SumStackSoftplusClassifier
LabeledRows: TypeAlias = tuple[Any, NDArray[np.str_]]  # X may be sparse

MAX_EXPERTS = 20
# Evenly spaced over the second half of the sweeps, as in the paper.
N_DRAWS = 20
# Sets on which 2,000 sweeps would take hours: their chains start at modes and run for about a minute.
LARGE_SETS = ("ijcnn1", "a9a")
MAX_SWEEPS_ON_LARGE_SETS: Mapping[Family, int] = {"sum": 100, "stack": 40, "sum_stack": 40}
_GENERATORS: Mapping[str, Callable[..., tuple[FloatArray, CountArray]]] = {
    "circle": make_circle,
    "xor": make_xor,
    "double_moon": make_double_moon,
}


@dataclass(frozen=True, slots=True)
class FigureProtocol:
    """Settings of the chains behind the figures; the paper runs 2,000 sweeps and shows 20 draws of the last 1,000.

    Parameters
    ----------
    seed : int
        Seed of the synthetic data and of the chains.
    sampler : {"paper", "library"}
        The paper's scan with the prior of its author's later code, or the default sampler of this library.
    n_sweeps : int
        Sweeps of a chain; the first half is burn-in.
    n_polya_gamma : int
        Draws behind each histogram of the Polya-Gamma figure.
    data_home : Path, optional
        Folder of the benchmark sets; by default the one that the environment variable SOFTPOLYTOPE_DATA names.
    """

    seed: int = 0
    sampler: Sampler = "paper"
    n_sweeps: int = 2000
    n_polya_gamma: int = 1_000_000
    data_home: Path | None = None


@dataclass(frozen=True, slots=True)
class FigureModel:
    """A model of both labelings of one data set."""

    data: str
    family: Family
    n_layers: int
    expected_seconds: float  # on one core

    @property
    def name(self) -> str:
        """Name of its file, without the suffix."""
        return f"{self.data}_{self.family}" + (f"_{self.n_layers}" if self.family != "sum" else "")

    @property
    def is_benchmark(self) -> bool:
        """Whether the rows come from a file."""
        return self.data not in _GENERATORS

    def path(self, folder: Path) -> Path:
        """Return the file that stores it."""
        return folder / f"{self.name}.softpolytope"

    def rows(self, protocol: FigureProtocol) -> LabeledRows:
        """Return training rows and labels: "A", the first positive class of the paper's captions, and "B"."""
        if self.is_benchmark:
            split = load_benchmark(self.data, 0, protocol.data_home)
            X, y = split.X_train, split.y_train
        else:
            X, y = _GENERATORS[self.data](random_state=protocol.seed)
        return X, np.where(y == 1, "A", "B")

    def classifiers(self, protocol: FigureProtocol) -> list[Classifier]:
        """Return unfitted classifiers: the preferred one first, then the fallback.

        Under the paper's prior, which is close to improper, the coefficients of a chain can grow without bound.
        """
        samplers: list[Sampler] = ["library"] if self.data in LARGE_SETS else [protocol.sampler, "library"]
        return [self._classifier(protocol, name) for name in dict.fromkeys(samplers)]

    def _classifier(self, protocol: FigureProtocol, sampler: Sampler) -> Classifier:
        is_large = self.data in LARGE_SETS
        n_sweeps = min(protocol.n_sweeps, MAX_SWEEPS_ON_LARGE_SETS[self.family]) if is_large else protocol.n_sweeps
        n_burn_in = n_sweeps // 2
        parameters: dict[str, Any] = {
            "inference": "gibbs",
            "n_chains": 1,
            "n_sweeps": n_sweeps,
            "n_burn_in": n_burn_in,
            "n_draws": min(N_DRAWS, n_sweeps - n_burn_in),
            "standardize": False,
            "random_state": protocol.seed,
            "start": "map" if is_large else "random",
            **({"scan": "paper", "prior": Prior.of_the_paper()} if sampler == "paper" else {}),
        }
        if self.family == "sum":
            return SumSoftplusClassifier(max_experts=MAX_EXPERTS, **parameters)
        if self.family == "stack":
            return StackSoftplusClassifier(n_layers=self.n_layers, **parameters)
        return SumStackSoftplusClassifier(max_experts=MAX_EXPERTS, n_layers=self.n_layers, **parameters)


def load_fitted(model: FigureModel, protocol: FigureProtocol, folder: Path) -> Classifier | None:
    """Return the classifier of an earlier run, or None if there is none with the same parameters."""
    path = model.path(folder)
    if not path.is_file():
        return None
    try:
        classifier = load_model(path)
    except ModelFileError:  # written by another version of this package
        return None
    wanted = [item.get_params() for item in model.classifiers(protocol)]
    return classifier if isinstance(classifier, Classifier) and classifier.get_params() in wanted else None


def fit_and_save(model: FigureModel, protocol: FigureProtocol, folder: Path) -> str | None:
    """Fit a model and write its file; return a remark if the preferred sampler failed."""
    rows, path, remark = model.rows(protocol), model.path(folder), None
    *preferred, fallback = model.classifiers(protocol)
    for classifier in preferred:
        try:
            classifier.fit(*rows)
        except FloatingPointError as error:
            remark = f"{model.name}: {error} The library's own sampler and prior were used instead."
        else:
            classifier.save(path)
            return None
    fallback.fit(*rows).save(path)
    return remark
