"""Members of the bootstrap: what they depend on, and what becomes of them when a fit is stopped or continued."""

import signal
import threading
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import SeedSequence
from optimize.searches import assert_same, ring, stop_after

from softpolytope.data import FeatureSummary, InMemoryDataset
from softpolytope.distributions import Streams
from softpolytope.exceptions import CheckpointError
from softpolytope.model import Prior
from softpolytope.optimize._bootstrap import MAX_CONCENTRATION, MIN_CONCENTRATION, member_weights, weight_concentration
from softpolytope.optimize._fit import DEFAULT_PRIOR, find_modes
from softpolytope.optimize._mode import LogPosterior, ModeSettings
from softpolytope.optimize._online import AdamState, OnlineModes, update_online
from softpolytope.optimize._precision_rate import RATE_GRID
from softpolytope.parallel import CheckpointPlan, RunOptions

SETTINGS = ModeSettings(4, 1, DEFAULT_PRIOR, 3, bootstrap=True)
BOTH = (0, 1)


@pytest.fixture(scope="module")
def data():
    """Eighty rows of a ring."""
    return InMemoryDataset.from_arrays(*ring(80))


@pytest.fixture(scope="module")
def expected(data):
    """Three members of each labeling."""
    return find_modes(data, SETTINGS, 0, BOTH)


def with_members(n_members):
    """Return the settings with another number of members."""
    return replace(SETTINGS, n_restarts=n_members)


def positions(result):
    """Return the parameters of the members of each labeling."""
    return [[found.unpruned.position().tolist() for found in modes] for modes in result.modes]


@pytest.mark.parametrize("n_threads", [1, 2, 13])
def test_threads_and_order_change_nothing(expected, n_threads):
    """Thirteen threads are enough for blocks to have some; rows may come in any order."""
    design, labels = ring(80)
    order = np.random.default_rng(n_threads).permutation(80)
    shuffled = InMemoryDataset.from_arrays(design[order], labels[order])
    found = find_modes(shuffled, SETTINGS, 0, BOTH, RunOptions(n_threads))
    assert_same(found, expected)
    assert found.agreement == expected.agreement
    for one, other in zip(found.representatives, expected.representatives, strict=True):
        assert np.array_equal(one.mode.position(), other.mode.position())


def test_bootstrap_spreads_the_modes(rng):
    """Bootstrap modes of one hyperplane spread by about the width of its posterior; modes without it coincide."""
    n_rows = 400
    design = np.column_stack([np.ones(n_rows), rng.standard_normal(n_rows)])
    labels = rng.random(n_rows) < 1.0 / (1.0 + np.exp(-design @ [0.3, 1.0]))
    data = InMemoryDataset.from_arrays(design, labels)
    coefficients = {}
    for bootstrap in (False, True):
        settings = ModeSettings(1, 1, Prior(precision_rate=100.0), 60, fit_weights=False, bootstrap=bootstrap)
        modes = find_modes(data, settings, 0, (0,), RunOptions(2)).modes[0]
        coefficients[bootstrap] = np.array([found.mode.coefficients[0, 0, 1] for found in modes])
    probabilities = 1.0 / (1.0 + np.exp(-design @ [0.3, 1.0]))
    information = (design * (probabilities * (1.0 - probabilities))[:, None]).T @ design
    width = np.sqrt(np.linalg.inv(information)[1, 1])
    assert coefficients[False].std() < 1e-4 * width
    # The standard deviation of 60 draws is within 45 % of the truth except with probability 1e-6.
    assert 0.55 * width < coefficients[True].std() < 1.45 * width


def test_bootstrap_weights_are_repeats():
    """Weighted and repeated rows give the same bits with the bootstrap, on any number of threads."""
    design, labels = ring(80)
    copies = np.random.default_rng(2).integers(1, 4, len(labels))
    settings = with_members(2)
    weighted = InMemoryDataset.from_arrays(design, labels, copies.astype(float))
    repeated = InMemoryDataset.from_arrays(np.repeat(design, copies, axis=0), np.repeat(labels, copies))
    expected = find_modes(weighted, settings, 0, (0, 1))
    assert_same(find_modes(repeated, settings, 0, (0, 1), RunOptions(2)), expected)
    plain = find_modes(weighted, ModeSettings(4, 1, DEFAULT_PRIOR, 2), 0, (0, 1))
    assert plain.modes[0][0].log_likelihood != expected.modes[0][0].log_likelihood


