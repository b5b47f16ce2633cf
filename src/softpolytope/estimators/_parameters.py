"""Parameters of the classifiers: their checks, and the settings of a fit that follow from them."""

import numbers
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any, Literal, Self, get_args

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from softpolytope.gibbs import ChainSettings, Moves, Schedule
from softpolytope.model import Estimate, Prior
from softpolytope.optimize import DEFAULT_PRIOR, ModeSettings
from softpolytope.parallel import CheckpointPlan

Inference = Literal["auto", "bootstrap", "gibbs", "map"]
ResolvedInference = Literal["bootstrap", "gibbs", "map"]
Scan = Literal["auto", "paper", "collapsed"]
Start = Literal["map", "random"]
NumberOfLayers = int | Literal["auto"]
ClassWeight = Mapping[Any, float] | Literal["balanced"] | None
RandomState = int | np.random.RandomState | None
CheckpointFolder = str | Path | CheckpointPlan | None

MAX_DRAWS_BY_DEFAULT = 50

_CHOICES: dict[str, tuple[str, ...]] = {
    "inference": get_args(Inference),
    "scan": get_args(Scan),
    "start": get_args(Start),
    "estimate": get_args(Estimate),
}
_FLAGS = ("fit_weight", "symmetric", "bootstrap", "standardize", "warm_start")
_MIN_INTEGERS = {
    "max_experts": 1,
    "n_layers": 1,
    "n_members": 1,
    "n_restarts": 1,
    "n_chains": 1,
    "n_sweeps": 2,
    "n_burn_in": 0,
    "n_draws": 1,
}
_OPTIONAL = ("n_burn_in", "n_draws")
# Parameters that have an effect on one inference only.
_OWN_PARAMETERS: dict[ResolvedInference, tuple[str, ...]] = {
    "bootstrap": ("n_members",),
    "gibbs": ("n_sweeps", "n_chains", "n_burn_in", "n_draws", "scan", "start"),
    "map": ("n_restarts",),
}
_PURPOSES: dict[ResolvedInference, tuple[str, str]] = {
    "bootstrap": ("this fit bootstraps modes of the posterior", "bootstrap them"),
    "gibbs": ("this fit runs chains that draw from the posterior", "run chains"),
    "map": ("this fit finds plain modes of the posterior", "find plain modes"),
}
# Parameters that modes which continue must share with those they continue from.
_CARRIED = ("max_experts", "n_layers", "fit_weight", "n_restarts", "symmetric", "prior")  # n_restarts: of plain modes


