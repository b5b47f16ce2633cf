"""Modes of the posterior, found by L-BFGS from random starts.

A search tunes the precision rate on held-out rows, optimizes on growing subsamples until all rows are in, and returns
one mode per restart and labeling (`_search`). A search can be checkpointed and continued, and modes can be updated
online by Adam (`_online`).
"""

from softpolytope.optimize._bootstrap import weight_concentration
from softpolytope.optimize._fit import DEFAULT_PRIOR, SavedModes, approximate_posterior, find_modes
from softpolytope.optimize._layers import choose_n_layers
from softpolytope.optimize._mode import FoundMode, LogPosterior, Mode, ModeSettings, ModesResult, pruned
from softpolytope.optimize._online import AdamState, OnlineModes, adam_pass, start_online, update_online
from softpolytope.optimize._search import max_optimizations

__all__ = [
    "DEFAULT_PRIOR",
    "AdamState",
    "FoundMode",
    "LogPosterior",
    "Mode",
    "ModeSettings",
    "ModesResult",
    "OnlineModes",
    "SavedModes",
    "adam_pass",
    "approximate_posterior",
    "choose_n_layers",
    "find_modes",
    "max_optimizations",
    "pruned",
    "start_online",
    "update_online",
    "weight_concentration",
]
