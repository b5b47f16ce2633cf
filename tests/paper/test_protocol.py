"""The paper's settings of a chain."""

import numpy as np

from softpolytope.data._dataset import InMemoryDataset
from softpolytope.datasets import make_circle
from softpolytope.gibbs._run import run_chains
from softpolytope.model._prior import Prior
from softpolytope.paper import TableProtocol, paper_settings


def test_the_papers_protocol():
    """Six-term Polya-Gamma sums, deletions at 525, 575, ..., the best draw of the second half, the paper's start."""
    plan = paper_settings(n_layers=2, max_experts=6, n_sweeps=700)
    assert plan.schedule.prune_at == (525, 575, 625, 675)
    assert plan.moves.pg_terms == 6
    assert plan.prior == Prior(0.01, 0.01, 1.0, 1.0, 1e-6, 1e-6)
    assert (plan.moves.least_precision, plan.moves.least_activation) == (1e-3, 1e-6)
    X, y = make_circle(120, random_state=1)
    rows = InMemoryDataset.from_arrays(np.column_stack([np.ones(120), X]), y == 1)
    trace = run_chains(rows, plan, 1).traces[0][0]
    assert len(trace.draws[0].log_weights) == 6  # sweep 357, before the first deletion
    assert len(trace.draws[-1].log_weights) <= 6
    assert trace.best.sweep >= 350
    assert trace.best.log_likelihood == max(trace.log_likelihood[350:])


def test_tables_have_the_papers_settings_with_exact_draws():
    """Of the settings of the paper only the Polya-Gamma draws differ; length and draws are those of the protocol."""
    assert TableProtocol(pg_terms=6).settings(20, 5) == paper_settings(n_layers=5)
    settings = TableProtocol(n_sweeps=100, n_draws=10).settings(3, 2)
    assert settings == paper_settings(2, 3, 100, 10, pg_terms=0)
    assert (settings.schedule.n_burn_in, settings.schedule.n_draws) == (50, 10)
