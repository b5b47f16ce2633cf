"""Coefficients of extreme columns."""

import numpy as np
import pytest

from softpolytope.data._dataset import InMemoryDataset
from softpolytope.gibbs._chain import ChainSettings
from softpolytope.gibbs._run import run_chains
from softpolytope.gibbs._sweep import Moves
from softpolytope.gibbs._trace import Schedule
from softpolytope.model._prior import Prior

PRIOR = Prior(precision_shape=1.0, precision_rate=1.0)


@pytest.mark.parametrize(("scan", "size"), [("paper", 1e170), ("paper", 1e-170), ("collapsed", 1e-170)])
def test_columns_whose_squares_are_no_numbers(scan, size, rng):
    """Chains run, and see what there is to see."""
    x = rng.normal(size=80)
    rows = InMemoryDataset.from_arrays(np.column_stack([np.ones(80), size * x]), x > 0.3)
    settings = ChainSettings(2, 1, PRIOR, Moves.of(scan), Schedule(40, 20, 10))
    trace = run_chains(rows, settings, 0).traces[0][0]
    assert np.isfinite(trace.log_likelihood).all()
