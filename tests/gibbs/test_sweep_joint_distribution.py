"""The joint-distribution gate: every sampler passes it, seeded bugs do not.

Level 1e-3 for each case after Bonferroni; `benchmarks/joint_distribution.py` runs the same gate with as many replicates
as one likes. Those here are what a few minutes allow. The power that leaves is shown by the bugs: each is found with
the number of replicates given.
"""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.joint_distribution import FIXED, LEVEL, Case, bonferroni, cases
from softpolytope.distributions import Step
from softpolytope.gibbs import _gamma_process as process
from softpolytope.gibbs import _hamiltonian as hamiltonian
from softpolytope.gibbs import _latent_block as block
from softpolytope.gibbs import _sweep as sweep
from softpolytope.model import _log_posterior as target
from softpolytope.model._softplus import log_softplus

N_REPLICATES = 1200


def telling_cases():
    """Of the cases of the long run those without which a step would go untested."""
    plain = {(1, 3), (2, 1), (2, 3)}
    return [
        case
        for case in cases()
        if (case.n_experts, case.n_layers) in plain or case.prior != FIXED or set(case.row_weights) != {1.0}
    ]


@pytest.mark.slow
@pytest.mark.parametrize("case", telling_cases(), ids=lambda case: case.name)
def test_sampler_leaves_the_joint_law_alone(case, request):
    """End states of sweeps from exact starts are draws from the joint law."""
    seed = sum(request.node.name.encode())
    assert bonferroni(case, N_REPLICATES, seed)[0] > LEVEL


def swap_mass_and_concentration(patch):
    """Algorithm 1 read from left to right: the mass before the concentration."""

    def wrong(state, prior, top, rng):
        process.resample_mass(state, prior, top, rng)
        process.resample_concentration(state, prior, rng)
        process.resample_expert_weights(state, top, rng)

    patch.setattr(sweep, "resample_process", wrong)


def keep_old_weights(patch):
    """The order of the author's later code: weights first, and not again after the mass."""

    def wrong(state, prior, top, rng):
        process.resample_expert_weights(state, top, rng)
        process.resample_concentration(state, prior, rng)
        process.resample_mass(state, prior, top, rng)

    patch.setattr(sweep, "resample_process", wrong)


def precisions_as_printed(patch):
    """Precisions with e_0, f_0 in the place of a_t, b_t."""

    def wrong(state, prior, rng, _):
        rate = prior.concentration_rate + 0.5 * state.coefficients**2
        state.precisions = rng.standard_gamma(prior.concentration_shape + 0.5, rate.shape) / rate

    patch.setattr(sweep, "resample_precisions", wrong)


def rates_upwards(patch):
    """Latent rates drawn from the bottom level to the top."""
    original = block.LatentBlock.begin

    def wrong(self, name, log_weights, experts, scan):
        n_layers = len(self._latent_rates)
        order = iter(range(1 if scan == "collapsed" else 0, n_layers))
        draw = block.LatentBlock._draw_rates
        patch.setattr(block.LatentBlock, "_draw_rates", lambda me, nm, _, ex: draw(me, nm, next(order), ex))
        result = original(self, name, log_weights, experts, scan)
        patch.setattr(block.LatentBlock, "_draw_rates", draw)
        return result

    # The first sweep needs numbers above the level drawn.
    prepare = block.LatentBlock.prepare

    def prepared(self, coefficients):
        prepare(self, coefficients)
        n_experts, n_layers, _ = coefficients.shape
        self._latent_rates = np.ones((n_layers, self._rows.n_rows, n_experts))

    patch.setattr(block.LatentBlock, "prepare", prepared)
    patch.setattr(block.LatentBlock, "begin", wrong)


def stale_activations(patch):
    """Coefficients of a layer see the activations from before the sweep."""
    original = block.LatentBlock.advance

    def wrong(self, name, layer, coefficients, experts, scan):
        if layer == 0 and len(self._linear_predictor) > 1:
            return self._layer_sums(name, 1, experts, scan)
        return original(self, name, layer, coefficients, experts, scan)

    patch.setattr(block.LatentBlock, "advance", wrong)
    after = sweep.sweep_coefficients

    def repaired(state, blocks, name, experts, scan):
        after(state, blocks, name, experts, scan)
        blocks.broadcast(block.LatentBlock.prepare, state.coefficients)

    patch.setattr(sweep, "sweep_coefficients", repaired)


def tau_held(patch):
    """The state is theta q, not theta: new activations below rescale the latent rates (wrong from three layers on)."""
    original = block.LatentBlock.advance

    def wrong(self, name, layer, coefficients, experts, scan):
        above = layer + 2
        if scan == "paper" and above < len(self._latent_rates):
            # What q two levels up becomes is known from the new activations between, before its own layer is drawn.
            self._advance(experts, layer, coefficients)
            logits = self._linear_predictor[layer + 1] + self._log_activations[layer + 1]
            self._latent_rates[above] *= np.exp(self._log_activations[above] - log_softplus(logits))
        return original(self, name, layer, coefficients, experts, scan)

    patch.setattr(block.LatentBlock, "advance", wrong)


