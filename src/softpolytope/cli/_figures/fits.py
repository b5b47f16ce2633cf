"""The models behind the figures: fitted once, kept beside the pictures."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from softpolytope import (
    Prior,
    StackSoftplusClassifier,
    SumSoftplusClassifier,
    SumStackSoftplusClassifier,
    load_model,
)
from softpolytope.datasets import load_benchmark, make_circle, make_double_moon, make_xor
from softpolytope.export.archive import ModelFileError

Kind = Literal["sum", "stack", "sum_stack"]
MAX_EXPERTS = 20
# Sets of which 2,000 sweeps would take hours: chains begin at modes and make as many as a minute or so allows.
LARGE = ("ijcnn1", "a9a")
SWEEPS_OF_LARGE = {"sum": 100, "stack": 40, "sum_stack": 40}
_MAKERS: Mapping[str, Any] = {"circle": make_circle, "xor": make_xor, "double_moon": make_double_moon}


@dataclass(frozen=True, slots=True)
class Protocol:
    """How chains are run; the paper's figures have 2,000 sweeps, and 20 draws of the last 1,000."""

    seed: int = 0
    sampler: Literal["paper", "library"] = "paper"
    n_sweeps: int = 2000
    n_draws: int = 20
    n_polya_gamma: int = 1_000_000
    data_home: Path | None = None


@dataclass(frozen=True, slots=True)
class Fit:
    """A model to be fitted to a set of rows, both labelings."""

    data: str
    kind: Kind
    n_layers: int
    seconds: float  # on one core, about: decides the order, and how long is left

    @property
    def name(self) -> str:
        """Of the file, without its suffix."""
        return f"{self.data}_{self.kind}" + (f"_{self.n_layers}" if self.kind != "sum" else "")

    @property
    def is_benchmark(self) -> bool:
        """Whether the rows come from a file."""
        return self.data not in _MAKERS

    def path(self, folder: Path) -> Path:
        """Where the model is kept."""
        return folder / f"{self.name}.softpolytope"

    def rows(self, protocol: Protocol) -> tuple[Any, Any]:
        """Training rows and their labels: "A", which the paper's captions label 1 first, and "B"."""
        if self.is_benchmark:
            split = load_benchmark(self.data, 0, protocol.data_home)
            X, y = split.X_train, split.y_train
        else:
            X, y = _MAKERS[self.data](random_state=protocol.seed)
        return X, np.where(y == 1, "A", "B")

    def classifiers(self, protocol: Protocol) -> list[Any]:
        """Classifiers, not fitted yet: the one to try first, and what to fall back on.

        Under the paper's prior, which is all but improper, a chain can lose its way to coefficients of any size.
        """
        samplers = ["library"] if self.data in LARGE else [protocol.sampler, "library"]
        return [self._classifier(protocol, name) for name in dict.fromkeys(samplers)]

    def _classifier(self, protocol: Protocol, sampler: str) -> Any:
        n_sweeps = protocol.n_sweeps
        if self.data in LARGE:
            n_sweeps = min(n_sweeps, SWEEPS_OF_LARGE[self.kind])
        parameters: dict[str, Any] = {
            "inference": "gibbs",
            "n_chains": 1,
            "n_sweeps": n_sweeps,
            "n_burn_in": n_sweeps // 2,
            "n_draws": min(protocol.n_draws, n_sweeps - n_sweeps // 2),
            "standardize": False,
            "random_state": protocol.seed,
            "start": "map" if self.data in LARGE else "random",
            **({"scan": "paper", "prior": Prior.of_the_paper()} if sampler == "paper" else {}),
        }
        if self.kind == "sum":
            return SumSoftplusClassifier(max_experts=MAX_EXPERTS, **parameters)
        if self.kind == "stack":
            return StackSoftplusClassifier(n_layers=self.n_layers, **parameters)
        return SumStackSoftplusClassifier(max_experts=MAX_EXPERTS, n_layers=self.n_layers, **parameters)


def kept_model(fit: Fit, protocol: Protocol, folder: Path) -> Any | None:
    """The model of an earlier run, if there is one and it was fitted in the same way."""
    path = fit.path(folder)
    if not path.is_file():
        return None
    try:
        model = load_model(path)
    except ModelFileError:  # of another version of this package
        return None
    wanted = [classifier.get_params() for classifier in fit.classifiers(protocol)]
    return model if model.get_params() in wanted else None


def fit_and_keep(fit: Fit, protocol: Protocol, folder: Path) -> None:
    """Fit and write the model; the file appears when it is complete."""
    rows = fit.rows(protocol)
    *first, last = fit.classifiers(protocol)
    for model in first:
        try:
            return _kept(model, rows, fit.path(folder))
        except FloatingPointError as error:
            print(f"{fit.name}: {error} Now with the library's own sampler and prior.", flush=True)
    return _kept(last, rows, fit.path(folder))


def _kept(model: Any, rows: tuple[Any, Any], path: Path) -> None:
    model.fit(*rows)
    model.save(path)
