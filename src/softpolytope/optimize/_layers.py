"""The number of layers, chosen on held-out rows."""

from collections.abc import Sequence
from dataclasses import replace

from numpy.random import SeedSequence

from softpolytope.data import Dataset
from softpolytope.optimize._fit import DEFAULT_PRIOR, find_modes
from softpolytope.optimize._mode import ModeSettings
from softpolytope.parallel import RunOptions

LAYER_CHOICES = (1, 2, 3, 5)
# Plain modes of so few restarts hold out two fifths of the rows between them, each under both labelings.
N_RESTARTS = 2


def choose_n_layers(
    problems: Sequence[tuple[Dataset, SeedSequence, RunOptions]], settings: ModeSettings, labelings: tuple[int, ...]
) -> int:
    """Return the number of layers whose plain modes predict held-out rows best, all problems together.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.data import InMemoryDataset
    >>> from softpolytope.optimize import DEFAULT_PRIOR, ModeSettings, choose_n_layers
    >>> from softpolytope.parallel import RunOptions
    >>> x = np.random.default_rng(0).normal(size=200)
    >>> rows = InMemoryDataset.from_arrays(np.column_stack([np.ones(200), x]), np.abs(x) < 1.0)
    >>> problem = (rows, np.random.SeedSequence(0), RunOptions())
    >>> choose_n_layers([problem], ModeSettings(1, 1, DEFAULT_PRIOR), (0,)) > 1  # an interval has two ends
    True
    """
    prior = replace(settings.prior, precision_rate=DEFAULT_PRIOR.precision_rate)
    settings = replace(settings, prior=prior, n_restarts=N_RESTARTS, bootstrap=False)
    losses = {}
    for n_layers in LAYER_CHOICES:
        losses[n_layers] = 0.0
        for data, seed, options in problems:
            own = replace(options, callback=None, folder=f"{options.folder}/layers{n_layers}")
            result = find_modes(data, replace(settings, n_layers=n_layers), seed, labelings, own)
            if result.is_interrupted:
                raise KeyboardInterrupt
            losses[n_layers] += data.total_weight * min(result.held_out_loss.values())
    return min(losses, key=losses.__getitem__)
