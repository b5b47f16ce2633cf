"""The moves of a sweep by name, and the safeguards of the paper."""

import numpy as np
import pytest
from chains import circle_rows

from softpolytope.distributions import SweepStreams
from softpolytope.distributions._streams import Streams
from softpolytope.gibbs._block_factory import LatentBlockFactory
from softpolytope.gibbs._chain import Chain
from softpolytope.gibbs._latent_block import LatentBlock
from softpolytope.gibbs._sweep import Moves
from softpolytope.paper import paper_settings
from softpolytope.parallel._blocks import SerialBlocks


def test_the_papers_safeguards():
    """Precisions are raised to their floor; latent rates where q is below epsilon are lessened by q / epsilon."""
    rows = circle_rows()
    plan = paper_settings(n_layers=3, max_experts=4, n_sweeps=40, n_draws=1)
    blocks = SerialBlocks(LatentBlockFactory(plan).build(rows, 0))
    chain = Chain(blocks, rows.column_size(), plan, (Streams(0), 0, 0))
    while not chain.is_done:
        chain.advance()
    assert chain.state.precisions.min() >= 1e-3

    def rates(epsilon):
        block = LatentBlock(next(iter(rows.split())), 0, 0, epsilon)
        coefficients = np.full((1, 3, 3), -2.0)
        block.prepare(coefficients)
        block.begin(SweepStreams(Streams(0), 0, 0, sweep=0), np.zeros(1), np.zeros(1, dtype=np.intc), "paper")
        return block

    free, held = rates(0.0), rates(1e-2)
    small = np.exp(free._log_activations[2]) < 1e-2
    assert small.any()
    assert not small.all()
    shares = np.where(small, np.exp(free._log_activations[2]) / 1e-2, 1.0)
    np.testing.assert_allclose(held._latent_rates[2], shares * free._latent_rates[2], rtol=1e-12)


def test_moves_by_name():
    """The two scans, and the better one."""
    assert Moves.of("auto") == Moves.of("collapsed")
    assert Moves.of("paper").scan == "paper"
    with pytest.raises(ValueError, match="scan must be"):
        Moves.of("gibbs")
