"""Softplus regressions under the paper's protocol: both labelings, the best draw of each."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy import sparse

from softpolytope.gibbs.run import RunOptions, run_chains
from softpolytope.gibbs.trace import Draw, Trace
from softpolytope.model.data import TrainingData
from softpolytope.model.posterior import Draws
from softpolytope.paper import paper_settings
from softpolytope.parallel.checkpoint import CheckpointPlan


@dataclass(frozen=True, slots=True)
class SoftplusProtocol:
    """How chains are run; the paper's have 5,000 sweeps, and it predicts with the best draw of the last half."""

    n_sweeps: int = 5000
    n_draws: int = 50  # kept besides, for a posterior mean that the paper does not show
    # Terms of the truncated Polya-Gamma sum; the paper's six cost four times an exact draw (docs/laws.md) and have its
    # mean and variance, so exact draws are taken.
    pg_terms: int = 0


class SoftplusRegression:
    """A softplus regression fitted to labels 0 and 1 by one chain for each labelling."""

    def __init__(self, max_experts: int, n_layers: int, seed: int, protocol: SoftplusProtocol) -> None:
        self._max_experts, self._n_layers, self._seed, self._protocol = max_experts, n_layers, seed, protocol

    def fit(self, X: Any, y: Any, checkpoint: Path | None = None) -> Self:
        """Run the chains; long ones leave a checkpoint every minute."""
        protocol = self._protocol
        settings = paper_settings(
            self._n_layers, self._max_experts, protocol.n_sweeps, protocol.n_draws, protocol.pg_terms
        )
        options = RunOptions(checkpoint=CheckpointPlan(checkpoint) if checkpoint else None)
        rows = TrainingData.from_arrays(_with_intercept(X), np.asarray(y) == 1)
        result = run_chains(rows, settings, seed=self._seed, labelings=(0, 1), options=options)
        if not result.is_complete:
            raise KeyboardInterrupt
        traces = [chains[0] for chains in result.traces]
        self.best = [_best(trace) for trace in traces]
        self._rates_of_best = [_joined([draw]).rate_function() for draw in self.best]
        self._rates = [_joined(trace.draws).rate_function() for trace in traces]
        return self

    @property
    def n_experts(self) -> int:
        """Experts with counts, of both labelings together, as the paper counts them."""
        return sum(draw.n_active for draw in self.best)

    def predict(self, X: Any) -> Any:
        """1 where the rate of the best draw exceeds that of the opposite labelling."""
        own, opposite = (rates(X)[0] for rates in self._rates_of_best)
        return (own > opposite).astype(np.int64)

    def predict_by_mean(self, X: Any) -> Any:
        """1 where the posterior mean of P(y = 1), both labelings combined, exceeds one half."""
        own, opposite = (-np.expm1(-rates(X)).mean(axis=0) for rates in self._rates)
        return (own > opposite).astype(np.int64)


def _with_intercept(X: Any) -> Any:
    ones = np.ones((X.shape[0], 1))
    return sparse.hstack([ones, X], format="csr") if sparse.issparse(X) else np.hstack([ones, X])


def _best(trace: Trace) -> Draw:
    if trace.best is None:
        raise RuntimeError("a chain that ran to its end has a best draw.")
    return trace.best


def _joined(draws: list[Draw]) -> Draws:
    return Draws.from_parts(
        [(draw.coefficients, np.exp(draw.log_weights), draw.counts[-1] > 0.0, draw.log_likelihood) for draw in draws]
    )
