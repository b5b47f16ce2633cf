"""Posterior draws of the parameters, in the user's units, and the probabilities they predict."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Literal, Self, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.model._kernels import predict as _predict
from softpolytope.model._log_posterior import Design
from softpolytope.model._pools import (
    Pool,
    combine_odds,
    log_mean_probabilities,
    mixture_probabilities,
    pool_probabilities,
)
from softpolytope.model._softplus import log_negative_probability, log_positive_probability

Estimate = Literal["mean", "best"]
Result = TypeVar("Result")

# Below this, probabilities are computed from their logarithms, this many rows at once.
MIN_PLAIN_PROBABILITY = 1e-290
FAR_ROWS_AT_ONCE = 256
# Numbers held at once while rows are predicted; rows are taken in blocks so that draws x rows stay below it.
MAX_RATES_AT_ONCE = 4_000_000
# Minimum size of a block: for fewer rows a thread costs more than it saves.
MIN_ROWS_OF_A_BLOCK = 1024


@dataclass(frozen=True, slots=True)
class Draws:
    """Draws of the parameters of one labeling, the experts of all draws in one axis."""

    coefficients: FloatArray  # (experts of all draws, layers, 1 + features), the intercept first
    expert_weights: FloatArray  # (experts of all draws,)
    is_active: BoolArray  # (experts of all draws,), whether the expert had counts
    starts: NDArray[np.intp]  # (draws + 1,), draw d has the experts starts[d] to starts[d + 1]
    log_likelihood: FloatArray  # (draws,), of the training rows

    @classmethod
    def from_parts(cls, parts: Sequence[tuple[FloatArray, FloatArray, BoolArray, float]]) -> Self:
        """Join draws given as (coefficients, expert weights, is active, log likelihood)."""
        counts = [len(part[1]) for part in parts]
        return cls(
            np.ascontiguousarray(np.concatenate([part[0] for part in parts])),
            np.concatenate([part[1] for part in parts]),
            np.concatenate([part[2] for part in parts]),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.intp),
            np.array([part[3] for part in parts], dtype=np.float64),
        )

    def __len__(self) -> int:
        return len(self.log_likelihood)

    def __getitem__(self, draw: int) -> "Draws":
        """Return one draw."""
        experts = slice(self.starts[draw], self.starts[draw + 1])
        return Draws(
            self.coefficients[experts],
            self.expert_weights[experts],
            self.is_active[experts],
            np.array([0, self.starts[draw + 1] - self.starts[draw]], dtype=np.intp),
            self.log_likelihood[draw : draw + 1],
        )

    def by_weight(self) -> "Draws":
        """Return the same draws with the experts of each sorted by weight, the heaviest first.

        Experts are listed and numbered, from one, in this order in all results for users.
        """
        draws = np.repeat(np.arange(len(self)), np.diff(self.starts))
        order = np.lexsort((-self.expert_weights, draws))
        return Draws(
            np.ascontiguousarray(self.coefficients[order]),
            self.expert_weights[order],
            self.is_active[order],
            self.starts,
            self.log_likelihood,
        )

    @property
    def n_active(self) -> NDArray[np.intp]:
        """Number of experts with counts, by draw."""
        return np.array([self.is_active[a:b].sum() for a, b in zip(self.starts, self.starts[1:], strict=False)])

    def rates(self, X: Design) -> FloatArray:
        """Return lambda of rows, (draws, rows); dense rows are C-ordered doubles."""
        n_experts, n_layers, n_columns = self.coefficients.shape
        if X.shape[1] != n_columns - 1:
            raise ValueError(f"X must have the {n_columns - 1} features of the model; got {X.shape[1]}.")
        intercepts = np.ascontiguousarray(self.coefficients[:, :, 0])
        slopes = np.ascontiguousarray(self.coefficients[:, :, 1:])
        out = np.empty((len(self), X.shape[0]))
        if isinstance(X, np.ndarray):
            _predict.fill_rates_dense(X, slopes, intercepts, self.expert_weights, self.starts, out)
        else:
            columns = np.ascontiguousarray(slopes.reshape(n_experts * n_layers, n_columns - 1).T)
            indices, indptr = X.indices.astype(np.intc), X.indptr.astype(np.intc)
            experts = (intercepts, self.expert_weights, self.starts, out)
            _predict.fill_rates_sparse(X.data, indices, indptr, columns, *experts)
        return out

    def log_probabilities(self, X: Design) -> tuple[FloatArray, FloatArray]:
        """Return log(1 - e^-lambda) and -lambda of rows, (draws, rows).

        Slower than `rates`, and finite where lambda or its exponential is not.
        """
        dense = X if isinstance(X, np.ndarray) else X.toarray()
        slopes, intercepts = self.coefficients[:, :, 1:], self.coefficients[:, :, :1]
        predictor = np.clip(np.tensordot(slopes, dense, (2, 1)) + intercepts, -1e300, 1e300)
        spans = [slice(a, b) for a, b in zip(self.starts, self.starts[1:], strict=False)]
        draws = [(predictor[span], self.expert_weights[span]) for span in spans]
        # A lambda past all doubles is infinite; values derived from it for the other tail are not used.
        with np.errstate(over="ignore", invalid="ignore"):
            return (
                np.stack([log_positive_probability(*draw) for draw in draws]),
                np.stack([log_negative_probability(*draw) for draw in draws]),
            )


@dataclass(frozen=True, slots=True)
class LabelingPosterior:
    """One labeling: the kept draws of all chains, the best draw, and a record of every sweep."""

    draws: Draws  # chain after chain
    best: Draws  # the one draw of highest training likelihood
    n_chains: int
    log_likelihood: FloatArray  # (chains, sweeps)
    n_active: FloatArray  # (chains, sweeps)
    mass: FloatArray  # (chains, sweeps)

    def select_draws(self, estimate: Estimate) -> Draws:
        """Return the draws of an estimate."""
        # A user may change this parameter of a classifier after fit, so it is checked where it is used.
        check_estimate(estimate)
        return self.best if estimate == "best" else self.draws


def check_estimate(estimate: object) -> None:
    """Raise unless `estimate` is one of the options."""
    if not isinstance(estimate, str) or estimate not in get_args(Estimate):
        raise ValueError(f"estimate must be one of {', '.join(map(repr, get_args(Estimate)))}; got {estimate!r}.")


@dataclass(frozen=True, slots=True)
class RegressionPosterior:
    """One label against the rest: P(y = 1) by the labeling itself and, if symmetric, by its opposite.

    The draws of both labelings, of which there are equally many, are one mixture: those of the labeling itself, then
    those of its opposite. A linear pool predicts with the mean of their probabilities, a logarithmic one with the mean
    of their log odds. The latter is for members of a bootstrap: each has seen fewer rows than there are, so that the
    mean of their probabilities is less certain than the rows allow.
    """

    labelings: tuple[LabelingPosterior, ...]
    pool: Pool = "linear"
    agreement: float | None = None  # share of held-out rows for which the best draws decide as all; None if not known

    @property
    def n_draws(self) -> int:
        """Number of draws of all labelings."""
        return sum(len(labeling.draws) for labeling in self.labelings)

    def probabilities(self, X: Design, estimate: Estimate, n_threads: int = 1) -> tuple[FloatArray, FloatArray]:
        """Return P(y = 1) and P(y = 0) of rows, pooled over draws, each precise where it is small."""
        blocks = list(self._map_blocks(X, estimate, n_threads, partial(pool_probabilities, self.pool)))
        positive, negative = (np.concatenate([block[side] for block in blocks]) for side in (0, 1))
        _check_for_overflow(positive)
        return positive, negative

    def log_probabilities(self, X: Design, estimate: Estimate, n_threads: int = 1) -> tuple[FloatArray, FloatArray]:
        """Return log P(y = 1) and log P(y = 0) of rows, pooled over draws, finite for any probability."""
        probabilities = self.probabilities(X, estimate, n_threads)
        far = np.flatnonzero(np.minimum(*probabilities) < MIN_PLAIN_PROBABILITY)
        positive, negative = (np.log(np.maximum(item, MIN_PLAIN_PROBABILITY)) for item in probabilities)
        for start in range(0, len(far), FAR_ROWS_AT_ONCE):
            own = far[start : start + FAR_ROWS_AT_ONCE]
            positive[own], negative[own] = log_mean_probabilities(
                [labeling.select_draws(estimate).log_probabilities(X[own]) for labeling in self.labelings]
            )
        return positive, negative

    def probability_draws(self, X: Design, estimate: Estimate = "mean", n_threads: int = 1) -> FloatArray:
        """Return P(y = 1) of every draw of both labelings, (draws, rows)."""
        return self.both_probability_draws(X, estimate, n_threads)[0]

    def both_probability_draws(
        self, X: Design, estimate: Estimate = "mean", n_threads: int = 1
    ) -> tuple[FloatArray, FloatArray]:
        """Return P(y = 1) and P(y = 0) of every draw of both labelings, each precise where it is small."""
        blocks = list(self._map_blocks(X, estimate, n_threads, mixture_probabilities))
        positive, negative = (np.concatenate([block[side] for block in blocks], axis=1) for side in (0, 1))
        _check_for_overflow(positive)
        return positive, negative

    def _map_blocks(
        self, X: Design, estimate: Estimate, n_threads: int, finish: Callable[[list[FloatArray]], Result]
    ) -> Iterator[Result]:
        """Apply `finish` to the rates (one array per labeling) of each block of rows, in order."""
        draws = [labeling.select_draws(estimate) for labeling in self.labelings]
        size = max(MIN_ROWS_OF_A_BLOCK, MAX_RATES_AT_ONCE // (len(draws[0]) * len(draws) * max(n_threads, 1)))
        starts = range(0, X.shape[0], size)

        def evaluate(start: int) -> Result:
            rows = X[start : start + size]
            return finish([item.rates(rows) for item in draws])

        if n_threads == 1 or len(starts) == 1:
            yield from map(evaluate, starts)
        else:
            with ThreadPoolExecutor(n_threads) as pool:
                yield from pool.map(evaluate, starts)


def _check_for_overflow(probabilities: FloatArray) -> None:
    """Raise if the probability of a row, the last axis, is not a number."""
    if np.isnan(probabilities).any():
        row = int(np.argwhere(np.isnan(probabilities))[0, -1])
        raise ValueError(
            f"Row {row} of X has values so large that its linear predictors overflow. Rescale or drop such rows."
        )


@dataclass(frozen=True, slots=True)
class Posterior:
    """The whole fitted model: one regression for two classes, one per class for more."""

    regressions: tuple[RegressionPosterior, ...]

    @property
    def labelings(self) -> list[LabelingPosterior]:
        """Posteriors of all labelings, regression after regression."""
        return [labeling for regression in self.regressions for labeling in regression.labelings]

    def class_probabilities(self, X: Design, estimate: Estimate, n_threads: int = 1) -> FloatArray:
        """Return the probabilities of the classes, (rows, classes), averaged over draws."""
        pairs = [regression.probabilities(X, estimate, n_threads) for regression in self.regressions]
        if len(pairs) == 1:
            return np.column_stack([pairs[0][1], pairs[0][0]])
        positive, negative = (np.stack([pair[side] for pair in pairs]) for side in (0, 1))
        return np.ascontiguousarray(combine_odds(positive, negative).T)

    def class_log_probabilities(self, X: Design, estimate: Estimate, n_threads: int = 1) -> FloatArray:
        """Return the logarithms of the probabilities of the classes, (rows, classes), finite in both tails."""
        pairs = [regression.log_probabilities(X, estimate, n_threads) for regression in self.regressions]
        if len(pairs) == 1:
            return np.column_stack([pairs[0][1], pairs[0][0]])
        # As in `combine_odds`: the probability of a class is proportional to its odds.
        log_odds = np.stack([positive - negative for positive, negative in pairs])
        return np.ascontiguousarray(log_softmax(log_odds, axis=0).T)

    def class_probability_draws(self, X: Design, n_threads: int = 1) -> FloatArray:
        """Return the probabilities by draw: of the second of two classes (draws, rows), else (draws, rows, classes).

        The draws of both labelings come one after the other. Regressions of several classes are independent: draw d of
        each is combined with draw d of the others.
        """
        pairs = [regression.both_probability_draws(X, "mean", n_threads) for regression in self.regressions]
        if len(pairs) == 1:
            return pairs[0][0]
        positive, negative = (np.stack([pair[side] for pair in pairs]) for side in (0, 1))
        return np.ascontiguousarray(np.moveaxis(combine_odds(positive, negative), 0, -1))