def test_a_member_does_not_depend_on_the_others(data, expected):
    """A fit of fewer members has the first of them; both labelings together or one alone."""
    fewer = find_modes(data, with_members(1), 0, BOTH)
    assert positions(fewer) == [own[:1] for own in positions(expected)]
    alone = find_modes(data, SETTINGS, 0, (1,))
    assert positions(alone) == positions(expected)[1:]
    other = find_modes(data, SETTINGS, 1, BOTH)
    assert positions(other) != positions(expected)


def test_members_differ_in_weights_and_rates():
    """Each chooses a rate of the grid for itself; where the rate is given, all have it and still differ."""
    rng = np.random.default_rng(0)
    design = np.column_stack([np.ones(60), rng.normal(size=(60, 2))])
    noisy = InMemoryDataset.from_arrays(design, rng.random(60) < 1.0 / (1.0 + np.exp(-design[:, 1])))
    rates = find_modes(noisy, with_members(8), 0, BOTH).precision_rates
    assert rates.shape == (2, 8)
    assert set(rates.ravel().tolist()) <= {0.5 * multiple for multiple in RATE_GRID}
    assert len(set(rates.ravel().tolist())) > 1
    given = find_modes(noisy, replace(with_members(3), prior=Prior(precision_rate=3.0)), 0, BOTH)
    assert (given.precision_rates == 3.0).all()
    assert len({found.log_likelihood for found in given.modes[0]}) == 3


def test_concentration_grows_with_rows():
    """From one limit for few rows up to another; a single expert has Exp(1) weights whatever the rows."""
    sizes = [10.0, 300.0, 1000.0, 3000.0, 1e5, 1e9]
    found = [weight_concentration(size, max_experts=5) for size in sizes]
    assert found == sorted(found)
    assert found[0] == found[1] == MIN_CONCENTRATION < found[2]
    assert found[-1] == MAX_CONCENTRATION
    assert {weight_concentration(size, max_experts=1) for size in sizes} == {1.0}


def test_weights_of_members_have_names():
    """Labeling, member and batch each give another key; the same name gives the same key."""
    names = [(labeling, member, batch) for labeling in BOTH for member in range(3) for batch in range(3)]
    keys = [member_weights(Streams(4), *name, 1.0).key for name in names]
    assert len(set(keys)) == len(names)
    assert keys == [member_weights(Streams(4), *name, 1.0).key for name in names]
    assert keys != [member_weights(Streams(5), *name, 1.0).key for name in names]


def test_the_likelihood_is_that_of_the_given_weights(data, expected):
    """That of a member in the result can be compared with those of the others."""
    found = expected.modes[0][0]
    rates = np.zeros(data.n_rows)
    for coefficients, log_weight in zip(found.mode.coefficients, found.mode.log_weights, strict=True):
        rates += np.exp(log_weight) * np.logaddexp(0.0, data.design @ coefficients[0])
    logs = np.where(data.labels, np.log(-np.expm1(-rates)), -rates)
    assert found.log_likelihood == pytest.approx(data.row_weights @ logs)


# Fits that are stopped, resumed and continued.


def test_a_checkpoint_resumes_to_the_same_bits(data, expected, tmp_path, monkeypatch):
    """Finished optimizations are not repeated, and other fits reject them."""
    calls, plan, maximize = [], CheckpointPlan(tmp_path), LogPosterior.maximize
    monkeypatch.setattr(LogPosterior, "maximize", lambda *given: calls.append(0) or maximize(*given))
    find_modes(data, SETTINGS, 0, BOTH)
    n_in_all = len(calls)
    stopped = find_modes(data, SETTINGS, 0, BOTH, RunOptions(1, stop_after(2), plan, "one"))
    assert not stopped.is_complete
    calls.clear()
    assert_same(find_modes(data, SETTINGS, 0, BOTH, RunOptions(2, None, plan, "one")), expected)
    assert 0 < len(calls) < n_in_all
    with pytest.raises(CheckpointError, match="other data, settings, start or seed"):
        find_modes(data, SETTINGS, 1, BOTH, RunOptions(1, None, plan, "one"))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_stopped_fit_keeps_complete_members(data, expected, n_threads):
    """Equally many of each labeling, some of the whole fit, with representatives among them."""
    found = find_modes(data, SETTINGS, 0, BOTH, RunOptions(n_threads, stop_after(3)))
    n_members = [len(modes) for modes in found.modes]
    assert not found.is_complete
    assert n_members[0] == n_members[1]
    assert n_members[0] in ((2,) if n_threads == 1 else (1, 2))  # two threads need not finish in order
    assert found.precision_rates.shape == (2, n_members[0])
    for own, whole in zip(positions(found), positions(expected), strict=True):
        assert all(one in whole for one in own)
    for representative, modes in zip(found.representatives, found.modes, strict=True):
        assert any(np.array_equal(representative.mode.position(), member.mode.position()) for member in modes)


