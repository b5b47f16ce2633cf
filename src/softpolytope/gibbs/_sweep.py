"""One sweep: every parameter is drawn once, by either scan."""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.random import Generator

from softpolytope._typing import FloatArray
from softpolytope.distributions import Step, SweepStreams
from softpolytope.gibbs._coefficients import Experts, draw_coefficients, resample_precisions
from softpolytope.gibbs._gamma_process import TopSums, draw_log_weights, resample_process
from softpolytope.gibbs._hamiltonian import Move, Trajectory, Tuning, move_by_hamiltonian
from softpolytope.gibbs._latent_block import LatentBlock, Scan
from softpolytope.gibbs._state import GibbsState, draw_prior_coefficients
from softpolytope.model import Prior
from softpolytope.model._kernels.vector_math import vector_log1p
from softpolytope.parallel import Blocks

# Each candidate costs a pass over the rows, and one or two that are accepted are enough; which are tried is random.
MAX_REFRESHED = 4


@dataclass(frozen=True, slots=True)
class Moves:
    """Exact moves that make up a sweep."""

    scan: Scan = "collapsed"
    polya_gamma: bool = False  # coefficients through counts and Polya-Gamma weights; the paper's scan always does
    hamiltonian_steps: int = 20  # mean leapfrog steps of the collapsed move; 0 for none
    refresh: bool = True  # redraw empty experts from the prior; not in the paper's scan
    pg_terms: int = 0  # terms of the paper's truncated Polya-Gamma sum; 0 draws exactly
    # Two safeguards of the paper's section on numerical stability; they change the law sampled (paper.paper_settings).
    least_precision: float = 0.0
    least_activation: float = 0.0
    fit_weights: bool = True  # False holds the weights where they start: with K = T = r = 1, logistic regression

    @classmethod
    def of(cls, scan: Literal["auto", "paper", "collapsed"]) -> Self:
        """Return the moves of a scan; "auto" is the collapsed one, which mixes best (docs/sampler.md)."""
        if scan == "paper":
            return cls("paper", hamiltonian_steps=0, refresh=False)
        if scan in ("auto", "collapsed"):
            return cls()
        raise ValueError(f'scan must be "auto", "paper" or "collapsed"; got {scan!r}.')


def sweep(
    state: GibbsState, blocks: Blocks[LatentBlock], prior: Prior, name: SweepStreams, moves: Moves, tuning: Tuning
) -> tuple[FloatArray, Move]:
    """Draw every parameter once, in place; the blocks hold the activations of `state` before and after.

    Returns the counts (levels, experts), of the top level only where no others were drawn, and the outcome of the
    Hamiltonian move.
    """
    move, activations = Move(1.0), None
    if moves.hamiltonian_steps:
        rng = name.generator(Step.HAMILTONIAN)
        trajectory = Trajectory(tuning, moves.hamiltonian_steps, moves.fit_weights)
        move = move_by_hamiltonian(state, blocks, prior, trajectory, rng)
    # The paper's sweep ends with the precisions: its first one uses those of the start. A Hamiltonian move, which
    # integrates them out, needs them drawn before anything conditions on them.
    precisions_come_last = moves.scan == "paper" and not moves.hamiltonian_steps
    if not precisions_come_last:
        resample_precisions(state, prior, name.generator(Step.PRECISIONS), moves.least_precision)
    if moves.scan == "paper":
        if moves.hamiltonian_steps:
            # The move integrated the counts out; they must be drawn again before latent rates condition on them.
            blocks.broadcast(LatentBlock.draw_counts, name, state.log_weights, Step.RESTART)
        every = np.arange(state.n_experts, dtype=np.intc)
        sweep_coefficients(state, blocks, name, every, "paper")
        counts = blocks.sum(LatentBlock.level_counts)
    else:
        # Only the coefficients need counts below the top level.
        draw_counts = LatentBlock.draw_counts if moves.polya_gamma else LatentBlock.draw_top_counts
        counts = blocks.sum(draw_counts, name, state.log_weights)
        is_refreshed = moves.refresh and moves.fit_weights
        if moves.polya_gamma:
            # Experts without counts are left to the refresh, which draws from the same conditional.
            drawn = counts[-1] > 0.0 if is_refreshed else np.ones(state.n_experts, dtype=bool)
            sweep_coefficients(state, blocks, name, np.flatnonzero(drawn).astype(np.intc), "collapsed")
        if is_refreshed:
            activations = refresh_empty_experts(state, blocks, prior, counts[-1], name.generator(Step.REFRESH))
    top = TopSums(counts[-1], activations if activations is not None else blocks.sum(LatentBlock.activation_sums))
    if moves.fit_weights:
        resample_process(state, prior, top, name.generator(Step.PROCESS))
    if precisions_come_last:
        resample_precisions(state, prior, name.generator(Step.PRECISIONS), moves.least_precision)
    return counts, move


def sweep_coefficients(
    state: GibbsState, blocks: Blocks[LatentBlock], name: SweepStreams, experts: Experts, scan: Scan
) -> None:
    """Draw latent rates down the levels, then coefficients up the layers, each given the new activations below it."""
    sums = blocks.sum(LatentBlock.begin, name, state.log_weights, experts, scan)
    for layer in range(state.n_layers):
        rng = name.generator(Step.COEFFICIENTS, layer)
        coefficients = draw_coefficients(state, layer, sums, experts, rng)
        state.coefficients[experts, layer] = coefficients
        if layer + 1 < state.n_layers:
            sums = blocks.sum(LatentBlock.advance, name, layer, coefficients, experts, scan)
        else:
            blocks.broadcast(LatentBlock.finish, layer, coefficients, experts)


def refresh_empty_experts(
    state: GibbsState, blocks: Blocks[LatentBlock], prior: Prior, top_counts: FloatArray, rng: Generator
) -> FloatArray | None:
    """Redraw (beta, alpha, b) and r_k of a few experts without counts.

    With r_k integrated out, their conditional is the prior times (c_0 / (c_0 + Q_k))^(gamma_0 / K): one draw from the
    prior is accepted with that probability, otherwise nothing changes. Their weights follow, before anything
    conditions on them: r_k ~ Gamma(gamma_0 / K, rate c_0 + Q_k). Returns Q of all experts, or None if no expert was
    empty.
    """
    empty = np.flatnonzero(top_counts == 0.0).astype(np.intc)
    if len(empty) == 0:
        return None
    if len(empty) > MAX_REFRESHED:
        empty = rng.permutation(empty)[:MAX_REFRESHED]
    _, n_layers, n_columns = state.coefficients.shape
    coefficients, precisions, rates = draw_prior_coefficients(len(empty), n_layers, n_columns, prior, rng)
    # Nearly all are accepted: the blocks take the candidates, and the few rejected ones are undone.
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
