"""One block of rows with its latent variables, and the steps of a sweep that touch rows.

Arrays of a block are (rows, experts), with levels or layers before them. A step takes the indices of the experts that
it updates; the others stay as they are.

Activations follow from the coefficients: a block may drop them, and computes them again, to the same bits, when a
method needs them. Everything else is its saved state, from which another block of the same rows can continue.
"""

import math
from typing import Literal

import numpy as np
from scipy import sparse

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.data import InMemoryDataset, RowBlock
from softpolytope.distributions import Step, SweepStreams
from softpolytope.gibbs._coefficients import Experts, LayerSums
from softpolytope.gibbs._kernels import activation as _activation
from softpolytope.gibbs._kernels import allocation as _allocation
from softpolytope.gibbs._kernels import augment as _augment
from softpolytope.gibbs._kernels import gram as _gram
from softpolytope.gibbs._kernels import rates as _rates
from softpolytope.gibbs._workspace import Workspace
from softpolytope.model._kernels.vector_math import vector_exp
from softpolytope.parallel import read_only

Scan = Literal["paper", "collapsed"]

# Arrays of a saved state; all but the shape may be left out.
SAVED_NAMES = ("shape", "positions", "counts", "copies", "offset", "rates", "weights")

_EMPTY = np.zeros((0, 0, 0))
_EXPERT_WEIGHTS = np.zeros((0, 0))  # to the kernels, the level above the last layer
_ZERO = bytes(8)  # a double
_SPACE = Workspace()


