"""Gamma process: concentration c_0, mass gamma_0 and weights r_k of the experts (equations 44 to 46)."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from softpolytope._typing import FloatArray
from softpolytope.distributions._kernels import gamma as _gamma
from softpolytope.gibbs._kernels import augment as _augment
from softpolytope.gibbs._state import GibbsState
from softpolytope.model import Prior
from softpolytope.model._kernels.vector_math import vector_exp, vector_log, vector_log1p


@dataclass(frozen=True, slots=True)
class TopSums:
    """Sums over the rows that the process needs."""

    counts: FloatArray  # (experts,)  l_k, the counts of the top level
    activations: FloatArray  # (experts,)  Q_k, the sum of the top activations q_ik


def resample_process(state: GibbsState, prior: Prior, top: TopSums, rng: Generator) -> None:
    """Draw c_0, gamma_0 and the weights."""
    # The mass is drawn with the weights integrated out, so nothing may condition on the old weights after it:
    # concentration, then mass, then weights.
    resample_concentration(state, prior, rng)
    resample_mass(state, prior, top, rng)
    resample_expert_weights(state, top, rng)


def resample_concentration(state: GibbsState, prior: Prior, rng: Generator) -> None:
    """Draw c_0 | - ~ Gamma(e_0 + gamma_0, rate f_0 + sum_k r_k), equation 44."""
    rate = prior.concentration_rate + vector_exp(state.log_weights).sum()
    state.concentration = float(rng.standard_gamma(prior.concentration_shape + state.mass) / rate)


def resample_mass(state: GibbsState, prior: Prior, top: TopSums, rng: Generator) -> None:
    """Draw gamma_0 | - ~ Gamma(a_0 + sum_k tables_k, rate b_0 + sum_k log(1 + Q_k / c_0) / K), weights integrated out.

    The number of tables is CRT(l_k, gamma_0 / K), equation 45, with l_k the counts of the top level.
    """
    n_experts = state.n_experts
    tables = np.empty((1, n_experts))
    _augment.draw_table_counts(
        rng.bit_generator,
        top.counts[None, :],
        np.full((1, n_experts), state.mass / n_experts),
        np.ones(1),
        np.ones(n_experts),
        tables,
    )
    rate = prior.mass_rate + vector_log1p(top.activations / state.concentration).sum() / n_experts
    state.mass = float(rng.standard_gamma(prior.mass_shape + tables.sum()) / rate)


def resample_expert_weights(state: GibbsState, top: TopSums, rng: Generator) -> None:
    """Draw r_k | - ~ Gamma(gamma_0 / K + l_k, rate c_0 + Q_k), as logarithms; equation 46."""
    shape = state.mass / state.n_experts + top.counts
    state.log_weights = draw_log_weights(shape, state.concentration + top.activations, rng)


def draw_log_weights(shape: FloatArray, rate: FloatArray, rng: Generator) -> FloatArray:
    """Draw log r for r ~ Gamma(shape, rate)."""
    draws = np.empty(len(shape))
    _gamma.fill(rng.bit_generator, shape, draws)
    return draws - vector_log(rate)
