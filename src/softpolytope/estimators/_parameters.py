"""Checks of what users hand to a classifier: parameters, rows, labels and weights."""

import numbers
import warnings
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from sklearn.utils import check_random_state

from softpolytope.gibbs import Moves, Schedule
from softpolytope.model import Prior, check_estimate
from softpolytope.optimize import DEFAULT_PRIOR
from softpolytope.parallel import CheckpointPlan

Inference = Literal["auto", "gibbs", "map"]
ScanChoice = Literal["auto", "paper", "collapsed"]
Start = Literal["random", "map"]

MAX_DRAWS_BY_DEFAULT = 50
# Parameters that only chains have, and only modes.
_OF_CHAINS = ("n_sweeps", "n_chains", "n_burn_in", "n_draws", "scan", "start")
_OF_MODES = ("n_restarts", "bootstrap")
# Parameters that rows in batches do not have either.
_NOT_OF_BATCHES = ("bootstrap",)
# Measured by benchmarks/few_rows.py.
MIN_ROWS_FOR_MODES = 50


@dataclass(frozen=True, slots=True)
class Settings:
    """The parameters of a classifier, checked and with their defaults filled in."""

    inference: Literal["gibbs", "map"]
    max_experts: int
    n_layers: int
    fit_weight: bool
    moves: Moves
    start: Start
    schedule: Schedule
    n_chains: int
    n_restarts: int
    bootstrap: bool
    prior: Prior
    symmetric: bool
    standardize: bool
    checkpoint: CheckpointPlan | None

    @property
    def model(self) -> tuple[object, ...]:
        """All that chains must share with those they go on from: everything but how long and where."""
        numbers_of = (self.max_experts, self.n_layers, self.fit_weight, self.n_chains)
        return (*numbers_of, self.moves, self.start, self.prior, self.symmetric, self.standardize)


def carried_parameters(settings: Settings) -> dict[str, object]:
    """What modes that go on must share with those they go on from."""
    names = ("max_experts", "n_layers", "fit_weight", "n_restarts", "symmetric", "prior")
    return {name: getattr(settings, name) for name in names}


def check_same_model(earlier: dict[str, object], settings: Settings, what: str) -> None:
    """Raise if modes of another model are to go on."""
    for name, value in carried_parameters(settings).items():
        if earlier[name] != value:
            raise ValueError(
                f"{what}, which had {name}={earlier[name]!r}, and {name} is {value!r} now; set it back, or start anew "
                "with another classifier (sklearn.base.clone) or warm_start=False."
            )


def checked_settings(estimator: Any, auto: Literal["gibbs", "map"] = "map") -> Settings:
    """Check all parameters of a classifier; `auto` is what inference="auto" stands for."""
    check_choice(estimator, "inference", get_args(Inference))
    check_choice(estimator, "scan", get_args(ScanChoice))
    check_choice(estimator, "start", get_args(Start))
    check_estimate(estimator.estimate)
    for name in ("bootstrap", "symmetric", "standardize", "warm_start"):
        check_flag(estimator, name)
    fit_weight = getattr(estimator, "fit_weight", True)
    if not isinstance(fit_weight, bool | np.bool_):
        raise ValueError(f"fit_weight must be True or False; got {fit_weight!r}.")
    if estimator.prior is not None and not isinstance(estimator.prior, Prior):
        raise ValueError(f"prior must be a softpolytope.Prior or None; got {estimator.prior!r}.")
    inference = auto if estimator.inference == "auto" else estimator.inference
    if estimator.checkpoint is not None and not isinstance(estimator.random_state, numbers.Integral):
        raise ValueError(
            f"checkpoint needs an integer random_state, because a fit resumes only under its own seed; "
            f"got random_state={estimator.random_state!r}."
        )
    moves = Moves.of(estimator.scan)
    if not fit_weight:
        moves = Moves(moves.scan, moves.polya_gamma, moves.hamiltonian_steps, refresh=False, fit_weights=False)
    return Settings(
        inference=inference,
        max_experts=checked_integer("max_experts", getattr(estimator, "max_experts", 1), 1),
        n_layers=checked_integer("n_layers", getattr(estimator, "n_layers", 1), 1),
        fit_weight=bool(fit_weight),
        moves=moves,
        start=estimator.start,
        schedule=checked_schedule(estimator),
        n_chains=checked_integer("n_chains", estimator.n_chains, 1),
        n_restarts=checked_integer("n_restarts", estimator.n_restarts, 1),
        bootstrap=bool(estimator.bootstrap),
        prior=estimator.prior or (DEFAULT_PRIOR if inference == "map" else Prior()),
        symmetric=bool(estimator.symmetric),
        standardize=bool(estimator.standardize),
        checkpoint=checked_checkpoint(estimator.checkpoint),
    )