def stale_top_counts(patch):
    """The counts of the top level are not drawn again (the paper's scan)."""
    original = block._augment.draw_table_counts

    def wrong(bits, counts, above, copies, weights, out):
        if above.shape[0] or counts.shape[0] == 1:
            original(bits, counts, above, copies, weights, out)

    patch.setattr(block, "_augment", _With(block._augment, draw_table_counts=wrong))


def no_acceptance_of_refresh(patch):
    """Empty experts take any draw from the prior."""
    patch.setattr(sweep, "vector_log1p", np.zeros_like)


def counts_after_hamiltonian(patch):
    """The paper's scan goes on with the counts from before a collapsed move."""
    original = block.LatentBlock.draw_counts

    def wrong(self, name, log_weights, step=Step.COUNTS):
        return None if step == Step.RESTART else original(self, name, log_weights, step)

    patch.setattr(block.LatentBlock, "draw_counts", wrong)


def no_jacobian(patch):
    """The Hamiltonian move forgets the Jacobian of log r."""
    original = target._prior.add_prior

    def wrong(coefficients, log_weights, rates, shape, weight_shape, *rest):
        return original(coefficients, log_weights, rates, shape, weight_shape - 1.0, *rest)

    patch.setattr(target, "_prior", _With(target._prior, add_prior=wrong))


def always_accept(patch):
    """The Hamiltonian move accepts wherever it ends."""
    patch.setattr(hamiltonian, "min", lambda *_: 0.0, raising=False)


def metric_of_the_state(patch):
    """The metric is learned from where the move starts, so that the reverse move would have another."""
    original = hamiltonian.move_by_hamiltonian

    def wrong(state, blocks, prior, trajectory, rng):
        squares = np.exp(4.0 * np.append(np.tanh(state.coefficients).mean(axis=0).reshape(-1), 0.0))
        tuning = replace(trajectory.tuning, squares=squares)
        return original(state, blocks, prior, replace(trajectory, tuning=tuning), rng)

    patch.setattr(sweep, "move_by_hamiltonian", wrong)


def half_polya_gamma(patch):
    """Polya-Gamma weights without the latent rate in their shape."""
    original = block._augment.draw_pg_weights

    def wrong(bits, counts, above, copies, weights, *rest):
        original(bits, counts, 0.0 * above, copies, 0.0 * weights, *rest)

    patch.setattr(block, "_augment", _With(block._augment, draw_pg_weights=wrong))


class _With:
    """A module with some names replaced."""

    def __init__(self, module, **names):
        self._module = module
        self.__dict__.update(names)

    def __getattr__(self, name):
        return getattr(self._module, name)


BUGS = [
    (swap_mass_and_concentration, Case(2, 1, "collapsed", n_sweeps=8), 8000),
    (keep_old_weights, Case(2, 1, "collapsed"), 1500),
    (precisions_as_printed, Case(2, 1, "paper"), 1000),
    (rates_upwards, Case(2, 3, "paper", n_sweeps=8), 4000),
    (stale_activations, Case(1, 2, "paper", n_sweeps=8), 4000),
    (tau_held, Case(1, 3, "paper", n_sweeps=8), 4000),
    (stale_top_counts, Case(2, 2, "paper", n_sweeps=8), 3000),
    (no_acceptance_of_refresh, Case(2, 1, "collapsed+refresh", n_sweeps=6), 6000),
    (counts_after_hamiltonian, Case(2, 2, "paper+hamiltonian", n_sweeps=3), 4000),
    (no_jacobian, Case(2, 1, "hamiltonian"), 1500),
    (always_accept, Case(2, 1, "hamiltonian", step=1.2), 2000),
    (metric_of_the_state, Case(2, 1, "hamiltonian", n_sweeps=6, step=0.5), 4000),
    (half_polya_gamma, Case(2, 2, "collapsed"), 1500),
]


@pytest.mark.slow
@pytest.mark.parametrize(("bug", "case", "n_replicates"), BUGS, ids=lambda value: getattr(value, "__name__", ""))
def test_gate_finds_seeded_bugs(bug, case, n_replicates, monkeypatch):
    """A sampler with the bug is rejected."""
    bug(monkeypatch)
    assert bonferroni(case, n_replicates, 5)[0] < LEVEL


def test_statistics_are_many():
    """Even the smallest model is compared in 80 ways or more."""
    assert bonferroni(Case(1, 1, "collapsed", prior=FIXED), 500, 1)[1] >= 80