def test_ctrl_c_keeps_complete_members(data, expected):
    """As a callback that asks to stop; the caller is told that it was Ctrl-C."""

    def interrupt(progress):
        if (progress.labeling, progress.chain) == (1, 0):
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    found = find_modes(data, SETTINGS, 0, BOTH, RunOptions(1, interrupt))
    assert found.is_interrupted
    assert not found.is_complete
    assert positions(found) == [own[:1] for own in positions(expected)]


def test_a_fit_stopped_before_any_member_is_complete_predicts(data):
    """With all members as far as they are."""
    found = find_modes(data, SETTINGS, 0, BOTH, RunOptions(1, stop_after(0)))
    assert not found.is_complete
    assert [len(modes) for modes in found.modes] == [3, 3]
    assert np.isfinite([member.log_likelihood for modes in found.modes for member in modes]).all()


def test_a_continued_fit_may_have_more_members(data, expected):
    """Those there were continue from their modes, at their rates; the others are those of a fit from scratch."""
    start = find_modes(data, with_members(2), 0, BOTH)
    found = find_modes(data, SETTINGS, 0, BOTH, start=start)
    assert [own[2] for own in positions(found)] == [own[2] for own in positions(expected)]
    assert np.array_equal(found.precision_rates, expected.precision_rates)
    for own, before in zip(positions(found), positions(start), strict=True):
        for one, other in zip(own[:2], before, strict=True):
            assert one != other
            if len(one) == len(other):
                assert np.abs(np.subtract(one, other)).max() < 3.0
    fewer = find_modes(data, with_members(1), 0, BOTH, start=start)
    assert positions(fewer) == [own[:1] for own in positions(found)]


# Batches.


def online_twins(data, *, bootstrap):
    """Learn a batch with two members that start at one mode; return it, the batch, and a function to learn another."""
    settings = replace(with_members(2), bootstrap=bootstrap)
    log_posterior = LogPosterior(settings.prior, 4, fit_weights=True, column_unit=np.ones(data.n_columns))
    start = log_posterior.random_start(1, np.random.default_rng(0))
    modes = OnlineModes([[AdamState(start), AdamState(start)]], np.full((1, 2), 3.0), FeatureSummary.from_rows(data))
    return update_online(modes, data, settings, SeedSequence(0), (0,), 1, standardize=True)


def test_members_learn_batches_under_weights_of_their_own(data):
    """Two members that were one part; plain modes do not. The same batch gives the same bits."""
    first, second = online_twins(data, bootstrap=True)[0].states[0]
    assert not np.array_equal(first.mode.position(), second.mode.position())
    again = online_twins(data, bootstrap=True)[0].states[0][0]
    assert np.array_equal(first.mode.position(), again.mode.position())
    first, second = online_twins(data, bootstrap=False)[0].states[0]
    assert np.array_equal(first.mode.position(), second.mode.position())


def test_batches_of_members_are_pooled(data):
    """The posterior after a batch has representatives, the nearest members, and pools log odds."""
    _, posterior = online_twins(data, bootstrap=True)
    assert posterior.pool == "logarithmic"
    assert 0.0 <= posterior.agreement <= 1.0
    best, draws = posterior.labelings[0].best, posterior.labelings[0].draws
    assert any(np.array_equal(best.coefficients, draws[number].coefficients) for number in range(2))
    assert online_twins(data, bootstrap=False)[1].pool == "linear"