def warn_of_unused(estimator: Any, inference: Literal["gibbs", "map"], *, is_batch: bool = False) -> None:
    """Warn of parameters that differ from their defaults and have no part in this inference."""
    unused = _OF_MODES if inference == "gibbs" else (*_OF_CHAINS, *(_NOT_OF_BATCHES if is_batch else ()))
    defaults = signature(type(estimator).__init__).parameters
    given = [name for name in unused if getattr(estimator, name) != defaults[name].default]
    if not given:
        return
    subject = f"{given[0]} is" if len(given) == 1 else f"{', '.join(given[:-1])} and {given[-1]} are"
    if is_batch:
        found, remedy = "partial_fit moves modes", "set back what is not meant"
    elif inference == "gibbs":
        found, remedy = "this fit draws from the posterior", 'set inference="map" to find modes'
    else:
        found, remedy = "this fit finds modes of the posterior", 'set inference="gibbs" to draw from it'
    chosen = ' (as inference="auto" chose for so many rows)' if estimator.inference == "auto" and not is_batch else ""
    warnings.warn(f"{subject} not used: {found}{chosen}; {remedy}.", stacklevel=4 if is_batch else 5)


def check_for_partitions(estimator: Any, settings: Settings) -> None:
    """Raise for what needs the rows in memory."""
    if settings.bootstrap:
        raise ValueError(
            "bootstrap=True gives every row a weight of its own in every restart, and needs the rows in memory; for "
            'intervals of rows in partitions use inference="gibbs".'
        )
    if estimator.warm_start and settings.moves.scan == "paper":
        raise ValueError(
            'warm_start keeps the chains in this process, and those of scan="paper" have counts for every row; for '
            'rows in partitions use a checkpoint, or scan="collapsed".'
        )


def checked_schedule(estimator: Any) -> Schedule:
    """Sweeps, burn-in (by default half of them) and kept draws (by default up to 50 a chain)."""
    n_sweeps = checked_integer("n_sweeps", estimator.n_sweeps, 2)
    n_burn_in = n_sweeps // 2
    if estimator.n_burn_in is not None:
        n_burn_in = checked_integer("n_burn_in", estimator.n_burn_in, 0)
        if n_burn_in >= n_sweeps:
            raise ValueError(f"n_burn_in must be below n_sweeps = {n_sweeps}; got {n_burn_in}.")
    n_kept = n_sweeps - n_burn_in
    n_draws = min(n_kept, MAX_DRAWS_BY_DEFAULT)
    if estimator.n_draws is not None:
        n_draws = checked_integer("n_draws", estimator.n_draws, 1)
        if n_draws > n_kept:
            raise ValueError(f"n_draws must be at most the {n_kept} sweeps after burn-in; got {n_draws}.")
    return Schedule(n_sweeps, n_burn_in, n_draws)


def checked_integer(name: str, value: Any, least: int) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name} must be a whole number >= {least}; got {value!r}.")
    return int(value)


def check_choice(estimator: Any, name: str, choices: tuple[str, ...]) -> None:
    """Raise unless a parameter is one of the names allowed."""
    value = getattr(estimator, name)
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")


def check_flag(estimator: Any, name: str) -> None:
    """Raise unless a parameter is a truth value."""
    value = getattr(estimator, name)
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {value!r}.")


def checked_checkpoint(value: Any) -> CheckpointPlan | None:
    """A folder, or a plan with one."""
    if value is None or isinstance(value, CheckpointPlan):
        return value
    if isinstance(value, str | Path):
        return CheckpointPlan(Path(value))
    raise ValueError(f"checkpoint must be a folder, a CheckpointPlan or None; got {value!r}.")


def make_seed(random_state: Any) -> int:
    """A seed for the streams: the number itself, or one drawn from what scikit-learn accepts."""
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        seed = int(random_state)
        if not 0 <= seed < 2**32:
            raise ValueError(f"random_state must be from 0 to 2**32 - 1; got {seed}.")
        return seed
    return int(check_random_state(random_state).randint(2**31 - 1))
