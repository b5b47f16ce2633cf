"""One chain: sweep, record, prune and write the checkpoint; its state as named arrays, kept compact between fits."""

import time
from dataclasses import dataclass, fields, replace
from itertools import pairwise

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.distributions import Streams, SweepStreams
from softpolytope.exceptions import BlocksLostError
from softpolytope.gibbs._hamiltonian import Tuning
from softpolytope.gibbs._latent_block import LatentBlock
from softpolytope.gibbs._state import GibbsState, initial_state
from softpolytope.gibbs._sweep import Moves, sweep
from softpolytope.gibbs._trace import Draw, Schedule, Trace
from softpolytope.model import Prior
from softpolytope.parallel import Blocks, Checkpoint, Progress, StatefulBlocks

# The stream of a starting point, which belongs to no sweep.
_BEFORE_ALL_SWEEPS = 2**48 - 1
# Standard deviation of the linear predictors at a random start, so that experts differ but logits are small.
_START_SCALE = 0.3

ChainArrays = dict[str, FloatArray]


@dataclass(frozen=True, slots=True)
class ChainSettings:
    """Model of a chain, and how it is sampled."""

    max_experts: int
    n_layers: int
    prior: Prior
    moves: Moves
    schedule: Schedule


class Chain:
    """A chain of one labeling."""

    def __init__(
        self,
        blocks: Blocks[LatentBlock],
        column_size: FloatArray,
        settings: ChainSettings,
        name: tuple[Streams, int, int],
        start: GibbsState | ChainArrays | None = None,
    ) -> None:
        """Start a chain, named by (streams, labeling, chain), with blocks of a `LatentBlockFactory`.

        `start` is a state, or the arrays of a chain to continue. By default the paper's scan starts as in the paper,
        and the collapsed scan at coefficients drawn from the chain's own stream, scaled by the largest absolute value
        of each column (`column_size`).
        """
        self.blocks = blocks
        self.name = name
        self._settings = settings
        self.has_counts = settings.moves.scan == "paper"  # whether counts in the blocks are part of the state
        self.file: Checkpoint | None = None
        self._fingerprint = ""
        self.trace = Trace()
        self.tuning = Tuning()
        self.state = initial_state(settings.max_experts, settings.n_layers, len(column_size), settings.prior)
        if isinstance(start, GibbsState):
            self.state = start.copy()
        elif settings.moves.scan != "paper":
            streams, labeling, chain = name
            rng = streams.generator(labeling=labeling, chain=chain, sweep=_BEFORE_ALL_SWEEPS, step=0, block=0)
            normal = rng.standard_normal(self.state.coefficients.shape)
            self.state.coefficients = _START_SCALE * normal / np.maximum(1.0, column_size)
        self.blocks.broadcast(LatentBlock.prepare, self.state.coefficients)
        if isinstance(start, dict):
            self.restore(start)

    @property
    def is_done(self) -> bool:
        """Whether all sweeps have been made."""
        return self.trace.n_sweeps >= self._settings.schedule.n_sweeps

    def advance(self) -> Progress:
        """Run one sweep, record it, and write the checkpoint if it is due.

        If blocks are lost during the sweep, the chain stays as it was before.
        """
        number, settings, before = self.trace.n_sweeps, self._settings, self.state.copy()
        name = SweepStreams(*self.name, sweep=number)
        # Lost blocks are rebuilt as they are at this point.
        if self.has_counts:
            self.blocks.replicate()
        else:
            self.blocks.mark_replay_point(LatentBlock.prepare, self.state.coefficients)
        try:
            counts, move = sweep(self.state, self.blocks, settings.prior, name, settings.moves, self.tuning)
            log_likelihood = float(self.blocks.sum(LatentBlock.log_likelihood, self.state.log_weights))
        except BlocksLostError:
            self.state = before
            raise
        if number < settings.schedule.n_burn_in:
            self.tuning.learn(move, is_last=number + 1 == settings.schedule.n_burn_in)
        draw = Draw(number, log_likelihood, self.state.coefficients.copy(), self.state.log_weights.copy(), counts)
        self.trace.record(draw, self.state.mass, self.state.concentration, move.acceptance, settings.schedule)
        if number + 1 in settings.schedule.prune_at:
            self._prune(counts[-1])
        if self.file is not None and self.file.is_due(number + 1):
            self.write()
        n_sweeps = settings.schedule.n_sweeps
        return Progress(*self.name[1:], number + 1, n_sweeps, "sweeps", log_likelihood, draw.n_active)

    def _prune(self, top_counts: FloatArray) -> None:
        """Delete experts without counts; the number of experts in the prior becomes that of the others."""
        is_kept = top_counts > 0.0
        if is_kept.any() and not is_kept.all():
            self.state.keep_experts(is_kept)
            self.blocks.broadcast(LatentBlock.keep_experts, is_kept)
            self.blocks.broadcast(LatentBlock.prepare, self.state.coefficients)

    def resume(self, file: Checkpoint, fingerprint: str) -> None:
        """Write to a checkpoint from now on, and continue from it if it exists."""
        self.file, self._fingerprint = file, fingerprint
        arrays = file.read(fingerprint)
        if arrays is None:
            return
        self.restore(arrays)
        file.last_sweep = self.trace.n_sweeps
        if "counts_after" in arrays and isinstance(self.blocks, StatefulBlocks):
            self.blocks.load(file.counts_folder(int(arrays["counts_after"])))

    def write(self) -> None:
        """Write the checkpoint, unless the chain has none or has not moved since the last time."""
        file, n_sweeps, start = self.file, self.trace.n_sweeps, time.monotonic()
        if file is None or n_sweeps <= file.last_sweep:
            return
        if not isinstance(self.blocks, StatefulBlocks):
            file.write(self.to_arrays(), self._fingerprint, n_sweeps, start)
            return
        # Counts of partitions are written where they are; the file names them once they are complete.
        arrays = self._parameters()
        if self.has_counts:
            self.blocks.save(file.counts_folder(n_sweeps))
            arrays["counts_after"] = np.array(float(n_sweeps))
        file.write(arrays, self._fingerprint, n_sweeps, start)
        file.remove_other_counts(sweep=n_sweeps)

    def to_arrays(self) -> ChainArrays:
        """Return the trace and everything the next sweep depends on, as named arrays."""
        arrays = self._parameters()
        if self.has_counts:
            for i, counts in enumerate(self.blocks.map(LatentBlock.export_counts)):
                arrays[f"counts.{i}"] = counts
        return arrays

    def _parameters(self) -> ChainArrays:
        """Return trace, state and tuning as named arrays."""
        arrays = {f"trace.{name}": value for name, value in self.trace.to_arrays().items()}
        for part, owner in (("state", self.state), ("step", self.tuning)):
            for item in fields(owner):
                arrays[f"{part}.{item.name}"] = np.asarray(getattr(owner, item.name))
        return arrays

    def restore(self, arrays: ChainArrays) -> None:
        """Return to the point where `to_arrays` was called."""
        state, step, counts = (_select(arrays, part) for part in ("state", "step", "counts"))
        n_experts, *others = state["coefficients"].shape
        if n_experts > self._settings.max_experts or tuple(others) != self.state.coefficients.shape[1:]:
            raise ValueError(
                f"The chains to continue have coefficients of shape {state['coefficients'].shape} (experts, layers, "
                f"columns), and those of this model are {self.state.coefficients.shape}. Continue them with their "
                "own model."
            )
        if (bool(counts) or "counts_after" in arrays) != self.has_counts:
            raise ValueError("The chains to continue were sampled by the other scan. Continue them with their own.")
        self.trace = Trace.from_arrays(_select(arrays, "trace"))
        self.state = GibbsState(
            state["coefficients"].copy(),
            state["precisions"],
            state["precision_rates"],
            state["log_weights"],
            float(state["mass"]),
            float(state["concentration"]),
        )
        self.tuning = Tuning(
            float(step["log_step"]),
            float(step["log_average"]),
            float(step["error"]),
            int(step["n_updates"]),
            step["squares"],
            int(step["n_squares"]),
        )
        self.blocks.broadcast(LatentBlock.prepare, self.state.coefficients)
        if counts:
            self.blocks.broadcast(LatentBlock.import_counts, [counts[str(i)] for i in range(len(counts))])


