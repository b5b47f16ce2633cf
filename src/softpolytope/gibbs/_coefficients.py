"""Coefficients and their precisions: the Polya-Gamma draw of a layer, and fresh ones for empty experts."""

import numpy as np
from numpy.random import Generator

from softpolytope._typing import FloatArray
from softpolytope.distributions._kernels import gaussian as _gaussian
from softpolytope.gibbs._gamma_process import draw_log_weights
from softpolytope.gibbs._kernels import gram as _gram
from softpolytope.gibbs._latent_block import Experts, LatentBlock, LayerSums
from softpolytope.gibbs._state import GibbsState, draw_prior_coefficients
from softpolytope.model import Prior
from softpolytope.model._kernels.vector_math import vector_log1p
from softpolytope.parallel import Blocks

# Candidates cost a pass over the rows each, and one or two that fit are enough; which are tried is left to chance.
MAX_REFRESHED = 4


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
    """beta of a layer | - ~ N(S^-1 h, S^-1), S = diag(alpha) + sum omega x x', for some experts."""
    n_columns = len(sums.linear)
    precision = np.empty((len(experts), n_columns, n_columns))
    _gram.unpack(sums.pairs, precision)
    diagonal = np.arange(n_columns)
    # Sums and draws are those of beta times the column scale, whose prior precision is alpha over its square.
    scale = sums.column_scale
    # Of columns beyond 1e150 either way this is no number; as near to none, or as near to certainty, as doubles go.
    with np.errstate(over="ignore"):
        own = np.clip(state.precisions[experts, layer] / scale / scale, 1e-300, 1e300)
    precision[:, diagonal, diagonal] += own
    draws = np.empty((len(experts), n_columns))
    scratch = np.empty(n_columns * (n_columns + 4))
    failed = _gaussian.draw_gaussians(rng.bit_generator, precision, np.ascontiguousarray(sums.linear.T), draws, scratch)
    if failed >= 0:
        raise FloatingPointError(
            f"the precision matrix of expert {experts[failed]}, layer {layer} has no Cholesky factor: "
            f"its entries reach {np.abs(precision[failed]).max():.3g}. "
            "Standardize the columns, or use a tighter coefficient prior."
        )
    return draws / scale


def refresh_empty_experts(
    state: GibbsState, blocks: Blocks[LatentBlock], prior: Prior, top_counts: FloatArray, rng: Generator
) -> FloatArray | None:
    """Redraw (beta, alpha, b) and r_k of a few experts without counts.

    With r_k integrated out, their conditional is the prior times (c_0 / (c_0 + Q_k))^(gamma_0 / K): one draw from the
    prior is accepted with that probability, and else all stays. Their weights follow, before anything conditions
    on them: r_k ~ Gamma(gamma_0 / K, rate c_0 + Q_k). Returns Q of all experts, if there was an empty one.
    """
    empty = np.flatnonzero(top_counts == 0.0).astype(np.intc)
    if len(empty) == 0:
        return None
    if len(empty) > MAX_REFRESHED:
        empty = rng.permutation(empty)[:MAX_REFRESHED]
    _, n_layers, n_columns = state.coefficients.shape
    coefficients, precisions, rates = draw_prior_coefficients(len(empty), n_layers, n_columns, prior, rng)
    # Nearly all are accepted: the blocks take the candidates, and take back the few that are not.
    blocks.broadcast(LatentBlock.update, empty, coefficients)
    activations = blocks.sum(LatentBlock.activation_sums)
    log_acceptance = -state.mass / state.n_experts * vector_log1p(activations[empty] / state.concentration)
    is_accepted = -rng.standard_exponential(len(empty)) < log_acceptance
    chosen = empty[is_accepted]
    state.coefficients[chosen] = coefficients[is_accepted]
    state.precisions[chosen] = precisions[is_accepted]
    state.precision_rates[chosen] = rates[is_accepted]
    if not is_accepted.all():
        rejected = empty[~is_accepted]
        blocks.broadcast(LatentBlock.update, rejected, state.coefficients[rejected])
        activations = blocks.sum(LatentBlock.activation_sums)
    shape = np.full(len(empty), state.mass / state.n_experts)
    state.log_weights[empty] = draw_log_weights(shape, state.concentration + activations[empty], rng)
    return activations
