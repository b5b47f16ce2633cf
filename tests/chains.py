"""Small chains for tests of the sampler, and hashes of what they give."""

import hashlib

import numpy as np

from softpolytope.data._dataset import InMemoryDataset
from softpolytope.gibbs._chain import ChainSettings
from softpolytope.gibbs._latent_block import LatentBlock
from softpolytope.gibbs._sweep import Moves
from softpolytope.gibbs._trace import Schedule
from softpolytope.model._prior import Prior

PRIOR = Prior(precision_shape=1.0, precision_rate=1.0)

MOVES = {
    "paper": Moves("paper", hamiltonian_steps=0, refresh=False),
    "collapsed": Moves("collapsed", polya_gamma=True, hamiltonian_steps=0),
    "default": Moves(),
    "all": Moves("collapsed", polya_gamma=True),
}


def circle_rows(n_rows=120, block_rows=32):
    """A ring around a disc."""
    rng = np.random.default_rng(1)
    angle, radius = rng.uniform(0, 2 * np.pi, n_rows), np.where(np.arange(n_rows) % 2, 2.0, 0.4)
    radius = radius * rng.uniform(0.7, 1.3, n_rows)
    design = np.column_stack([np.ones(n_rows), radius * np.cos(angle), radius * np.sin(angle)])
    return InMemoryDataset.from_arrays(design, np.arange(n_rows) % 2 == 1, block_rows=block_rows)


def settings(moves="default", n_sweeps=30, n_layers=2, **schedule):
    """A small model."""
    plan = {"n_burn_in": n_sweeps // 2, "n_draws": n_sweeps // 3} | schedule
    return ChainSettings(4, n_layers, PRIOR, MOVES[moves], Schedule(n_sweeps, **plan))


def digest(result):
    """Hash of every number a run gives."""
    sha = hashlib.sha256()
    for trace in (trace for labeling in result.traces for trace in labeling):
        for name, array in sorted(trace.to_arrays().items()):
            sha.update(name.encode())
            sha.update(np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()


def one_row(weight, coefficients):
    """A block of one positive row, all of whose columns are one."""
    n_columns = coefficients.shape[2]
    rows = InMemoryDataset.from_arrays(np.ones((1, n_columns)), np.array([True]), np.array([weight]))
    block = LatentBlock(rows, 0)
    block.prepare(coefficients)
    return block
