"""The exact sampler: two scans of one posterior, with a Hamiltonian move.

A sweep is a map over blocks of rows followed by small draws of the global parameters (`_sweep`). Chains record their
draws and can be stopped, checkpointed and resumed to the same bits (`_chain`, `_run`). Random streams are named by
labeling, chain, sweep, step and block.
"""

from softpolytope.gibbs._chain import ChainArrays, ChainSettings, get_trace
from softpolytope.gibbs._run import (
    ChainPlan,
    ChainsFit,
    Resumed,
    RunResult,
    SavedChains,
    fit_chains,
    logistic_start,
    run_chains,
)
from softpolytope.gibbs._state import GibbsState, InvalidStateError, check_state, state_at
from softpolytope.gibbs._sweep import Moves
from softpolytope.gibbs._trace import Draw, Schedule, Trace

__all__ = [
    "ChainArrays",
    "ChainPlan",
    "ChainSettings",
    "ChainsFit",
    "Draw",
    "GibbsState",
    "InvalidStateError",
    "Moves",
    "Resumed",
    "RunResult",
    "SavedChains",
    "Schedule",
    "Trace",
    "check_state",
    "fit_chains",
    "get_trace",
    "logistic_start",
    "run_chains",
    "state_at",
]
