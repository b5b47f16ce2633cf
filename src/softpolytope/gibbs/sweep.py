"""One sweep of either scan: the order of the phases, and the small draws between them."""

from functools import reduce
from operator import add
from typing import Any, Literal

import numpy as np
from numpy.random import Generator

from softpolytope._typing import FloatArray
from softpolytope.distributions import _gaussian, log_standard_gamma
from softpolytope.gibbs import _augment
from softpolytope.gibbs.block import LayerSums, Step, SweepName, TopSums
from softpolytope.gibbs.state import GibbsState
from softpolytope.model.prior import Prior
from softpolytope.parallel.homes import Home

Scan = Literal["paper", "collapsed"]


def sweep(state: GibbsState, home: Home, prior: Prior, name: SweepName, scan: Scan) -> TopSums:
    """Draw every parameter once, in place; the blocks hold the activations of `state` before and after.

    Counts and latent rates come first: in the collapsed scan given the parameters alone, in the paper's given last
    sweep's counts. Then coefficients go up the layers, each seeing the new activations below it.
    """
    resample_precisions(state, prior, _generator(name, Step.PRECISIONS))
    sums = _total(home.map(f"begin_{scan}", name, state.log_weights))
    for layer in range(state.n_layers):
        resample_coefficients(state, layer, sums, _generator(name, Step.COEFFICIENTS, layer))
        sums = _total(home.map(f"advance_{scan}", name, layer, state.coefficients[:, layer]))
    top: TopSums = sums
    rng = _generator(name, Step.PROCESS)
    # The mass is drawn with the weights integrated out, so nothing may condition on the old weights
    # after it: concentration, then mass, then weights.
    resample_concentration(state, prior, rng)
    resample_mass(state, prior, top, rng)
    resample_expert_weights(state, top, rng)
    return top


def _generator(name: SweepName, step: Step, layer: int = 0) -> Generator:
    """This thread's generator at a step of the chain itself; blocks count from 0, so it is block 2^64 - 1."""
    return name.streams.generator(
        labelling=name.labelling, chain=name.chain, sweep=name.sweep, step=10 * layer + step, block=2**64 - 1
    )


def _total(sums: list[Any]) -> Any:
    """Add the blocks' sums in block order."""
    return reduce(add, sums)


def resample_precisions(state: GibbsState, prior: Prior, rng: Generator) -> None:
    """Draw alpha | - ~ Gamma(a + 1/2, rate b + beta^2 / 2), then b | - ~ Gamma(1 + a V, rate 1 + sum_v alpha) if learned.

    Equation 43 prints e_0, f_0; the prior of equation 24 is Gamma(a_t, b_t), and that is what conjugacy gives.
    """
    shape = prior.precision_shape + 0.5
    rate = state.precision_rates[..., None] + 0.5 * state.coefficients**2
    state.precisions = rng.standard_gamma(shape, rate.shape) / rate
    if prior.precision_rate == "learned":
        shape = 1.0 + prior.precision_shape * state.precisions.shape[2]
        rate = 1.0 + state.precisions.sum(axis=2)
        state.precision_rates = rng.standard_gamma(shape, rate.shape) / rate


def resample_coefficients(state: GibbsState, layer: int, sums: LayerSums, rng: Generator) -> None:
    """Draw beta of a layer | - ~ N(S^-1 h, S^-1), S = diag(alpha) + sum omega x x'."""
    precision = sums.gram
    n_columns = precision.shape[1]
    diagonal = np.arange(n_columns)
    precision[:, diagonal, diagonal] += state.precisions[:, layer]
    draws = np.empty_like(sums.linear)
    scratch = np.empty(n_columns * (n_columns + 2))
    failed = _gaussian.draw_gaussians(rng.bit_generator, precision, sums.linear, draws, scratch)
    if failed >= 0:
        raise FloatingPointError(
            f"the precision matrix of expert {failed}, layer {layer} has no Cholesky factor: its entries reach "
            f"{np.abs(precision[failed]).max():.3g}. Standardise the columns, or use a tighter coefficient prior."
        )
    state.coefficients[:, layer] = draws


def resample_concentration(state: GibbsState, prior: Prior, rng: Generator) -> None:
    """Draw c_0 | - ~ Gamma(e_0 + gamma_0, rate f_0 + sum_k r_k)."""
    rate = prior.concentration_rate + np.exp(state.log_weights).sum()
    state.concentration = float(rng.standard_gamma(prior.concentration_shape + state.mass) / rate)


def resample_mass(state: GibbsState, prior: Prior, top: TopSums, rng: Generator) -> None:
    """Draw gamma_0 | - ~ Gamma(a_0 + sum_k tables_k, rate b_0 + sum_k log(1 + Q_k / c_0) / K), weights integrated out.

    tables_k ~ CRT(l_k, gamma_0 / K), with l_k the counts of the top level.
    """
    n_experts = state.n_experts
    tables = np.empty((1, n_experts))
    _augment.draw_table_counts(
        rng.bit_generator,
        top.level_counts[-1:],
        np.full((1, n_experts), state.mass / n_experts),
        np.ones(1),
        np.ones(n_experts),
        tables,
    )
    rate = prior.mass_rate + np.log1p(top.activations / state.concentration).sum() / n_experts
    state.mass = float(rng.standard_gamma(prior.mass_shape + tables.sum()) / rate)


def resample_expert_weights(state: GibbsState, top: TopSums, rng: Generator) -> None:
    """Draw r_k | - ~ Gamma(gamma_0 / K + l_k, rate c_0 + Q_k), as logarithms."""
    shape: FloatArray = state.mass / state.n_experts + top.level_counts[-1]
    state.log_weights = log_standard_gamma(shape, rng) - np.log(state.concentration + top.activations)
