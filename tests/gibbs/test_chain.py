"""One chain: its start, pruning, and awkward data."""

import numpy as np
import pytest
from chains import MOVES, circle_rows, settings

from softpolytope.data._dataset import InMemoryDataset
from softpolytope.gibbs._run import run_chains
from softpolytope.gibbs._state import GibbsState


def test_paper_counts_shrink_with_the_level():
    """Latent counts never grow from one level to the next (corollary 15), and pruning keeps those that have some."""
    plan = settings("paper", 60, n_layers=3, n_burn_in=30, n_draws=10, prune_at=(40,))
    trace = run_chains(circle_rows(), plan, 2).traces[0][0]
    for draw in trace.draws:
        assert (np.diff(draw.counts, axis=0) <= 0).all()
    assert len(trace.draws[-1].log_weights) <= 4


def test_any_starting_state_is_taken():
    """A chain starts from the parameters given."""
    rng = np.random.default_rng(0)
    start = GibbsState(rng.normal(size=(3, 2, 3)), np.ones((3, 2, 3)), np.ones((3, 2)), np.zeros(3), 1.0, 1.0)
    trace = run_chains(circle_rows(), settings(), 2, start=start).traces[0][0]
    assert trace.draws[0].coefficients.shape == (3, 2, 3)
    assert start.mass == 1.0


@pytest.mark.parametrize("moves", MOVES)
@pytest.mark.parametrize(
    "kind", ["separable", "tiny", "duplicate columns", "constant column", "wide", "1e150", "1e-150", "1e4"]
)
def test_awkward_data_give_finite_results(kind, moves, rng):
    """Separable, tiny, degenerate and wildly scaled data leave every parameter and likelihood finite."""
    n_rows = {"tiny": 2, "wide": 5}.get(kind, 40)
    x = rng.normal(size=(n_rows, 8 if kind == "wide" else 2))
    labels = np.arange(n_rows) % 2 == 0
    if kind == "separable":
        x[:, 0] = np.where(labels, 5.0, -5.0)
    if kind == "duplicate columns":
        x[:, 1] = x[:, 0]
    if kind == "constant column":
        x[:, 1] = 3.0
    if kind.startswith("1e"):
        x *= float(kind)
    rows = InMemoryDataset.from_arrays(np.column_stack([np.ones(n_rows), x]), labels)
    trace = run_chains(rows, settings(moves, 40), 1).traces[0][0]
    assert np.isfinite(trace.log_likelihood).all()
    assert all(np.isfinite(draw.coefficients).all() for draw in trace.draws)
