"""Softplus regressions under the paper's protocol: both labelings, the best draw of each."""

from pathlib import Path
from typing import Self

import numpy as np
from scipy import sparse

from softpolytope._typing import CountArray
from softpolytope.data import InMemoryDataset
from softpolytope.gibbs import Draw, Trace, run_chains
from softpolytope.model import Draws
from softpolytope.paper._protocol import TableProtocol
from softpolytope.paper._typing import Rows
from softpolytope.parallel import CheckpointPlan, RunOptions


class SoftplusRegression:
    """A softplus regression fitted to labels 0 and 1 by one chain for each labeling."""

    def __init__(self, max_experts: int, n_layers: int, seed: int, protocol: TableProtocol) -> None:
        self._settings = protocol.settings(max_experts, n_layers)
        self._seed = seed

    def fit(self, X: Rows, y: CountArray, checkpoint: Path | None = None) -> Self:
        """Run the chains; with a folder, each leaves a checkpoint every minute."""
        options = RunOptions(checkpoint=CheckpointPlan(checkpoint) if checkpoint else None)
        data = InMemoryDataset.from_arrays(_with_intercept(X), y == 1)
        result = run_chains(data, self._settings, seed=self._seed, labelings=(0, 1), options=options)
        if not result.is_complete:
            raise KeyboardInterrupt
        traces = [chains[0] for chains in result.traces]
        self.best = [_best(trace) for trace in traces]
        self._best_rates = [_join([draw]).rates for draw in self.best]
        self._rates = [_join(trace.draws).rates for trace in traces]
        return self

    @property
    def n_experts(self) -> int:
        """Number of experts with counts, of both labelings together as in the paper."""
        return sum(draw.n_active for draw in self.best)

    def predict(self, X: Rows) -> CountArray:
        """Return 1 where the rate of the best draw exceeds that of the opposite labeling, 0 elsewhere."""
        own, opposite = (rates(X)[0] for rates in self._best_rates)
        return np.asarray(own > opposite, dtype=np.int64)

    def predict_by_mean(self, X: Rows) -> CountArray:
        """Return 1 where the posterior mean of P(y = 1), both labelings combined, exceeds one half."""
        own, opposite = (-np.expm1(-rates(X)).mean(axis=0) for rates in self._rates)
        return np.asarray(own > opposite, dtype=np.int64)


def _with_intercept(X: Rows) -> Rows:
    ones = np.ones((X.shape[0], 1))
    if isinstance(X, sparse.csr_array):
        return sparse.csr_array(sparse.hstack([sparse.csr_array(ones), X], format="csr"))
    return np.hstack([ones, X])


def _best(trace: Trace) -> Draw:
    if trace.best is None:
        raise RuntimeError("A chain that ran to its end has a best draw.")
    return trace.best


def _join(draws: list[Draw]) -> Draws:
    return Draws.from_parts(
        [(draw.coefficients, np.exp(draw.log_weights), draw.counts[-1] > 0.0, draw.log_likelihood) for draw in draws]
    )
