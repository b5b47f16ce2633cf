"""Rows whose labels together tell most about the parameters."""

import functools
import itertools

import numpy as np
import pytest
from checks import LEVEL, mean_pvalue
from numpy.random import default_rng

from softpolytope.inspection import _uncertainty as uncertainty
from softpolytope.inspection import uncertainty_from_draws
from softpolytope.inspection._bald import Configurations, is_sampled, select_bald
from softpolytope.inspection._bald import redundancies as redundancies_given


def by_class(probabilities):
    """Probabilities of both classes from those of one."""
    return np.stack([1.0 - probabilities, probabilities], axis=-1)


def joint_information(draws, rows):
    """I(labels of rows; draw) of probabilities (draws, rows, classes), every configuration of labels in turn."""
    likelihoods = [
        np.prod([draws[:, row, label] for row, label in zip(rows, labels, strict=True)], axis=0)
        for labels in itertools.product(range(draws.shape[2]), repeat=len(rows))
    ]
    likelihoods = np.array(likelihoods, dtype=np.longdouble)

    def entropy(p):
        return -(p * np.log(np.where(p > 0.0, p, 1.0))).sum(axis=0)

    return float(entropy(likelihoods.mean(axis=1)) - entropy(likelihoods).mean())


def enumerated_greedy(draws, n):
    """The greedy choice, every joint information computed from scratch."""
    chosen = []
    for _ in range(n):
        others = [row for row in range(draws.shape[1]) if row not in chosen]
        chosen.append(max(others, key=lambda row: joint_information(draws, [*chosen, row])))
    return chosen


def redundancies(draws, known):
    """I(y_x; labels) of every row with labels of known configurations."""
    return redundancies_given(draws, known.probabilities, known.draw_probabilities())


def test_two_classes_are_two_of_several(rng):
    """The same rows are selected for one probability, for two, and with a third class that never occurs."""
    draws = rng.beta(0.5, 0.5, (12, 30))
    both = by_class(draws)
    three = np.concatenate([both, np.zeros((12, 30, 1))], axis=2)
    for other in (both, three):
        assert np.array_equal(select_bald(other, 6), select_bald(draws, 6))


def test_chunks_change_nothing(rng, monkeypatch):
    """The same rows are selected if rows are processed one at a time."""
    draws = rng.beta(0.5, 0.5, (12, 30))
    rows = select_bald(draws, 8)
    monkeypatch.setattr(uncertainty, "MAX_NUMBERS_AT_ONCE", 1)
    assert np.array_equal(select_bald(draws, 8), rows)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_choice_is_that_of_plain_enumeration(n_classes, rng):
    """Joint entropies of all selected labels give the same rows for ten sets of draws; plain BALD is often wrong."""
    n_other = 0
    for _ in range(10):
        draws = rng.dirichlet(np.full(n_classes, 0.5), (6, 7))
        expected = enumerated_greedy(draws, 4)
        assert select_bald(draws, 4).tolist() == expected
        n_other += np.argsort(-uncertainty_from_draws(draws).epistemic)[:4].tolist() != expected
    assert n_other > 3


def test_choice_is_nearly_the_best(rng):
    """No subset of three rows tells more than 1 / 0.63 of what those selected do; no single row tells more at all."""
    for _ in range(5):
        draws = by_class(rng.beta(0.5, 0.5, (6, 7)))
        for n, share in ((1, 1.0), (3, 1.0 - np.exp(-1.0))):
            best = max(joint_information(draws, rows) for rows in itertools.combinations(range(7), n))
            assert joint_information(draws, select_bald(draws, n)) >= share * best - 1e-12


def test_copies_are_not_all_chosen():
    """Ten copies of the most informative row come first by themselves, but given one of them another tells more."""
    sides = np.array(list(itertools.product([0.05, 0.95], [0.1, 0.9])))
    draws = np.column_stack([np.repeat(sides[:, :1], 10, axis=1), sides[:, 1]])
    assert np.argsort(-uncertainty_from_draws(draws).epistemic, kind="stable")[:2].tolist() == [0, 1]
    assert select_bald(draws, 3).tolist() == [0, 10, 1]