class LatentBlock(RowBlock):
    """Rows of a block, and their latent variables during a sweep."""

    def __init__(self, rows: InMemoryDataset, index: int, pg_terms: int = 0, least_activation: float = 0.0) -> None:
        super().__init__(rows)
        self._index = index
        self._pg_terms = pg_terms
        self._log_least_activation = math.log(least_activation) if least_activation > 0.0 else -math.inf
        self._copies = rows.row_weights.copy()
        self.coefficients = np.zeros((0, 0, rows.n_columns))  # (experts, layers, columns)
        self.counts = _read_only_zeros((0, rows.n_rows, 0))  # (levels, rows, experts)
        self._latent_rates = _EMPTY  # (levels, rows, experts)
        self._is_within_sweep = False  # whether a later step of the sweep needs the latent rates
        self._has_activations = False

    # Coefficients and activations.

    def prepare(self, coefficients: FloatArray) -> None:
        """Set the coefficients (experts, layers, columns) of all experts."""
        n_experts, n_layers, _ = coefficients.shape
        if self.counts.shape != (n_layers + 1, self._rows.n_rows, n_experts):
            self.counts = _read_only_zeros((n_layers + 1, self._rows.n_rows, n_experts))
        self._is_within_sweep = False
        self.drop_activations()
        self.coefficients = coefficients.copy()

    def drop_activations(self) -> None:
        """Free the arrays that follow from the coefficients."""
        self._has_activations = False
        self._log_activations = self._linear_predictor = self._activations = _EMPTY
        if not self._is_within_sweep:
            self._latent_rates = _EMPTY

    def _ensure_activations(self) -> None:
        """Compute all activations, unless they are there."""
        if self._has_activations:
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
        self._has_activations = True

    def _advance(self, experts: Experts, layer: int, coefficients: FloatArray) -> None:
        """Compute the linear predictor of a layer, and log q and q of the level above it, for some experts."""
        scaled = coefficients * self._rows.column_scale if self._is_scaled else coefficients
        columns = np.ascontiguousarray(scaled.T)
        # Each expert's predictor is summed on its own, so its bits do not depend on which others are computed with it.
        predictor = _SPACE.empty("predictor", (self._rows.n_rows, len(coefficients)))
        design = self._rows.design
        if isinstance(design, sparse.csr_array):
            _activation.predict_sparse(design.data, design.indices, design.indptr, columns, predictor)
        else:
            _activation.predict_dense(design, columns, predictor)
        _activation.advance(
            predictor,
            experts,
            self._linear_predictor[layer],
            self._log_activations[layer],
            self._log_activations[layer + 1],
            self._activations[layer],
        )

    def update(self, experts: Experts, coefficients: FloatArray) -> None:
        """Set new coefficients (experts, layers, columns) of some experts."""
        self.coefficients[experts] = coefficients
        if self._has_activations:
            for layer in range(coefficients.shape[1]):
                self._advance(experts, layer, coefficients[:, layer])

    def hold(self, held: BoolArray, log_weights: FloatArray) -> None:
        """Fix the rates of the experts that the gradient is not taken for."""
        if not held.any():
            self._offset = np.zeros(self._rows.n_rows)
            return
        self._ensure_activations()
        self._offset = self._activations[-1][:, held] @ np.exp(log_weights[held])

    @read_only
    def activation_sums(self) -> FloatArray:
        """Return Q_k = sum_i copies q_ik."""
        self._ensure_activations()
        sums = np.zeros(len(self.coefficients))
        _gram.add_linear_dense(self._copies[:, None], self._activations[-1], sums[None, :])
        return sums

    @read_only
    def log_likelihood(self, log_weights: FloatArray) -> float:
        """Return the log likelihood of the block's labels."""
        self._ensure_activations()
        return _activation.log_likelihood(
            self._activations[-1], self._log_activations[-1], log_weights, self._labels, self._rows.row_weights
        )

    # Counts.

    def draw_counts(self, name: SweepStreams, log_weights: FloatArray, step: Step = Step.COUNTS) -> FloatArray:
        """Draw the counts of all levels given the parameters alone; return their sums (levels, experts)."""
        self._allow_counts()
        self._allocate(name, step, log_weights, self.counts)
        return self.level_counts()

    def draw_top_counts(self, name: SweepStreams, log_weights: FloatArray) -> FloatArray:
        """Draw the counts of the top level alone, without storing them; return their sums (1, experts)."""
        counts = np.empty((1, self._rows.n_rows, len(log_weights)))
        self._allocate(name, Step.COUNTS, log_weights, counts)
        return np.asarray(counts[0].sum(axis=0))[None, :]

    def _allocate(self, name: SweepStreams, step: Step, log_weights: FloatArray, counts: FloatArray) -> None:
        """Draw the counts of the uppermost levels, as many as `counts` (levels, rows, experts) has."""
        self._ensure_activations()
        n_levels = len(counts)
        _allocation.collapsed(
            name.bits(step, 0, self._index),
            self._labels,
            self._rows.row_weights,
            log_weights,
            self._log_activations[-n_levels:],
            self._activations[-n_levels:],
            counts,
            self._copies,
            self._scratch,
        )

    def _allow_counts(self) -> None:
        """Make the counts writable."""
        if not self.counts.flags.writeable:
            self.counts = np.zeros(self.counts.shape)

    @read_only
    def level_counts(self) -> FloatArray:
        """Return sum_i m_ik at every level, (levels, experts)."""
        return np.asarray(self.counts.sum(axis=1))

    def keep_experts(self, is_kept: BoolArray) -> None:
        """Delete the counts of all other experts; `prepare` must follow."""
        kept = self.counts[:, :, is_kept]
        self.counts = np.ascontiguousarray(kept) if self.counts.flags.writeable else _read_only_zeros(kept.shape)

    @read_only
    def export_counts(self) -> FloatArray:
        """Return a copy of the counts."""
        return self.counts.copy()

    def import_counts(self, counts: list[FloatArray]) -> None:
        """Set the counts of this block, given those of all blocks."""
        if self._index >= len(counts) or counts[self._index].shape != self.counts.shape:
            raise ValueError("The chains to continue have counts of other rows. Continue them with their own rows.")
        self.counts = counts[self._index].copy()

    # Latent rates down the levels, then coefficients up the layers.

    def begin(self, name: SweepStreams, log_weights: FloatArray, experts: Experts, scan: Scan) -> LayerSums:
        """Draw latent rates from the top down, then the counts of the paper's scan; return sums of the first layer."""
        self._ensure_activations()
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
        """Set new coefficients of a layer; return the sums of the next."""
        self._ensure_activations()
        self.coefficients[experts, layer] = coefficients
        self._advance(experts, layer, coefficients)
        return self._layer_sums(name, layer + 1, experts, scan)

    def finish(self, layer: int, coefficients: FloatArray, experts: Experts) -> None:
        """Set new coefficients of the last layer, which ends a sweep of the coefficients."""
        self._ensure_activations()
        self.coefficients[experts, layer] = coefficients
        self._advance(experts, layer, coefficients)
        self._is_within_sweep = False

    def _above(self, layer: int) -> FloatArray:
        """Return the latent rates of the level above a layer."""
        return self._latent_rates[layer + 1] if layer + 1 < len(self._latent_rates) else _EXPERT_WEIGHTS

    def _draw_rates(self, name: SweepStreams, level: int, experts: Experts) -> None:
        """Draw theta of a level; at level 0 its logarithm, which cannot underflow."""
        _rates.draw_rates(
            name.bits(Step.RATES, level, self._index),
            self.counts[level],
            self._above(level),
            self._copies,
            self._weights,
            self._linear_predictor[level],
            self._log_activations[level],
            self._activations[level],
            self._log_least_activation,
            experts,
            self._latent_rates[level],
            level == 0,
        )

    def _layer_sums(self, name: SweepStreams, layer: int, experts: Experts, scan: Scan) -> LayerSums:
        """Draw Polya-Gamma weights of a layer, in the paper's scan after the counts above it; return their sums."""
        above = self._above(layer)
        if scan == "paper":
            self._allow_counts()  # a block rebuilt in the middle of a sweep has read-only zeros
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
        return LayerSums.from_rows(self._rows, pg_weights, slopes)

    # Saved state.

    def saved_state(self) -> dict[str, FloatArray]:
        """Return the arrays that do not follow from the coefficients; of the counts, most of them zero, the others."""
        state = {"shape": np.array(self.counts.shape)}
        if self.counts.flags.writeable:
            positions = np.flatnonzero(self.counts)
            state |= {"positions": positions.astype(np.uint32), "counts": self.counts.reshape(-1)[positions]}
        if not np.array_equal(self._copies, self._rows.row_weights):
            state["copies"] = self._copies
        if self._offset.any():
            state["offset"] = self._offset
        if self._is_within_sweep:
            state |= {"rates": self._latent_rates, "weights": self._weights}
        return state

    def restore(self, coefficients: FloatArray, state: dict[str, FloatArray]) -> None:
        """Continue from a saved state and the coefficients at that time."""
        self._is_within_sweep = "rates" in state
        self.drop_activations()
        self.coefficients = coefficients.copy()
        self.counts = _read_only_zeros(tuple(state["shape"].tolist()))
        if "positions" in state and len(state["positions"]):
            self._allow_counts()
            self.counts.reshape(-1)[state["positions"]] = state["counts"]
        self._copies = state.get("copies", self._rows.row_weights).copy()
        self._offset = state.get("offset", np.zeros(self._rows.n_rows)).copy()
        self._latent_rates = state.get("rates", _EMPTY).copy()
        self._weights = state.get("weights", np.zeros(0)).copy()


def _read_only_zeros(shape: tuple[int, int, int]) -> FloatArray:
    """Return counts of zero that take no memory, for scans that do not store counts."""
    return np.ndarray(shape, np.float64, _ZERO, strides=(0, 0, 0))
