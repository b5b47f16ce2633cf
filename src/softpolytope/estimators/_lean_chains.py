"""Chains between two fits: nothing is kept that neither the next sweep nor a prediction needs."""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from softpolytope._typing import BoolArray
from softpolytope.gibbs import ChainArrays, Draw, Trace

# An expert without counts and of less weight than this is left out of a draw: lambda misses at most this times its
# activation.
NEGLIGIBLE_WEIGHT = 1e-10


def is_kept(draw: Draw) -> BoolArray:
    """Return whether prediction needs each expert of a draw."""
    return np.asarray((draw.counts[-1] > 0.0) | (np.exp(draw.log_weights) >= NEGLIGIBLE_WEIGHT))


def lean(chain: ChainArrays) -> ChainArrays:
    """Leave out negligible experts of draws that were kept, and write latent counts as those that are not zero.

    The state, from which the next sweep goes on, stays whole.
    """
    found = {name: array for name, array in chain.items() if name.startswith(("state.", "step."))}
    trace = trace_of(chain)
    trace.draws = [_lean_draw(draw) for draw in trace.draws]
    trace.best = None if trace.best is None else _lean_draw(trace.best)
    found.update({f"trace.{name}": array for name, array in trace.to_arrays().items()})
    blocks = [chain[f"counts.{number}"] for number in range(sum(name.startswith("counts.") for name in chain))]
    if blocks:
        counts = np.concatenate(blocks, axis=1).reshape(-1)
        places = np.flatnonzero(counts)
        found["counts.places"], found["counts.values"] = places.astype(np.int64), counts[places]
        found["counts.blocks"] = np.array([0, *np.cumsum([block.shape[1] for block in blocks])], dtype=np.int64)
    return found


def whole(chain: ChainArrays, most_rows: float) -> ChainArrays:
    """Return a lean chain with the counts of each block again; there may be at most so many rows."""
    if "counts.blocks" not in chain:
        return chain
    found = {name: array for name, array in chain.items() if not name.startswith("counts.")}
    starts = chain["counts.blocks"].tolist()
    if starts[-1] > most_rows:
        raise ValueError(
            f"the chains to go on with have counts of {starts[-1]} rows, and there are {most_rows:.0f}; the file they "
            "were read from is damaged. Fit from scratch."
        )
    n_experts, n_layers, _ = chain["state.coefficients"].shape
    counts = np.zeros((n_layers + 1, starts[-1], n_experts))
    counts.reshape(-1)[chain["counts.places"]] = chain["counts.values"]
    for number, (start, stop) in enumerate(pairwise(starts)):
        found[f"counts.{number}"] = counts[:, start:stop].copy()
    return found


def trace_of(chain: ChainArrays) -> Trace:
    """Return the trace of a chain."""
    return Trace.from_arrays({name[len("trace.") :]: chain[name] for name in chain if name.startswith("trace.")})


def _lean_draw(draw: Draw) -> Draw:
    kept = is_kept(draw)
    return replace(
        draw,
        coefficients=draw.coefficients[kept],
        log_weights=draw.log_weights[kept],
        counts=draw.counts[-1:, kept],
    )
