"""What fitting leaves behind: draws of the parameters, in the user's units, and how they predict."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import log_softmax, logsumexp

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.model._kernels import predict as _predict
from softpolytope.model._log_posterior import Design
from softpolytope.model._softplus import log_negative_probability, log_positive_probability

Estimate = Literal["mean", "best"]

# Below this, probabilities are computed by their logarithms, so many rows at once.
MIN_PLAIN_PROBABILITY = 1e-290
FAR_ROWS_AT_ONCE = 256
# Numbers held at once while rows are predicted; rows are taken in blocks so that draws x rows stay below it.
MAX_RATES_AT_ONCE = 4_000_000
# Rows of a block at least, so that each is worth a thread's attention.
MIN_ROWS_OF_A_BLOCK = 1024


@dataclass(frozen=True, slots=True)
class Draws:
    """Draws of the parameters of one labeling; their experts stand one after the other."""

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
        """One draw alone."""
        experts = slice(self.starts[draw], self.starts[draw + 1])
        return Draws(
            self.coefficients[experts],
            self.expert_weights[experts],
            self.is_active[experts],
            np.array([0, self.starts[draw + 1] - self.starts[draw]], dtype=np.intp),
            self.log_likelihood[draw : draw + 1],
        )

    def by_weight(self) -> "Draws":
        """Return the same draws with the experts of each in order of weight, the heaviest first.

        This is the order in which experts are listed and numbered, from one, wherever a user meets them.
        """
        draw_of = np.repeat(np.arange(len(self)), np.diff(self.starts))
        order = np.lexsort((-self.expert_weights, draw_of))
        return Draws(
            np.ascontiguousarray(self.coefficients[order]),
            self.expert_weights[order],
            self.is_active[order],
            self.starts,
            self.log_likelihood,
        )

    @property
    def n_active(self) -> NDArray[np.intp]:
        """Experts with counts, by draw."""
        return np.array([self.is_active[a:b].sum() for a, b in zip(self.starts, self.starts[1:], strict=False)])

    def log_probabilities(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """log(1 - e^-lambda) and -lambda of rows, (draws, rows): numbers where lambda is none or zero, and slower."""
        rows: Any = X
        dense = rows.toarray() if sparse.issparse(X) else rows
        slopes, intercepts = self.coefficients[:, :, 1:], self.coefficients[:, :, :1]
        predictor = np.clip(np.tensordot(slopes, dense, (2, 1)) + intercepts, -1e300, 1e300)
        spans = [slice(a, b) for a, b in zip(self.starts, self.starts[1:], strict=False)]
        given = [(predictor[span], self.expert_weights[span]) for span in spans]
        # A lambda past all doubles is infinite; what is made of it on the way to the other tail is not used.
        with np.errstate(over="ignore", invalid="ignore"):
            return (
                np.stack([log_positive_probability(*one) for one in given]),
                np.stack([log_negative_probability(*one) for one in given]),
            )

    def rate_function(self) -> Callable[[Any], FloatArray]:
        """A function from rows, dense C-ordered doubles or CSR, to lambda (draws, rows)."""
        n_experts, n_layers, n_columns = self.coefficients.shape
        intercepts = np.ascontiguousarray(self.coefficients[:, :, 0])
        slopes = np.ascontiguousarray(self.coefficients[:, :, 1:])
        turned = np.ascontiguousarray(slopes.reshape(n_experts * n_layers, n_columns - 1).T)

        def rates(X: Any) -> FloatArray:
            if X.shape[1] != n_columns - 1:
                raise ValueError(f"the model has {n_columns - 1} features; got rows of {X.shape[1]}.")
            out = np.empty((len(self), X.shape[0]))
            if sparse.issparse(X):
                rows: Any = X
                entries = (rows.data, rows.indices.astype(np.intc), rows.indptr.astype(np.intc))
                _predict.fill_rates_sparse(*entries, turned, intercepts, self.expert_weights, self.starts, out)
            else:
                _predict.fill_rates_dense(X, slopes, intercepts, self.expert_weights, self.starts, out)
            return out

        return rates


@dataclass(frozen=True, slots=True)
class LabelingPosterior:
    """One labeling: the kept draws of all chains, the best draw, and what was recorded of every sweep."""

    draws: Draws  # chain after chain
    best: Draws  # the one draw of highest training likelihood
    n_chains: int
    log_likelihood: FloatArray  # (chains, sweeps)
    n_active: FloatArray  # (chains, sweeps)
    mass: FloatArray  # (chains, sweeps)

    def chosen(self, estimate: Estimate) -> Draws:
        """The draws that an estimate is made of."""
        # A parameter of a classifier that may be changed after fit, so it is checked where it is used.
        check_estimate(estimate)
        return self.best if estimate == "best" else self.draws


def check_estimate(estimate: object) -> None:
    """Raise unless it is the name of an estimate."""
    if not isinstance(estimate, str) or estimate not in get_args(Estimate):
        raise ValueError(f"estimate must be one of {', '.join(map(repr, get_args(Estimate)))}; got {estimate!r}.")


@dataclass(frozen=True, slots=True)
class RegressionPosterior:
    """One label against the rest: P(y = 1) by the labeling itself and, if symmetric, by its opposite."""

    labelings: tuple[LabelingPosterior, ...]

    def probabilities(self, X: Any, estimate: Estimate, n_threads: int = 1) -> tuple[FloatArray, FloatArray]:
        """P(y = 1) and P(y = 0) of rows, averaged over draws; neither is one minus the other, so both are precise."""
        blocks = list(self._over_blocks(X, estimate, n_threads, _mean_probabilities))
        positive, negative = (np.concatenate([block[side] for block in blocks]) for side in (0, 1))
        _check_for_overflow(positive)
        return positive, negative

    def log_probabilities(self, X: Any, estimate: Estimate, n_threads: int = 1) -> tuple[FloatArray, FloatArray]:
        """log P(y = 1) and log P(y = 0) of rows, averaged over draws: numbers, however small the probabilities are."""
        probabilities = self.probabilities(X, estimate, n_threads)
        far = np.flatnonzero(np.minimum(*probabilities) < MIN_PLAIN_PROBABILITY)
        positive, negative = (np.log(np.maximum(item, MIN_PLAIN_PROBABILITY)) for item in probabilities)
        for start in range(0, len(far), FAR_ROWS_AT_ONCE):
            own = far[start : start + FAR_ROWS_AT_ONCE]
            positive[own], negative[own] = _log_mean_probabilities(
                [labeling.chosen(estimate).log_probabilities(X[own]) for labeling in self.labelings]
            )
        return positive, negative

    def probability_draws(self, X: Any, estimate: Estimate = "mean", n_threads: int = 1) -> FloatArray:
        """P(y = 1) of every draw, (draws, rows)."""
        blocks = list(self._over_blocks(X, estimate, n_threads, lambda rates: _probabilities(rates)[0]))
        positive = np.concatenate(blocks, axis=1)
        _check_for_overflow(positive)
        return positive

    def both_probability_draws(
        self, X: Any, estimate: Estimate = "mean", n_threads: int = 1
    ) -> tuple[FloatArray, FloatArray]:
        """P(y = 1) and P(y = 0) of every draw, (draws, rows), both precise."""
        blocks = list(self._over_blocks(X, estimate, n_threads, _probabilities))
        positive, negative = (np.concatenate([block[side] for block in blocks], axis=1) for side in (0, 1))
        _check_for_overflow(positive)
        return positive, negative

    def _over_blocks(
        self, X: Any, estimate: Estimate, n_threads: int, finish: Callable[[list[FloatArray]], Any]
    ) -> Iterator[Any]:
        """Apply `finish` to the rates (one array per labeling) of block after block of rows, in order."""
        draws = [labeling.chosen(estimate) for labeling in self.labelings]
        functions = [item.rate_function() for item in draws]
        n_rows = X.shape[0]
        size = max(MIN_ROWS_OF_A_BLOCK, MAX_RATES_AT_ONCE // (len(draws[0]) * len(draws) * max(n_threads, 1)))
        starts = range(0, n_rows, size)

        def one(start: int) -> Any:
            rows = X[start : start + size]
            return finish([function(rows) for function in functions])

        if n_threads == 1 or len(starts) == 1:
            yield from map(one, starts)
        else:
            with ThreadPoolExecutor(n_threads) as pool:
                yield from pool.map(one, starts)


def _probabilities(rates: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """P(y = 1) and P(y = 0) from lambda of the labeling, and of its opposite if there is one."""
    own = rates[0]
    if len(rates) == 1:
        return -np.expm1(-own), np.exp(-own)
    other = rates[1]
    return 0.5 * (np.exp(-other) - np.expm1(-own)), 0.5 * (np.exp(-own) - np.expm1(-other))


def _log_mean_probabilities(logs: list[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
    """Logarithms of P(y = 1) and P(y = 0), from those of every draw of the labeling and of its opposite."""
    event, survival = ([_log_mean(pair[side]) for pair in logs] for side in (0, 1))
    if len(logs) == 1:
        return event[0], survival[0]
    half = np.log(0.5)
    return half + np.logaddexp(event[0], survival[1]), half + np.logaddexp(survival[0], event[1])


def _log_mean(logs: FloatArray) -> FloatArray:
    """Logarithm of the mean over draws, (draws, rows)."""
    return np.asarray(logsumexp(logs, axis=0) - np.log(len(logs)))


def _check_for_overflow(probabilities: FloatArray) -> None:
    """Raise if the probability of a row, the last axis, is no number."""
    if np.isnan(probabilities).any():
        row = int(np.argwhere(np.isnan(probabilities))[0, -1])
        raise ValueError(f"row {row} of X has numbers so large that its linear predictors overflow.")


def _mean_probabilities(rates: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """The same, averaged over draws."""
    positive, negative = np.zeros(rates[0].shape[1]), np.zeros(rates[0].shape[1])
    _predict.add_mean_probabilities(rates[0], 1.0 / len(rates), positive, negative)
    if len(rates) == 2:
        _predict.add_mean_probabilities(rates[1], 0.5, negative, positive)
    return positive, negative


def combined(positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Return class probabilities, which sum to one, from P(class) and P(not class), both (classes, ...).

    The regressions are treated as independent and conditioned on exactly one of them being right: P(c) is proportional
    to the odds of c. `benchmarks/multiclass.py` compares this with dividing the probabilities by their sum.
    """
    log_odds = np.log(np.maximum(positive, np.finfo(float).tiny)) - np.log(np.maximum(negative, np.finfo(float).tiny))
    odds = np.exp(log_odds - log_odds.max(axis=0))
    return np.asarray(odds / odds.sum(axis=0))


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
        return np.ascontiguousarray(combined(positive, negative).T)

    def class_log_probabilities(self, X: Design, estimate: Estimate, n_threads: int = 1) -> FloatArray:
        """Return the logarithms of the probabilities of the classes, (rows, classes), finite in both tails."""
        pairs = [regression.log_probabilities(X, estimate, n_threads) for regression in self.regressions]
        if len(pairs) == 1:
            return np.column_stack([pairs[0][1], pairs[0][0]])
        # As in `combined`: the probability of a class is proportional to its odds.
        log_odds = np.stack([positive - negative for positive, negative in pairs])
        return np.ascontiguousarray(log_softmax(log_odds, axis=0).T)

    def class_probability_draws(self, X: Design, n_threads: int = 1) -> FloatArray:
        """Return the probabilities by draw: of the second of two classes (draws, rows), else (draws, rows, classes)."""
        pairs = [regression.both_probability_draws(X, "mean", n_threads) for regression in self.regressions]
        if len(pairs) == 1:
            return pairs[0][0]
        positive, negative = (np.stack([pair[side] for pair in pairs]) for side in (0, 1))
        return np.ascontiguousarray(np.moveaxis(combined(positive, negative), 0, -1))
