"""Which precision rate restarts have: one for all where rows are many, their own where they are few."""

import numpy as np
import pytest

from softpolytope.data._dataset import TrainingData
from softpolytope.datasets import make_circle
from softpolytope.optimize._precision_rate import RateTrial, is_settled, own_choices
from softpolytope.optimize._results import ModeSettings
from softpolytope.optimize._run import DEFAULT_PRIOR, find_modes

SETTINGS = ModeSettings(6, 2, DEFAULT_PRIOR, n_restarts=6)


def tried(*log_probabilities):
    """Rates 0, 1, ... with log probabilities of rows."""
    return [RateTrial(float(rate), [], np.array(values)) for rate, values in enumerate(log_probabilities)]


def noisy_rows(n_rows, seed=0):
    """A ring around a disc with a quarter of the labels at random."""
    X, y = make_circle(n_rows, random_state=seed)
    rng = np.random.default_rng(seed)
    labels = np.where(rng.random(n_rows) < 0.25, rng.random(n_rows) < 0.5, y.astype(bool))
    return TrainingData.from_arrays(np.column_stack([np.ones(n_rows), X]), labels)


def test_all_choose_what_is_better_for_every_row(rng):
    """No weights change an order that holds for each row."""
    better, worse = -np.linspace(0.1, 0.5, 30), -np.linspace(0.2, 0.6, 30)
    assert own_choices(tried(worse, better, worse), np.ones(30), 50, rng).tolist() == [1] * 50


def test_choices_are_split_where_rows_disagree(rng):
    """Two rates, each better for half of the rows by as much, are chosen about equally; level 1e-4."""
    first = np.where(np.arange(40) < 20, -0.1, -0.9)
    choices = own_choices(tried(first, first[::-1]), np.ones(40), 2000, rng)
    assert abs(choices.mean() - 0.5) < 3.9 * 0.5 / np.sqrt(2000)


def test_weights_count_as_rows(rng):
    """The control: with most of the weight on rows that like the first rate, it is chosen far more often."""
    first = np.where(np.arange(40) < 20, -0.1, -0.9)
    weights = np.where(np.arange(40) < 20, 3.0, 1.0)
    assert own_choices(tried(first, first[::-1]), weights, 2000, rng).mean() < 0.1


def test_two_worse_rates_are_enough():
    """The search ends when the best is two rates back."""
    weights = np.ones(1)
    assert not is_settled(tried([-1.0], [-2.0]), weights)
    assert is_settled(tried([-1.0], [-2.0], [-1.5]), weights)
    assert not is_settled(tried([-1.0], [-2.0], [-0.5]), weights)


@pytest.mark.parametrize(("n_rows", "is_shared"), [(60, False), (200, True)])
def test_few_rows_have_rates_of_their_own(n_rows, is_shared):
    """With many rows all restarts have the same rate, with few some choose another."""
    rates = [find_modes(noisy_rows(n_rows, seed), SETTINGS, 0, (0, 1)).precision_rates for seed in range(4)]
    assert all(len(set(own)) == 1 for own in rates) == is_shared


def test_few_rows_end_with_folds():
    """Modes that left out a fold fit all rows worse than those that climb on with them."""
    data = noisy_rows(60)
    left_out = find_modes(data, SETTINGS, 0, (0, 1))
    climbed = find_modes(data, SETTINGS, 0, (0, 1), start=left_out)
    for before, after in zip(left_out.modes[0], climbed.modes[0], strict=True):
        assert after.log_likelihood > before.log_likelihood