def test_ties_go_by_the_order_of_rows(rng):
    """Rows that tell nothing, and rows that tell the same, are selected in their order."""
    assert select_bald(np.full((4, 6), 0.3), 6).tolist() == [0, 1, 2, 3, 4, 5]
    draws = np.tile(rng.random((5, 3)), 9)
    assert max(select_bald(draws, 3)[:1]) < 3
    assert select_bald(np.repeat(rng.random((5, 1)), 27, axis=1), 8).tolist() == list(range(8))


def test_sampled_labels_tell_what_all_would(rng):
    """The mean of 400 samples is I(y_x; labels of five rows) at level 1e-4; of four rows it is another number."""
    draws = rng.beta(0.5, 0.5, (8, 12))
    chosen = list(by_class(draws[:, :5]).transpose(1, 0, 2))

    def exact(rows):
        return redundancies(draws, functools.reduce(Configurations.with_any_label, rows, Configurations.empty(8)))

    samples = []
    for _ in range(400):
        known = Configurations.to_sample(8, rng)
        for row in chosen:
            known = known.with_sampled_label(row, rng)
        samples.append(redundancies(draws, known)[-1])
    variance = np.var(samples, ddof=1)
    assert mean_pvalue(samples, exact(chosen)[-1], variance) > LEVEL
    assert mean_pvalue(samples, exact(chosen[:-1])[-1], variance) < LEVEL


def test_many_rows_are_sampled(rng):
    """Rows differ, are the same for the same generator, and the first eleven are those of enumeration."""
    draws = rng.beta(0.5, 0.5, (40, 60))
    rows = select_bald(draws, 30, default_rng(1))
    assert len(set(rows.tolist())) == 30
    assert np.array_equal(select_bald(draws, 30, default_rng(1)), rows)
    assert np.array_equal(select_bald(draws, 11), rows[:11])


def test_generator_is_needed_only_for_many_rows(rng):
    """Eleven rows of two classes or seven of three are enumerated; beyond that a generator is required, and used."""
    assert [is_sampled(11, 2), is_sampled(12, 2), is_sampled(7, 3), is_sampled(8, 3)] == [False, True, False, True]
    generator = default_rng(0)
    select_bald(rng.random((4, 20)), 11, generator)
    assert generator.random() == default_rng(0).random()
    with pytest.raises(ValueError, match=r"rng must be a numpy.random.Generator for n = 12 rows of 2 classes"):
        select_bald(rng.random((4, 20)), 12)


def test_impossible_labels_are_never_sampled(rng):
    """Probabilities of 0 and 1 among selected rows give no warning and no NaN, and certain rows come last."""
    sure = rng.integers(0, 2, (6, 14)).astype(float)
    rows = select_bald(np.column_stack([np.ones((6, 3)), sure]), 17, default_rng(0))
    assert sorted(rows.tolist()) == list(range(17))
    assert not set(rows[:2].tolist()) & {0, 1, 2}
    three = np.eye(3)[rng.integers(0, 3, (6, 12))]
    assert len(set(select_bald(three, 12, default_rng(0)).tolist())) == 12


def test_many_labels_do_not_underflow(rng):
    """Two thousand labels have a likelihood below the smallest double under every draw, and are still informative."""
    draws = rng.uniform(0.01, 0.99, (3, 2000))
    known = Configurations.to_sample(3, rng)
    for row in by_class(draws).transpose(1, 0, 2):
        known = known.with_sampled_label(row, rng)
    assert np.exp(known.log_likelihood).max() == 0.0
    # They identify the draw, which is all there is to learn.
    assert redundancies(draws, known) == pytest.approx(uncertainty_from_draws(draws).epistemic, abs=1e-2)


@pytest.mark.parametrize("n", [0, -1, 4, 1.0, True, "2", None, [1]])
def test_bad_numbers_are_refused(n):
    """The message has the value and the range allowed."""
    with pytest.raises(ValueError, match=r"n must be an integer from 1 to 3, the number of rows given; got"):
        select_bald([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]], n)
