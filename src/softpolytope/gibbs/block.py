"""One block of rows with its latent variables, and the steps of a sweep that touch rows.

All arrays of a block are (rows, experts), with levels or layers before them; steps are kernel calls.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.random import BitGenerator
from scipy import sparse

from softpolytope._typing import FloatArray
from softpolytope.distributions.streams import Streams
from softpolytope.gibbs import _activation, _allocation, _augment, _gram, _rates
from softpolytope.gibbs.data import TrainingData

_NOTHING = np.zeros((0, 0))


class Step(IntEnum):
    """Names of the random steps of a sweep; per-layer steps add the layer times ten."""

    PRECISIONS = 1
    COUNTS = 2
    RATES = 3
    TABLES = 4
    PG_WEIGHTS = 5
    COEFFICIENTS = 6
    PROCESS = 7
    REFRESH = 8
    MOVE = 9


@dataclass(frozen=True, slots=True)
class SweepName:
    """Which sweep of which chain: names the random streams."""

    streams: Streams
    labelling: int
    chain: int
    sweep: int

    def bits(self, step: Step, layer: int = 0, block: int = 0) -> BitGenerator:
        """The random bits of a step, until this thread opens the next stream."""
        return self.streams.generator(
            labelling=self.labelling, chain=self.chain, sweep=self.sweep, step=10 * layer + step, block=block
        ).bit_generator


@dataclass(frozen=True, slots=True)
class LayerSums:
    """What the coefficients of a layer need from the rows."""

    gram: FloatArray  # (experts, columns, columns)  sum omega x x'
    linear: FloatArray  # (experts, columns)

    def __add__(self, other: "LayerSums") -> "LayerSums":
        return LayerSums(self.gram + other.gram, self.linear + other.linear)


@dataclass(frozen=True, slots=True)
class TopSums:
    """What the weights of the experts need from the rows."""

    level_counts: FloatArray  # (levels, experts)  sum_i m
    activations: FloatArray  # (experts,)  Q_k

    def __add__(self, other: "TopSums") -> "TopSums":
        return TopSums(self.level_counts + other.level_counts, self.activations + other.activations)


class LatentBlock:
    """Rows of a block, and their latent variables during a sweep."""

    def __init__(self, rows: TrainingData, index: int, pg_terms: int = 0) -> None:
        self._rows = rows
        self._index = index
        self._pg_terms = pg_terms
        self._labels = rows.labels.astype(np.uint8)
        self.counts = np.zeros((0, rows.n_rows, 0))  # (levels, rows, experts)

    def prepare(self, coefficients: FloatArray) -> None:
        """Make room for the experts given, and compute all activations."""
        n_experts, n_layers, n_columns = coefficients.shape
        n_rows = self._rows.n_rows
        if self.counts.shape != (n_layers + 1, n_rows, n_experts):
            self.counts = np.zeros((n_layers + 1, n_rows, n_experts))
        self._log_activations = np.zeros((n_layers + 1, n_rows, n_experts))
        self._linear_predictor = np.empty((n_layers, n_rows, n_experts))
        self._top_activation = np.empty((n_rows, n_experts))
        self._latent_rates = np.empty((n_layers, n_rows, n_experts))
        self._pg_weights = np.empty((n_rows, n_experts))
        self._slopes = np.empty((n_rows, n_experts))
        self._copies = self._rows.row_weights.copy()
        self._scratch = np.empty(max(_gram.scratch_size(n_columns, n_experts), 2 * n_experts))
        for layer in range(n_layers):
            self._advance(layer, coefficients[:, layer])

    def begin_collapsed(self, name: SweepName, log_weights: FloatArray) -> LayerSums:
        """Counts from the top down, latent rates above the bottom, and the sums of the first layer."""
        self._weights = np.exp(log_weights)
        _allocation.collapsed(
            name.bits(Step.COUNTS, block=self._index),
            self._labels,
            self._rows.row_weights,
            log_weights,
            self._log_activations,
            self._top_activation,
            self.counts,
            self._copies,
            self._scratch,
        )
        self._draw_rates(name, lowest=1)
        return self._layer_sums(name, 0)

    def begin_paper(self, name: SweepName, log_weights: FloatArray) -> LayerSums:
        """Latent rates from the top down given last sweep's counts, new bottom counts, sums of the first layer."""
        self._weights = np.exp(log_weights)
        self._draw_rates(name, lowest=0)
        _allocation.given_rates(
            name.bits(Step.COUNTS, block=self._index),
            self._labels,
            self._latent_rates[0],
            log_weights + self._log_activations[-1],
            self.counts[0],
            self._scratch,
        )
        self._draw_tables(name, 0)
        return self._layer_sums(name, 0)

    def advance_collapsed(self, name: SweepName, layer: int, coefficients: FloatArray) -> LayerSums | TopSums:
        """Take the new coefficients of a layer; return the sums of the next, or of the top."""
        self._advance(layer, coefficients)
        return self._layer_sums(name, layer + 1) if layer + 1 < len(self._linear_predictor) else self._top_sums()

    def advance_paper(self, name: SweepName, layer: int, coefficients: FloatArray) -> LayerSums | TopSums:
        """As `advance_collapsed`, drawing the counts of the next level on the way."""
        self._advance(layer, coefficients)
        if layer + 1 == len(self._linear_predictor):
            return self._top_sums()
        self._draw_tables(name, layer + 1)
        return self._layer_sums(name, layer + 1)

    def log_likelihood(self, log_weights: FloatArray) -> float:
        """Log likelihood of the block's labels."""
        value: float = _activation.log_likelihood(
            self._top_activation, self._log_activations[-1], log_weights, self._labels, self._rows.row_weights
        )
        return value

    def candidate_activations(self, coefficients: FloatArray) -> FloatArray:
        """Q_k of other coefficients (experts, layers, columns); changes nothing."""
        log_activation = np.zeros((self._rows.n_rows, len(coefficients)))
        for layer in range(coefficients.shape[1]):
            _activation.advance(self._predictor(coefficients[:, layer]), log_activation, log_activation)
        _activation.exponentiate(log_activation, log_activation)
        return self._copies @ log_activation

    def _advance(self, layer: int, coefficients: FloatArray) -> None:
        """Linear predictor of a layer and log q of the level above it."""
        self._linear_predictor[layer] = self._predictor(coefficients)
        below, above = self._log_activations[layer], self._log_activations[layer + 1]
        _activation.advance(self._linear_predictor[layer], below, above)
        if layer + 1 == len(self._linear_predictor):
            _activation.exponentiate(above, self._top_activation)

    def _predictor(self, coefficients: FloatArray) -> FloatArray:
        return np.ascontiguousarray(self._rows.design @ coefficients.T)

    def _above(self, layer: int) -> FloatArray:
        """Latent rates of the level above a layer; none stands for the weights of the experts."""
        return self._latent_rates[layer + 1] if layer + 1 < len(self._latent_rates) else _NOTHING

    def _draw_rates(self, name: SweepName, lowest: int) -> None:
        """theta of levels T-1 down to `lowest`; at level 0 its logarithm, which alone cannot underflow."""
        for level in range(len(self._latent_rates) - 1, lowest - 1, -1):
            _rates.draw_rates(
                name.bits(Step.RATES, level, self._index),
                self.counts[level],
                self._above(level),
                self._copies,
                self._weights,
                self._linear_predictor[level],
                self._log_activations[level + 1],
                self._latent_rates[level],
                level == 0,
            )

    def _draw_tables(self, name: SweepName, layer: int) -> None:
        """Counts of the level above a layer."""
        _augment.draw_table_counts(
            name.bits(Step.TABLES, layer, self._index),
            self.counts[layer],
            self._above(layer),
            self._copies,
            self._weights,
            self.counts[layer + 1],
        )

    def _layer_sums(self, name: SweepName, layer: int) -> LayerSums:
        """Polya-Gamma weights of a layer, and the sums its coefficients need."""
        _augment.draw_pg_weights(
            name.bits(Step.PG_WEIGHTS, layer, self._index),
            self.counts[layer],
            self._above(layer),
            self._copies,
            self._weights,
            self._linear_predictor[layer],
            self._log_activations[layer],
            self._pg_weights,
            self._slopes,
            self._pg_terms,
        )
        design = self._rows.design
        n_experts, n_columns = self.counts.shape[2], design.shape[1]
        gram = np.zeros((n_experts, n_columns, n_columns))
        if sparse.issparse(design):
            _gram.add_sparse(design.data, design.indices, design.indptr, self._pg_weights, gram)
        else:
            _gram.add_dense(design, self._pg_weights, gram, self._scratch)
        return LayerSums(gram, np.ascontiguousarray((design.T @ self._slopes).T))

    def _top_sums(self) -> TopSums:
        return TopSums(self.counts.sum(axis=1), self._copies @ self._top_activation)
