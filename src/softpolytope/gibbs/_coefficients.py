"""Coefficients of a layer given Polya-Gamma weights, and the precisions of all coefficients."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

from softpolytope._typing import FloatArray
from softpolytope.data import InMemoryDataset
from softpolytope.distributions._kernels import gaussian as _gaussian
from softpolytope.gibbs._kernels import gram as _gram
from softpolytope.gibbs._state import GibbsState
from softpolytope.model import Prior

Experts = NDArray[np.intc]


@dataclass(frozen=True, slots=True)
class LayerSums:
    """Sums over rows that the coefficients of a layer are drawn from."""

    pairs: FloatArray  # (pairs of columns, experts)  the lower triangle of sum omega x x'
    linear: FloatArray  # (columns, experts)  sum ((m - theta) / 2 - omega log q) x
    column_scale: FloatArray  # (columns,)  what x was divided by

    @classmethod
    def from_rows(cls, rows: InMemoryDataset, pg_weights: FloatArray, slopes: FloatArray) -> "LayerSums":
        """Sum over rows, given their weights and linear terms, (rows, experts)."""
        design = rows.design
        n_columns, n_experts = rows.n_columns, pg_weights.shape[1]
        pairs = np.zeros((n_columns * (n_columns + 1) // 2, n_experts))
        linear = np.zeros((n_columns, n_experts))
        if isinstance(design, sparse.csr_array):
            _gram.add_sparse(design.data, design.indices, design.indptr, n_columns, pg_weights, pairs)
            _gram.add_linear_sparse(design.data, design.indices, design.indptr, slopes, linear)
        else:
            _gram.add_dense(design, pg_weights, pairs)
            _gram.add_linear_dense(design, slopes, linear)
        return cls(pairs, linear, rows.column_scale)

    def __add__(self, other: "LayerSums") -> "LayerSums":
        return LayerSums(self.pairs + other.pairs, self.linear + other.linear, self.column_scale)


def resample_precisions(state: GibbsState, prior: Prior, rng: Generator, least: float = 0.0) -> None:
    """Draw alpha | - ~ Gamma(a + 1/2, rate b + beta^2 / 2); if learned, b | - ~ Gamma(1 + a V, rate 1 + sum_v alpha).

    Equation 43 prints e_0, f_0; the prior of equation 24 is Gamma(a_t, b_t), and that is what conjugacy gives. Draws
    below `least` are raised to it.
    """
    rate = state.precision_rates[..., None] + 0.5 * state.coefficients**2
    state.precisions = np.maximum(rng.standard_gamma(prior.precision_shape + 0.5, rate.shape) / rate, least)
    if prior.precision_rate == "learned":
        rate = 1.0 + state.precisions.sum(axis=2)
        shape = 1.0 + prior.precision_shape * state.precisions.shape[2]
        state.precision_rates = rng.standard_gamma(shape, rate.shape) / rate


def draw_coefficients(state: GibbsState, layer: int, sums: LayerSums, experts: Experts, rng: Generator) -> FloatArray:
    """Draw beta of a layer | - ~ N(S^-1 h, S^-1), S = diag(alpha) + sum omega x x', for some experts."""
    n_columns = len(sums.linear)
    precision = np.empty((len(experts), n_columns, n_columns))
    _gram.unpack(sums.pairs, precision)
    diagonal = np.arange(n_columns)
    # Sums and draws are those of beta times the column scale, whose prior precision is alpha over its square.
    scale = sums.column_scale
    # For columns beyond 1e150 either way the quotient over- or underflows; clip to a flat or a point-mass prior.
    with np.errstate(over="ignore"):
        own = np.clip(state.precisions[experts, layer] / scale / scale, 1e-300, 1e300)
    precision[:, diagonal, diagonal] += own
    draws = np.empty((len(experts), n_columns))
    scratch = np.empty(n_columns * (n_columns + 4))
    failed = _gaussian.draw_gaussians(rng.bit_generator, precision, np.ascontiguousarray(sums.linear.T), draws, scratch)
    if failed >= 0:
        raise FloatingPointError(
            f"The precision matrix of expert {experts[failed]}, layer {layer} has no Cholesky factor: "
            f"its entries reach {np.abs(precision[failed]).max():.3g}. "
            "Standardize the columns, or use a tighter coefficient prior."
        )
    return draws / scale