@dataclass(frozen=True, slots=True)
class Settings:
    """Checked parameters of a classifier, with defaults filled in."""

    inference: ResolvedInference
    scan: Scan
    start: Start
    max_experts: int
    n_layers: NumberOfLayers  # an integer once it is chosen
    fit_weight: bool
    schedule: Schedule
    n_chains: int
    n_restarts: int  # modes per labeling: restarts, or members of a bootstrap
    given_prior: Prior | None
    symmetric: bool
    standardize: bool
    warm_start: bool
    checkpoint: CheckpointPlan | None

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Self:
        """Check the parameters of a classifier; the error names the first that is wrong."""
        check_parameters(parameters)
        checkpoint, random_state = parameters["checkpoint"], parameters["random_state"]
        if checkpoint is not None and not isinstance(random_state, numbers.Integral):
            raise ValueError(
                "checkpoint needs an integer random_state, because a fit can resume only under its own seed; got "
                f"random_state={random_state!r}."
            )
        inference, n_restarts = parameters["inference"], int(parameters["n_restarts"])
        if parameters["bootstrap"] and inference != "gibbs":
            warnings.warn(
                'bootstrap=True is deprecated: give inference="bootstrap" (the default, "auto", is the same) with '
                "n_members, the number of modes of both labelings together.",
                FutureWarning,
                stacklevel=4,
            )
            inference = "bootstrap"
        elif inference in ("auto", "bootstrap"):
            inference = "bootstrap"
            n_restarts = -(-int(parameters["n_members"]) // (2 if parameters["symmetric"] else 1))
        n_layers = parameters.get("n_layers", 1)
        n_sweeps, n_burn_in, n_draws = (parameters[name] for name in ("n_sweeps", "n_burn_in", "n_draws"))
        n_burn_in = n_sweeps // 2 if n_burn_in is None else n_burn_in
        n_draws = min(n_sweeps - n_burn_in, MAX_DRAWS_BY_DEFAULT) if n_draws is None else n_draws
        return cls(
            inference=inference,
            scan=parameters["scan"],
            start=parameters["start"],
            max_experts=int(parameters.get("max_experts", 1)),
            n_layers=n_layers if n_layers == "auto" else int(n_layers),
            fit_weight=bool(parameters.get("fit_weight", True)),
            schedule=Schedule(int(n_sweeps), int(n_burn_in), int(n_draws)),
            n_chains=int(parameters["n_chains"]),
            n_restarts=n_restarts,
            given_prior=parameters["prior"],
            symmetric=bool(parameters["symmetric"]),
            standardize=bool(parameters["standardize"]),
            warm_start=bool(parameters["warm_start"]),
            checkpoint=CheckpointPlan(Path(checkpoint)) if isinstance(checkpoint, str | Path) else checkpoint,
        )

    def with_prior(self, prior: Prior) -> Self:
        """Return the settings with a prior in the place of the default."""
        return replace(self, given_prior=prior)

    @property
    def prior(self) -> Prior:
        """The prior, by default that of the inference before a search has chosen the precision rate of chains."""
        return self.given_prior or (Prior() if self.inference == "gibbs" else DEFAULT_PRIOR)

    def with_layers(self, n_layers: int) -> Self:
        """Return the settings with a number of layers in the place of "auto"."""
        return replace(self, n_layers=n_layers) if self.n_layers == "auto" else self

    @property
    def labelings(self) -> tuple[int, ...]:
        """Labelings to fit: 0 is that of the data, 1 the opposite."""
        return (0, 1) if self.symmetric else (0,)

    @property
    def modes(self) -> ModeSettings:
        """Settings of a search for modes."""
        size = self.max_experts, self._chosen_layers
        return ModeSettings(*size, self.prior, self.n_restarts, self.fit_weight, self.inference == "bootstrap")

    @property
    def _chosen_layers(self) -> int:
        # Settings whose layers are still to be chosen are those of a search that compares them.
        return 1 if self.n_layers == "auto" else self.n_layers

    @property
    def chains(self) -> ChainSettings:
        """Settings of chains."""
        moves = Moves.of(self.scan)
        if not self.fit_weight:
            moves = replace(moves, refresh=False, fit_weights=False)
        return ChainSettings(self.max_experts, self._chosen_layers, self.prior, moves, self.schedule)

    @property
    def chain_model(self) -> tuple[object, ...]:
        """Everything that chains must share with those they continue from: all but how long they are."""
        size = (self.max_experts, self.n_layers, self.fit_weight, self.n_chains)
        return (*size, self.chains.moves, self.start, self.prior, self.symmetric, self.standardize)

    @property
    def mode_model(self) -> dict[str, object]:
        """Everything that modes must share with those they continue from, by the name of the parameter."""
        return {name: getattr(self, name) for name in _CARRIED}


def check_parameters(parameters: Mapping[str, object]) -> None:
    """Raise unless each parameter has a type and value that it may have."""
    for name, value in parameters.items():
        is_flag = isinstance(value, bool | np.bool_)
        choices = _CHOICES.get(name)
        if choices is not None and not (isinstance(value, str) and value in choices):
            raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")
        if name in _FLAGS and not is_flag:
            raise ValueError(f"{name} must be True or False; got {value!r}.")
        if name in _MIN_INTEGERS and not (name in _OPTIONAL and value is None):
            if name == "n_layers" and isinstance(value, str) and value == "auto":
                continue
            minimum = _MIN_INTEGERS[name]
            if is_flag or not isinstance(value, numbers.Integral) or int(value) < minimum:
                choice = ' or "auto"' if name == "n_layers" else ""
                raise ValueError(f"{name} must be an integer >= {minimum}{choice}; got {value!r}.")
        if name == "prior" and not isinstance(value, Prior | None):
            raise ValueError(f"prior must be a softpolytope.Prior or None; got {value!r}.")
        if name == "checkpoint" and not isinstance(value, CheckpointFolder):
            raise ValueError(f"checkpoint must be a folder, a CheckpointPlan or None; got {value!r}.")


def check_same_model(carried: Mapping[str, object] | None, settings: Settings, action: str) -> None:
    """Raise if modes are to continue from those of another model; `action` says what was to continue."""
    for name, value in settings.mode_model.items():
        # Members do not depend on each other, so a bootstrap may have more or fewer of them than before.
        is_free = name == "n_restarts" and settings.inference == "bootstrap"
        if carried is not None and carried[name] != value and not is_free:
            raise ValueError(
                f"{action}, which had {name}={carried[name]!r}, but {name} is {value!r} now. Set it back, or start "
                "from scratch with another classifier (sklearn.base.clone) or warm_start=False."
            )


def check_for_partitions(settings: Settings) -> None:
    """Raise if a parameter needs all rows in memory."""
    if settings.warm_start and settings.scan == "paper":
        raise ValueError(
            'warm_start keeps the chains in this process, and those of scan="paper" have counts for every row. For '
            'rows in partitions use a checkpoint, or scan="collapsed".'
        )


def warn_of_unused(estimator: BaseEstimator, inference: ResolvedInference, *, is_batch: bool = False) -> None:
    """Warn of parameters that differ from their defaults but have no effect on this inference."""
    parameters, defaults = estimator.get_params(deep=False), signature(type(estimator).__init__).parameters
    # The deprecated bootstrap=True takes the number of members from n_restarts.
    used = (*_OWN_PARAMETERS[inference], *(("n_restarts",) if parameters["bootstrap"] else ()))
    owners = {name: owner for owner, names in _OWN_PARAMETERS.items() for name in names if name not in used}
    if inference == "gibbs":
        owners["bootstrap"] = "bootstrap"
    given = [name for name in owners if parameters[name] != defaults[name].default]
    if not given:
        return
    subject = f"{given[0]} is" if len(given) == 1 else f"{', '.join(given[:-1])} and {given[-1]} are"
    owner = owners[given[0]]
    reason, remedy = _PURPOSES[inference][0], f'Set inference="{owner}" to {_PURPOSES[owner][1]}'
    if is_batch:
        reason, remedy = "partial_fit updates modes", "Set it back if it was not meant"
    warnings.warn(f"{subject} not used: {reason}. {remedy}.", stacklevel=4 if is_batch else 5)


def make_seed(random_state: RandomState) -> int:
    """Return a seed for the streams: the integer itself, or one drawn from what scikit-learn accepts."""
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        seed = int(random_state)
        if not 0 <= seed < 2**32:
            raise ValueError(f"random_state must be from 0 to 2**32 - 1; got {seed}.")
        return seed
    return int(check_random_state(random_state).randint(2**31 - 1))
