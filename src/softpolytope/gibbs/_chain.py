"""One chain: iterate, prune, record; and all it takes to stop it anywhere and go on elsewhere."""

import time
from dataclasses import dataclass, fields

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.data import InMemoryDataset
from softpolytope.distributions import Streams, SweepStreams
from softpolytope.exceptions import BlocksLostError
from softpolytope.gibbs._hamiltonian import StepSize
from softpolytope.gibbs._latent_block import LatentBlock
from softpolytope.gibbs._state import GibbsState, initial_state
from softpolytope.gibbs._sweep import Moves, sweep
from softpolytope.gibbs._trace import Draw, Schedule, Trace
from softpolytope.model import Prior
from softpolytope.parallel import Blocks, Checkpoint, StatefulBlocks

# The stream of a starting point, which belongs to no sweep.
_BEFORE_ALL_SWEEPS = 2**48 - 1
# Random starts have coefficients of this size, so that experts begin different but the logits begin small.
_START_SCALE = 0.3


@dataclass(frozen=True, slots=True)
class ChainSettings:
    """The model and how it is sampled."""

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
        start: GibbsState | None = None,
    ) -> None:
        """`blocks` has the `latent_blocks` of the rows, and `column_size` is the largest value of each column.

        `name` is (streams, labeling, chain); `start` any state, by default one from the chain's own stream.
        """
        self._settings = settings
        self._name = name
        self._blocks = blocks
        self.trace = Trace()
        self.step_size = StepSize()
        self.state = start.copy() if start is not None else self._starting_state(column_size)
        self._blocks.broadcast(LatentBlock.prepare, self.state.coefficients)

    @property
    def is_done(self) -> bool:
        """Whether all sweeps have been made."""
        return self.trace.n_sweeps >= self._settings.schedule.n_sweeps

    def advance(self) -> Draw:
        """Make one sweep; if the blocks are lost in it, the chain is where it was before."""
        number, schedule = self.trace.n_sweeps, self._settings.schedule
        before = self.state.copy()
        try:
            counts, acceptance, log_likelihood = self._swept(number)
        except BlocksLostError:
            self.state = before
            raise
        if number < schedule.n_burn_in:
            self.step_size.learn(acceptance)
            if number == schedule.n_burn_in - 1:
                self.step_size.settle()
        draw = Draw(number, log_likelihood, self.state.coefficients.copy(), self.state.log_weights.copy(), counts)
        self.trace.record(draw, self.state.mass, self.state.concentration, acceptance)
        if schedule.is_kept(number):
            self.trace.draws.append(draw)
        if number >= schedule.n_burn_in and (
            self.trace.best is None or log_likelihood > self.trace.best.log_likelihood
        ):
            self.trace.best = draw
        if number + 1 in schedule.prune_at:
            self._prune(counts[-1])
        return draw

    def _swept(self, number: int) -> tuple[FloatArray, float, float]:
        """Draw every parameter once; counts, acceptance and log likelihood."""
        if self.has_counts:
            self._blocks.replicate()
        else:
            self._blocks.mark_replay_point(LatentBlock.prepare, self.state.coefficients)
        name = SweepStreams(*self._name, sweep=number)
        counts, acceptance = sweep(
            self.state, self._blocks, self._settings.prior, name, self._settings.moves, self.step_size
        )
        return counts, acceptance, float(self._blocks.sum(LatentBlock.log_likelihood, self.state.log_weights))

    @property
    def has_counts(self) -> bool:
        """Whether the counts in the blocks are part of the state, besides the parameters."""
        return self._settings.moves.scan == "paper"

    def write(self, file: Checkpoint, fingerprint: str) -> None:
        """Put everything into a checkpoint; counts of blocks that live elsewhere are written from there."""
        n_sweeps, start = self.trace.n_sweeps, time.monotonic()
        if isinstance(self._blocks, StatefulBlocks):
            arrays = self._parameters()
            if self.has_counts:
                self._blocks.save(file.counts_folder(n_sweeps))
                arrays["counts_after"] = np.array(float(n_sweeps))
            file.write(arrays, fingerprint, n_sweeps, start)
            file.forget_counts(but_of=n_sweeps)
        else:
            file.write(self.to_arrays(), fingerprint, n_sweeps, start)

    def read(self, file: Checkpoint, fingerprint: str) -> None:
        """Go on from a checkpoint, if there is one."""
        arrays = file.read(fingerprint)
        if arrays is None:
            return
        self.restore(arrays)
        file.last_sweep = self.trace.n_sweeps
        if "counts_after" in arrays and isinstance(self._blocks, StatefulBlocks):
            self._blocks.load(file.counts_folder(int(arrays["counts_after"])))

    def to_arrays(self) -> dict[str, FloatArray]:
        """Everything the next sweep depends on, and the trace, as named arrays."""
        arrays = self._parameters()
        if self.has_counts:
            for i, counts in enumerate(self._blocks.map(LatentBlock.export_counts)):
                arrays[f"counts.{i}"] = counts
        return arrays

    def _parameters(self) -> dict[str, FloatArray]:
        """Trace, state and step size as named arrays."""
        arrays = {f"trace.{name}": value for name, value in self.trace.to_arrays().items()}
        for part, owner in (("state", self.state), ("step", self.step_size)):
            for item in fields(owner):
                arrays[f"{part}.{item.name}"] = np.asarray(getattr(owner, item.name))
        return arrays

    def restore(self, arrays: dict[str, FloatArray]) -> None:
        """Go back to where `to_arrays` was called."""
        state, counts = _part(arrays, "state"), _part(arrays, "counts")
        n_experts, *others = state["coefficients"].shape
        has_counts = bool(counts) or "counts_after" in arrays
        if n_experts > self._settings.max_experts or tuple(others) != self.state.coefficients.shape[1:]:
            raise ValueError("the chains to go on with are of another number of experts, layers or columns.")
        if has_counts != self.has_counts:
            raise ValueError("the chains to go on with are of another scan.")
        self.trace = Trace.from_arrays(_part(arrays, "trace"))
        self.state = GibbsState(
            state["coefficients"].copy(),
            state["precisions"],
            state["precision_rates"],
            state["log_weights"],
            float(state["mass"]),
            float(state["concentration"]),
        )
        step = _part(arrays, "step")
        self.step_size = StepSize(
            float(step["log_step"]), float(step["log_average"]), float(step["error"]), int(step["n_updates"])
        )
        self._blocks.broadcast(LatentBlock.prepare, self.state.coefficients)
        if counts:
            self._blocks.broadcast(LatentBlock.import_counts, [counts[str(i)] for i in range(len(counts))])

    def close(self) -> None:
        """Give up the blocks; the trace stays."""
        self._blocks.close()

    def _starting_state(self, column_size: FloatArray) -> GibbsState:
        settings = self._settings
        state = initial_state(settings.max_experts, settings.n_layers, len(column_size), settings.prior)
        if settings.moves.scan != "paper":
            streams, labeling, chain = self._name
            rng = streams.generator(labeling=labeling, chain=chain, sweep=_BEFORE_ALL_SWEEPS, step=0, block=0)
            size = np.maximum(1.0, column_size)
            state.coefficients = _START_SCALE * rng.standard_normal(state.coefficients.shape) / size
        return state

    def _prune(self, top_counts: FloatArray) -> None:
        """Delete experts without counts; the number of experts in the prior follows the survivors."""
        is_kept = top_counts > 0.0
        if not is_kept.any() or is_kept.all():
            return
        self.state.keep_experts(is_kept)
        self._blocks.broadcast(LatentBlock.keep_experts, is_kept)
        self._blocks.broadcast(LatentBlock.prepare, self.state.coefficients)


def latent_blocks(data: InMemoryDataset, settings: ChainSettings, first: int = 0) -> list[LatentBlock]:
    """The blocks of a chain; `first` is the number of the first, which names its random streams."""
    if settings.moves.scan == "paper":
        data = data.with_single_positives()
    moves = settings.moves
    return [
        LatentBlock(rows, number, moves.pg_terms, moves.least_activation)
        for number, rows in enumerate(data.split(), first)
    ]


def _part(arrays: dict[str, FloatArray], part: str) -> dict[str, FloatArray]:
    return {key[len(part) + 1 :]: value for key, value in arrays.items() if key.startswith(f"{part}.")}
