"""The order of the phases of a sweep, in either scan."""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.distributions import Step, SweepStreams
from softpolytope.gibbs._coefficients import draw_coefficients, refresh_empty_experts, resample_precisions
from softpolytope.gibbs._gamma_process import TopSums, resample_process
from softpolytope.gibbs._hamiltonian import StepSize, Trajectory, move_by_hamiltonian
from softpolytope.gibbs._latent_block import Experts, LatentBlock, Scan
from softpolytope.gibbs._state import GibbsState
from softpolytope.model import Prior
from softpolytope.parallel import Blocks


@dataclass(frozen=True, slots=True)
class Moves:
    """Which exact moves a sweep is made of."""

    scan: Scan = "collapsed"
    polya_gamma: bool = False  # coefficients through counts and Polya-Gamma weights; the paper's scan always does
    hamiltonian_steps: int = 10  # mean leapfrog steps of the collapsed move; 0 for none
    refresh: bool = True  # redraw empty experts from the prior; not in the paper's scan
    pg_terms: int = 0  # terms of the paper's truncated Polya-Gamma sum; 0 draws exactly
    # Two safeguards of the paper's section on numerical stability; they change the law sampled (paper.paper_settings).
    least_precision: float = 0.0
    least_activation: float = 0.0
    fit_weights: bool = True  # False holds the weights where they start: with K = T = r = 1, logistic regression

    @classmethod
    def of(cls, scan: Literal["auto", "paper", "collapsed"]) -> Self:
        """The moves of a scan by its name; "auto" is the one that mixes best (docs/sampler.md), the collapsed one."""
        if scan == "paper":
            return cls("paper", hamiltonian_steps=0, refresh=False)
        if scan in ("auto", "collapsed"):
            return cls()
        raise ValueError(f'scan must be "auto", "paper" or "collapsed"; got {scan!r}.')


def sweep(
    state: GibbsState, blocks: Blocks[LatentBlock], prior: Prior, name: SweepStreams, moves: Moves, step_size: StepSize
) -> tuple[FloatArray, float]:
    """Draw every parameter once, in place; the blocks hold the activations of `state` before and after.

    Returns the counts (levels, experts), of the top level only where no others were drawn, and the acceptance
    probability of the Hamiltonian move.
    """
    acceptance, activations = 1.0, None
    if moves.hamiltonian_steps:
        rng = name.generator(Step.HAMILTONIAN)
        trajectory = Trajectory(step_size.log_step, moves.hamiltonian_steps, moves.fit_weights)
        acceptance = move_by_hamiltonian(state, blocks, prior, trajectory, rng)
    # The paper's sweep ends with the precisions: its first one uses those of the start. A Hamiltonian move, which
    # integrates them out, needs them drawn before anything conditions on them.
    precisions_come_last = moves.scan == "paper" and not moves.hamiltonian_steps
    if not precisions_come_last:
        resample_precisions(state, prior, name.generator(Step.PRECISIONS), moves.least_precision)
    if moves.scan == "paper":
        if moves.hamiltonian_steps:
            # The move integrated the counts out; they must be drawn anew before latent rates condition on them.
            blocks.broadcast(LatentBlock.draw_counts, name, state.log_weights, Step.RESTART)
        every = np.arange(state.n_experts, dtype=np.intc)
        sweep_coefficients(state, blocks, name, every, "paper")
        counts = blocks.sum(LatentBlock.level_counts)
    else:
        counts = collapsed_counts(state, blocks, name, moves)
        if moves.polya_gamma:
            # Experts without counts are left to the refresh, which draws from the same conditional.
            is_refreshed = moves.refresh and moves.fit_weights
            drawn = counts[-1] > 0.0 if is_refreshed else np.ones(state.n_experts, dtype=bool)
            sweep_coefficients(state, blocks, name, np.flatnonzero(drawn).astype(np.intc), "collapsed")
        if moves.refresh and moves.fit_weights:
            rng = name.generator(Step.REFRESH)
            activations = refresh_empty_experts(state, blocks, prior, counts[-1], rng)
    top = TopSums(counts[-1], activations if activations is not None else blocks.sum(LatentBlock.activation_sums))
    if moves.fit_weights:
        resample_process(state, prior, top, name.generator(Step.PROCESS))
    if precisions_come_last:
        resample_precisions(state, prior, name.generator(Step.PRECISIONS), moves.least_precision)
    return counts, acceptance


def collapsed_counts(state: GibbsState, blocks: Blocks[LatentBlock], name: SweepStreams, moves: Moves) -> FloatArray:
    """Draw the counts given the parameters alone: all levels if the coefficients need them, else the top one."""
    if moves.polya_gamma:
        counts: FloatArray = blocks.sum(LatentBlock.draw_counts, name, state.log_weights)
    else:
        counts = blocks.sum(LatentBlock.draw_top_counts, name, state.log_weights)[None, :]
    return counts


def sweep_coefficients(
    state: GibbsState, blocks: Blocks[LatentBlock], name: SweepStreams, experts: Experts, scan: Scan
) -> None:
    """Latent rates down, then coefficients up the layers, each seeing the new activations below it."""
    sums = blocks.sum(LatentBlock.begin, name, state.log_weights, experts, scan)
    for layer in range(state.n_layers):
        rng = name.generator(Step.COEFFICIENTS, layer)
        coefficients = draw_coefficients(state, layer, sums, experts, rng)
        state.coefficients[experts, layer] = coefficients
        if layer + 1 < state.n_layers:
            sums = blocks.sum(LatentBlock.advance, name, layer, coefficients, experts, scan)
        else:
            blocks.broadcast(LatentBlock.finish, layer, coefficients, experts)