def _select(arrays: ChainArrays, part: str) -> ChainArrays:
    """Return the arrays of a part under their own names."""
    return {key[len(part) + 1 :]: value for key, value in arrays.items() if key.startswith(f"{part}.")}


def compact_chain(chain: ChainArrays) -> ChainArrays:
    """Return a chain without the negligible experts of its draws, and with only the latent counts that are not zero.

    The state, from which the next sweep starts, is kept as it is.
    """
    found = {name: array for name, array in chain.items() if name.startswith(("state.", "step."))}
    trace = get_trace(chain)
    trace.draws = [_compact_draw(draw) for draw in trace.draws]
    trace.best = None if trace.best is None else _compact_draw(trace.best)
    found.update({f"trace.{name}": array for name, array in trace.to_arrays().items()})
    blocks = [chain[f"counts.{number}"] for number in range(sum(name.startswith("counts.") for name in chain))]
    if blocks:
        counts = np.concatenate(blocks, axis=1).reshape(-1)
        places = np.flatnonzero(counts)
        found["counts.places"], found["counts.values"] = places.astype(np.int64), counts[places]
        found["counts.blocks"] = np.array([0, *np.cumsum([block.shape[1] for block in blocks])], dtype=np.int64)
    return found


def expand_chain(chain: ChainArrays, max_rows: float) -> ChainArrays:
    """Return a compact chain with the counts of each block again; raise if they are of more than `max_rows` rows."""
    if "counts.blocks" not in chain:
        return chain
    found = {name: array for name, array in chain.items() if not name.startswith("counts.")}
    starts = chain["counts.blocks"].tolist()
    if starts[-1] > max_rows:
        raise ValueError(
            f"The chains to continue have counts of {starts[-1]} rows, but there are {max_rows:.0f} rows. The file "
            "they were read from is damaged. Fit from scratch."
        )
    n_experts, n_layers, _ = chain["state.coefficients"].shape
    counts = np.zeros((n_layers + 1, starts[-1], n_experts))
    counts.reshape(-1)[chain["counts.places"]] = chain["counts.values"]
    for number, (start, stop) in enumerate(pairwise(starts)):
        found[f"counts.{number}"] = counts[:, start:stop].copy()
    return found


def get_trace(chain: ChainArrays) -> Trace:
    """Return the trace of a chain."""
    return Trace.from_arrays({name[len("trace.") :]: chain[name] for name in chain if name.startswith("trace.")})


def _compact_draw(draw: Draw) -> Draw:
    kept = draw.is_needed
    return replace(
        draw,
        coefficients=draw.coefficients[kept],
        log_weights=draw.log_weights[kept],
        counts=draw.counts[-1:, kept],
    )
