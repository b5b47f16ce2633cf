"""Schedules, and the record of a chain."""

import pytest
from chains import circle_rows, settings

from softpolytope.gibbs._run import run_chains
from softpolytope.gibbs._trace import Schedule


def test_trace_records_every_sweep():
    """Every sweep has a log-likelihood and a number of experts; kept draws are evenly spaced, the best is the best."""
    trace = run_chains(circle_rows(), settings(n_sweeps=40, n_burn_in=10, n_draws=6), 2).traces[0][0]
    assert trace.n_sweeps == len(trace.n_active) == len(trace.mass) == len(trace.acceptance) == 40
    assert [draw.sweep for draw in trace.draws] == [14, 19, 24, 29, 34, 39]
    assert trace.best.log_likelihood == max(trace.log_likelihood[10:])
    assert trace.draws[-1].log_likelihood == trace.log_likelihood[39]


def test_schedule_is_checked():
    """Burn-in and draws that do not fit the sweeps are refused."""
    with pytest.raises(ValueError, match="n_burn_in must"):
        Schedule(10, 10, 1)
    with pytest.raises(ValueError, match="n_draws must"):
        Schedule(10, 5, 6)
