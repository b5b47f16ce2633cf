"""Precision rates of restarts: one for all if there are many rows, one for each if there are few."""

import numpy as np
import pytest

from softpolytope.data._dataset import InMemoryDataset
from softpolytope.datasets import make_circle
from softpolytope.optimize._fit import DEFAULT_PRIOR, find_modes
from softpolytope.optimize._mode import ModeSettings
from softpolytope.optimize._precision_rate import RateTrial, deal_folds, draw_rate_choices, is_settled

SETTINGS = ModeSettings(6, 2, DEFAULT_PRIOR, n_restarts=6)


def make_trials(*log_probabilities):
    """Return trials of the rates 0, 1, ... with these log probabilities of rows."""
    return [RateTrial(float(rate), [], np.array(values)) for rate, values in enumerate(log_probabilities)]


def noisy_rows(n_rows, seed=0):
    """Return a ring around a disc with a quarter of the labels at random."""
    X, y = make_circle(n_rows, random_state=seed)
    rng = np.random.default_rng(seed)
    labels = np.where(rng.random(n_rows) < 0.25, rng.random(n_rows) < 0.5, y.astype(bool))
    return InMemoryDataset.from_arrays(np.column_stack([np.ones(n_rows), X]), labels)


def test_folds_keep_equal_rows_together(rng):
    """Equal rows share a fold even if their labels differ; folds have equal sizes and shares of the labels."""
    design = np.column_stack([np.ones(400), rng.integers(0, 12, (400, 2))]).astype(float)
    data = InMemoryDataset.from_arrays(design, rng.random(400) < 0.3)
    folds = deal_folds(data, 5, rng)
    assert sorted(set(folds.tolist())) == [0, 1, 2, 3, 4]
    seen = {}
    n_pairs = 0
    for row, fold in zip(map(tuple, data.design), folds.tolist(), strict=True):
        n_pairs += row in seen
        assert seen.setdefault(row, fold) == fold
    assert n_pairs > 30
    clear = InMemoryDataset.from_arrays(np.column_stack([np.ones(400), rng.random(400)]), np.arange(400) < 100)
    folds = deal_folds(clear, 5, rng)
    assert np.bincount(folds).tolist() == [80] * 5
    assert np.bincount(folds[clear.labels]).tolist() == [20] * 5


def test_a_rate_that_is_better_for_every_row_is_always_chosen(rng):
    """Row weights do not change an order that holds for each row."""
    better, worse = -np.linspace(0.1, 0.5, 30), -np.linspace(0.2, 0.6, 30)
    assert draw_rate_choices(make_trials(worse, better, worse), np.ones(30), 50, rng).tolist() == [1] * 50


def test_choices_are_split_where_rows_disagree(rng):
    """Two rates that are each better for half of the rows are chosen equally often; level 1e-4."""
    first = np.where(np.arange(40) < 20, -0.1, -0.9)
    choices = draw_rate_choices(make_trials(first, first[::-1]), np.ones(40), 2000, rng)
    assert abs(choices.mean() - 0.5) < 3.9 * 0.5 / np.sqrt(2000)


def test_weights_count_as_rows(rng):
    """Control: a rate that is better for rows with most of the weight is chosen far more often."""
    first = np.where(np.arange(40) < 20, -0.1, -0.9)
    weights = np.where(np.arange(40) < 20, 3.0, 1.0)
    assert draw_rate_choices(make_trials(first, first[::-1]), weights, 2000, rng).mean() < 0.1


def test_two_worse_rates_are_enough():
    """The search ends when two rates in a row are worse than the best."""
    assert not is_settled([1.0, 2.0])
    assert is_settled([1.0, 2.0, 1.5])
    assert not is_settled([1.0, 2.0, 0.5])


@pytest.mark.parametrize(("n_rows", "is_shared"), [(60, False), pytest.param(200, True, marks=pytest.mark.slow)])
def test_few_rows_have_rates_of_their_own(n_rows, is_shared):
    """With many rows all restarts share a rate; with few rows some choose another one."""
    rates = [find_modes(noisy_rows(n_rows, seed), SETTINGS, 0, (0, 1)).precision_rates.ravel() for seed in range(4)]
    assert all(len(set(own)) == 1 for own in rates) == is_shared


def test_few_rows_end_with_folds():
    """Modes that held out a fold fit all rows worse than modes that continue with all rows."""
    data = noisy_rows(60)
    held_out = find_modes(data, SETTINGS, 0, (0, 1))
    continued = find_modes(data, SETTINGS, 0, (0, 1), start=held_out)
    for before, after in zip(held_out.modes[0], continued.modes[0], strict=True):
        assert after.log_likelihood > before.log_likelihood
