"""One block of rows with its latent variables, and the steps of a sweep that touch rows.

Arrays of a block are (rows, experts), with levels or layers before them. A step takes the indices of the experts it is
for; the others keep what they have.

Activations follow from the coefficients: a block at rest has none, and computes them, to the same bits, when asked
for something that needs them. What does not follow from parameters is its remnant, from which another block of the same
rows goes on.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.data import RowBlock, TrainingData
from softpolytope.distributions import Step, SweepStreams
from softpolytope.gibbs._kernels import activation as _activation
from softpolytope.gibbs._kernels import allocation as _allocation
from softpolytope.gibbs._kernels import augment as _augment
from softpolytope.gibbs._kernels import gram as _gram
from softpolytope.gibbs._kernels import rates as _rates
from softpolytope.model import Workspace
from softpolytope.model._kernels.vector_math import vector_exp
from softpolytope.parallel import read_only

Experts = NDArray[np.intc]
Scan = Literal["paper", "collapsed"]

_NOTHING = np.zeros((0, 0))
_NO_ROWS = np.zeros((0, 0, 0))
_ZERO = bytes(8)  # a double
_SPACE = Workspace()

# Arrays of a block that do not follow from parameters, by name; None stands for what a new block has.
SavedBlock = dict[str, FloatArray | None]


@dataclass(frozen=True, slots=True)
class LayerSums:
    """What the coefficients of a layer need from the rows."""

    pairs: FloatArray  # (pairs of columns, experts)  the lower triangle of sum omega x x'
    linear: FloatArray  # (columns, experts)
    column_scale: FloatArray  # (columns,)  what x was divided by

    def __add__(self, other: "LayerSums") -> "LayerSums":
        return LayerSums(self.pairs + other.pairs, self.linear + other.linear, self.column_scale)


class LatentBlock(RowBlock):
    """Rows of a block, and their latent variables during a sweep."""

    def __init__(self, rows: TrainingData, index: int, pg_terms: int = 0, least_activation: float = 0.0) -> None:
        super().__init__(rows)
        self._index = index
        self._pg_terms = pg_terms
        self._least_activation = least_activation
        self._copies = rows.row_weights.copy()
        self.coefficients = np.zeros((0, 0, rows.n_columns))  # (experts, layers, columns)
        self.counts = _no_counts((0, rows.n_rows, 0))  # (levels, rows, experts)
        self._latent_rates = _NO_ROWS  # (levels, rows, experts)
        self._is_within_sweep = False  # whether there is more to be done with the latent rates
        self._is_awake = False  # whether there are activations

    # Parameters in, sums out.

    def prepare(self, coefficients: FloatArray) -> None:
        """Take the experts given."""
        n_experts, n_layers, _ = coefficients.shape
        if self.counts.shape != (n_layers + 1, self._rows.n_rows, n_experts):
            self.counts = _no_counts((n_layers + 1, self._rows.n_rows, n_experts))
        self._is_within_sweep = False
        self.rest()
        self.coefficients = coefficients.copy()

    def update(self, experts: Experts, coefficients: FloatArray) -> None:
        """Take new coefficients (experts, layers, columns) of some experts."""
        self.coefficients[experts] = coefficients
        if self._is_awake:
            for layer in range(coefficients.shape[1]):
                self._advance(experts, layer, coefficients[:, layer])

    @read_only
    def activation_sums(self) -> FloatArray:
        """Q_k = sum_i copies q_ik."""
        self._wake()
        sums = np.zeros(len(self.coefficients))
        _gram.add_linear_dense(self._copies[:, None], self._activations[-1], sums[None, :])
        return sums

    @read_only
    def level_counts(self) -> FloatArray:
        """sum_i m_ik at every level, (levels, experts)."""
        sums: FloatArray = self.counts.sum(axis=1)
        return sums

    @read_only
    def log_likelihood(self, log_weights: FloatArray) -> float:
        """Log likelihood of the block's labels."""
        self._wake()
        value: float = _activation.log_likelihood(
            self._activations[-1], self._log_activations[-1], log_weights, self._labels, self._rows.row_weights
        )
        return value

    # Counts and rates: how a sweep begins.

    def draw_counts(self, name: SweepStreams, log_weights: FloatArray, step: Step = Step.COUNTS) -> FloatArray:
        """Draw the counts of all levels given the parameters alone; return their sums (levels, experts)."""
        self._wake()
        self._allow_counts()
        _allocation.collapsed(
            name.bits(step, 0, self._index),
            self._labels,
            self._rows.row_weights,
            log_weights,
            self._log_activations,
            self._activations,
            self.counts,
            self._copies,
            self._scratch,
        )
        return self.level_counts()

    def draw_top_counts(self, name: SweepStreams, log_weights: FloatArray) -> FloatArray:
        """Draw the counts of the top level only, which nothing else needs; return their sums (experts,)."""
        self._wake()
        counts = np.empty((1, self._rows.n_rows, len(log_weights)))
        _allocation.collapsed(
            name.bits(Step.COUNTS, 0, self._index),
            self._labels,
            self._rows.row_weights,
            log_weights,
            self._log_activations[-1:],
            self._activations[-1:],
            counts,
            self._copies,
            self._scratch,
        )
        sums: FloatArray = counts[0].sum(axis=0)
        return sums

    def begin(self, name: SweepStreams, log_weights: FloatArray, experts: Experts, scan: Scan) -> LayerSums:
        """Draw latent rates from the top down, in the paper's scan new bottom counts too; sums of the first layer."""
        self._wake()
        self._allow_counts()
        self._weights = vector_exp(log_weights)
        self._is_within_sweep = True
        if not self._latent_rates.size:
            self._latent_rates = np.empty(self._linear_predictor.shape)
        is_paper = scan == "paper"
        # The bottom rates are integrated out in the collapsed scan.
        for level in range(len(self._latent_rates) - 1, -1 if is_paper else 0, -1):
            self._draw_rates(name, level, experts)
        if is_paper:
            _allocation.given_rates(
                name.bits(Step.COUNTS, 0, self._index),
                self._labels,
                self._latent_rates[0],
                log_weights + self._log_activations[-1],
                self.counts[0],
                self._scratch,
            )
        return self._layer_sums(name, 0, experts, scan)

    def advance(
        self, name: SweepStreams, layer: int, coefficients: FloatArray, experts: Experts, scan: Scan
    ) -> LayerSums:
        """Take the new coefficients of a layer; return the sums of the next."""
        self._wake()
        self.coefficients[experts, layer] = coefficients
        self._advance(experts, layer, coefficients)
        return self._layer_sums(name, layer + 1, experts, scan)

    def finish(self, layer: int, coefficients: FloatArray, experts: Experts) -> None:
        """Take the new coefficients of the last layer, with which a sweep of the coefficients ends."""
        self._wake()
        self.coefficients[experts, layer] = coefficients
        self._advance(experts, layer, coefficients)
        self._is_within_sweep = False

    # Deletion and checkpoints.

    def keep_experts(self, is_kept: BoolArray) -> None:
        """Forget the counts of all other experts; `prepare` must follow."""
        kept = self.counts[:, :, is_kept]
        self.counts = np.ascontiguousarray(kept) if self.counts.flags.writeable else _no_counts(kept.shape)

    @read_only
    def export_counts(self) -> FloatArray:
        """A copy of the counts."""
        return self.counts.copy()

    def import_counts(self, counts: list[FloatArray]) -> None:
        """Take back the counts of this block, out of those of all."""
        if self._index >= len(counts) or counts[self._index].shape != self.counts.shape:
            raise ValueError("the chains to go on with have counts of other rows.")
        self.counts = counts[self._index].copy()

    # Rest, and what is left of a block.

    def rest(self) -> None:
        """Forget all that follows from the coefficients."""
        self._is_awake = False
        self._log_activations = self._linear_predictor = self._activations = _NO_ROWS
        if not self._is_within_sweep:
            self._latent_rates = _NO_ROWS

    def remnant(self) -> SavedBlock:
        """What does not follow from parameters; of counts, most of which are zero, the others and their places."""
        has_counts = self.counts.flags.writeable
        places = np.flatnonzero(self.counts) if has_counts else np.zeros(0, dtype=np.intp)
        return {
            "shape": np.array(self.counts.shape),
            "places": places.astype(np.uint32),
            "counts": self.counts.reshape(-1)[places] if has_counts else np.zeros(0),
            "copies": None if np.array_equal(self._copies, self._rows.row_weights) else self._copies,
            "offset": self._offset if self._offset.any() else None,
            "rates": self._latent_rates if self._is_within_sweep else None,
            "weights": self._weights if self._is_within_sweep else None,
        }

    def restore(self, coefficients: FloatArray, remnant: SavedBlock) -> None:
        """Go on from a remnant and the coefficients there were."""
        self._is_within_sweep = remnant["rates"] is not None
        self.rest()
        self.coefficients = coefficients.copy()
        shape, places, counts = (np.asarray(remnant[name]) for name in ("shape", "places", "counts"))
        self.counts = _no_counts(tuple(shape.tolist()))
        if len(places):
            self._allow_counts()
            self.counts.reshape(-1)[places] = counts
        n_rows = self._rows.n_rows
        for name, default in (
            ("copies", self._rows.row_weights),
            ("offset", np.zeros(n_rows)),
            ("rates", _NO_ROWS),
            ("weights", np.zeros(0)),
        ):
            given = remnant[name]
            setattr(self, _PLACES[name], (default if given is None else given).copy())

    # For the collapsed likelihood as a function of some experts.

    def hold(self, held: BoolArray, log_weights: FloatArray) -> None:
        """Fix the rates of the experts that a gradient is not for."""
        if not held.any():
            self._offset = np.zeros(self._rows.n_rows)
            return
        self._wake()
        self._offset = self._activations[-1][:, held] @ np.exp(log_weights[held])

    def _wake(self) -> None:
        """Compute all activations, unless they are there."""
        if self._is_awake:
            return
        n_experts, n_layers, _ = self.coefficients.shape
        n_rows = self._rows.n_rows
        self._log_activations = np.zeros((n_layers + 1, n_rows, n_experts))
        self._linear_predictor = np.empty((n_layers, n_rows, n_experts))
        self._activations = np.empty((n_layers, n_rows, n_experts))  # of the levels above the layers
        self._scratch = np.empty(3 * n_experts)
        every = np.arange(n_experts, dtype=np.intc)
        for layer in range(n_layers):
            self._advance(every, layer, self.coefficients[:, layer])
        self._is_awake = True

    def _allow_counts(self) -> None:
        """Let counts be written."""
        if not self.counts.flags.writeable:
            self.counts = np.zeros(self.counts.shape)

    def _advance(self, experts: Experts, layer: int, coefficients: FloatArray) -> None:
        """Linear predictor of a layer, and log q and q of the level above it, for some experts."""
        _activation.advance(
            self._predictor(coefficients),
            experts,
            self._linear_predictor[layer],
            self._log_activations[layer],
            self._log_activations[layer + 1],
            self._activations[layer],
        )

    def _predictor(self, coefficients: FloatArray) -> FloatArray:
        """x'beta as (rows, experts), with the same bits in whatever company an expert is; valid until the next call."""
        scaled = coefficients * self._rows.column_scale if self._is_scaled else coefficients
        columns = np.ascontiguousarray(scaled.T)
        out = _SPACE.empty("predictor", (self._rows.n_rows, len(coefficients)))
        design: Any = self._rows.design
        if self._is_sparse:
            _activation.predict_sparse(design.data, design.indices, design.indptr, columns, out)
        else:
            _activation.predict_dense(design, columns, out)
        return out

    def _above(self, layer: int) -> FloatArray:
        """Latent rates of the level above a layer; none stands for the weights of the experts."""
        return self._latent_rates[layer + 1] if layer + 1 < len(self._latent_rates) else _NOTHING

    def _draw_rates(self, name: SweepStreams, level: int, experts: Experts) -> None:
        """theta of a level; at level 0 its logarithm, which alone cannot underflow."""
        _rates.draw_rates(
            name.bits(Step.RATES, level, self._index),
            self.counts[level],
            self._above(level),
            self._copies,
            self._weights,
            self._linear_predictor[level],
            self._log_activations[level],
            self._activations[level],
            math.log(self._least_activation) if self._least_activation > 0.0 else -math.inf,
            experts,
            self._latent_rates[level],
            level == 0,
        )

    def _layer_sums(self, name: SweepStreams, layer: int, experts: Experts, scan: Scan) -> LayerSums:
        """Polya-Gamma weights of a layer and the sums its coefficients need; in the paper's scan, counts above it."""
        above = self._above(layer)
        if scan == "paper":
            self._allow_counts()  # a block built anew in the middle of a sweep may have had none but zeros
            _augment.draw_table_counts(
                name.bits(Step.TABLES, layer, self._index),
                self.counts[layer],
                above,
                self._copies,
                self._weights,
                self.counts[layer + 1],
            )
        pg_weights = _SPACE.empty("pg_weights", (self._rows.n_rows, len(experts)))
        slopes = _SPACE.empty("slopes", (self._rows.n_rows, len(experts)))
        _augment.draw_pg_weights(
            name.bits(Step.PG_WEIGHTS, layer, self._index),
            self.counts[layer],
            above,
            self._copies,
            self._weights,
            self._linear_predictor[layer],
            self._log_activations[layer],
            experts,
            pg_weights,
            slopes,
            self._pg_terms,
        )
        design: Any = self._rows.design
        n_columns = self._rows.n_columns
        pairs = np.zeros((n_columns * (n_columns + 1) // 2, len(experts)))
        linear = np.zeros((n_columns, len(experts)))
        if self._is_sparse:
            entries = (design.data, design.indices, design.indptr)
            _gram.add_sparse(*entries, n_columns, pg_weights, pairs)
            _gram.add_linear_sparse(*entries, slopes, linear)
        else:
            _gram.add_dense(design, pg_weights, pairs)
            _gram.add_linear_dense(design, slopes, linear)
        return LayerSums(pairs, linear, self._rows.column_scale)


def _no_counts(shape: tuple[int, int, int]) -> FloatArray:
    """Counts of zero that take no memory, and cannot be written: a scan without latent counts needs no more."""
    return np.ndarray(shape, np.float64, _ZERO, strides=(0, 0, 0))


# Where the parts of a remnant belong.
_PLACES = {"copies": "_copies", "offset": "_offset", "rates": "_latent_rates", "weights": "_weights"}
