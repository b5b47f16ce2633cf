"""The parts of uncertainty, and rows whose labels together teach most."""

import functools
import itertools

import mpmath
import numpy as np
import pytest
from checks import LEVEL, mean_pvalue
from numpy.random import default_rng
from scipy.special import softmax

from softpolytope.inspection import _uncertainty as uncertainty
from softpolytope.inspection._uncertainty import (
    _Configurations,
    _redundancies,
    is_sampled,
    select_bald,
    uncertainty_from_draws,
)


def by_class(probabilities):
    """Probabilities of both classes from those of one."""
    return np.stack([1.0 - probabilities, probabilities], axis=-1)


def precise_parts(draws):
    """Aleatoric and epistemic uncertainty of one row with 500 digits, from P(class 1) by draw."""
    with mpmath.workdps(500):
        laws = [(mpmath.mpf(p), 1 - mpmath.mpf(p)) for p in draws]
        mean = [mpmath.fsum(law[side] for law in laws) / len(laws) for side in (0, 1)]

        def entropy(law):
            return -mpmath.fsum(p * mpmath.log(p) for p in law if p > 0)

        aleatoric = mpmath.fsum(map(entropy, laws)) / len(laws)
        return float(aleatoric), float(entropy(mean) - aleatoric)


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
    """The greedy choice, every joint information computed anew."""
    chosen = []
    for _ in range(n):
        others = [row for row in range(draws.shape[1]) if row not in chosen]
        chosen.append(max(others, key=lambda row: joint_information(draws, [*chosen, row])))
    return chosen


def redundancies(draws, known):
    """I(y_x; labels) of every row with labels of known configurations."""
    return _redundancies(draws, known.probabilities, softmax(known.log_likelihood, axis=0).T)


@pytest.mark.parametrize("spread", [1.0, 1e-3, 1e-8, 1e-11])
@pytest.mark.parametrize("center", [0.5, 0.97, 1e-3, 1e-12, 1e-200])
def test_parts_are_precise(center, spread, rng):
    """To 1e-6 of each part, however little the draws differ; the plain difference of entropies is not."""
    draws = center * (1.0 - spread * rng.random(7))
    aleatoric, epistemic = precise_parts(draws)
    parts = uncertainty_from_draws(draws[:, None])
    assert parts.aleatoric[0] == pytest.approx(aleatoric, rel=1e-12, abs=0.0)
    assert parts.epistemic[0] == pytest.approx(epistemic, rel=1e-6, abs=0.0)


def test_plain_differences_are_not_precise(rng):
    """What the test above would say of H(mean) - mean H in doubles."""
    draws = 0.5 * (1.0 - 1e-8 * rng.random(7))
    entropies = [-(p * np.log(p)).sum(axis=-1) for p in (by_class(draws.mean()), by_class(draws))]
    assert entropies[0] - entropies[1].mean() != pytest.approx(precise_parts(draws)[1], rel=0.01, abs=0.0)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_total_is_the_entropy_of_the_mean(n_classes, rng):
    """And the sum of its parts, to 1e-12; no part is negative."""
    draws = rng.dirichlet(np.full(n_classes, 0.3), (20, 50))
    parts = uncertainty_from_draws(draws)
    mean = draws.mean(axis=0)
    assert parts.total == pytest.approx(-(mean * np.log(mean)).sum(axis=1), abs=1e-12)
    assert parts.total == pytest.approx(parts.aleatoric + parts.epistemic, abs=1e-12)
    assert min(parts.aleatoric.min(), parts.epistemic.min()) >= 0.0


def test_draws_that_agree_have_nothing_to_learn():
    """Exactly 0, even where the mean of three equal doubles is not that double."""
    assert np.mean([0.1, 0.1, 0.1]) != 0.1
    assert uncertainty_from_draws(np.full((3, 2), 0.1)).epistemic.tolist() == [0.0, 0.0]
    assert uncertainty_from_draws(np.broadcast_to([0.1, 0.2, 0.7], (3, 4, 3))).epistemic.tolist() == [0.0] * 4


def test_sure_draws():
    """Probabilities of 0 and 1 leave nothing to chance: log 2 if half of the draws say each, else 0."""
    parts = uncertainty_from_draws([[0.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    assert parts.aleatoric.tolist() == [0.0, 0.0, 0.0]
    assert parts.epistemic[:2].tolist() == [0.0, 0.0]
    assert parts.epistemic[2] == pytest.approx(np.log(2.0), rel=1e-15)


def test_two_classes_are_two_of_several(rng):
    """Given as one probability, as two, or with a third class that never is: the same parts, the same rows."""
    draws = rng.beta(0.5, 0.5, (12, 30))
    both = by_class(draws)
    three = np.concatenate([both, np.zeros((12, 30, 1))], axis=2)
    expected = uncertainty_from_draws(draws)
    for other in (both, three):
        parts = uncertainty_from_draws(other)
        for name in ("total", "aleatoric", "epistemic"):
            assert getattr(parts, name) == pytest.approx(getattr(expected, name), abs=1e-14)
        assert np.array_equal(select_bald(other, 6), select_bald(draws, 6))


def test_chunks_change_nothing(rng, monkeypatch):
    """Rows taken one at a time: the same parts, the same rows chosen."""
    draws = rng.beta(0.5, 0.5, (12, 30))
    expected, rows = uncertainty_from_draws(draws), select_bald(draws, 8)
    monkeypatch.setattr(uncertainty, "MAX_NUMBERS_AT_ONCE", 1)
    assert uncertainty_from_draws(draws).epistemic == pytest.approx(expected.epistemic, abs=1e-15)
    assert np.array_equal(select_bald(draws, 8), rows)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_choice_is_that_of_plain_enumeration(n_classes, rng):
    """Of joint entropies of all chosen labels, ten sets of draws; about the second row, plain BALD is often wrong."""
    n_other = 0
    for _ in range(10):
        draws = rng.dirichlet(np.full(n_classes, 0.5), (6, 7))
        expected = enumerated_greedy(draws, 4)
        assert select_bald(draws, 4).tolist() == expected
        n_other += np.argsort(-uncertainty_from_draws(draws).epistemic)[:4].tolist() != expected
    assert n_other > 3


def test_choice_is_nearly_the_best(rng):
    """Of all subsets of three rows none teaches more than 1 / 0.63 of it; with one row none teaches more at all."""
    for _ in range(5):
        draws = by_class(rng.beta(0.5, 0.5, (6, 7)))
        for n, share in ((1, 1.0), (3, 1.0 - np.exp(-1.0))):
            best = max(joint_information(draws, rows) for rows in itertools.combinations(range(7), n))
            assert joint_information(draws, select_bald(draws, n)) >= share * best - 1e-12


def test_copies_are_not_all_chosen():
    """Ten copies of the row that teaches most come first by themselves, but together with it another teaches more."""
    sides = np.array(list(itertools.product([0.05, 0.95], [0.1, 0.9])))
    draws = np.column_stack([np.repeat(sides[:, :1], 10, axis=1), sides[:, 1]])
    assert np.argsort(-uncertainty_from_draws(draws).epistemic, kind="stable")[:2].tolist() == [0, 1]
    assert select_bald(draws, 3).tolist() == [0, 10, 1]


def test_ties_go_by_the_order_of_rows(rng):
    """Rows that teach nothing, and rows that teach the same, whatever their place."""
    assert select_bald(np.full((4, 6), 0.3), 6).tolist() == [0, 1, 2, 3, 4, 5]
    draws = np.tile(rng.random((5, 3)), 9)
    assert max(select_bald(draws, 3)[:1]) < 3
    assert select_bald(np.repeat(rng.random((5, 1)), 27, axis=1), 8).tolist() == list(range(8))


def test_sampled_labels_tell_what_all_would(rng):
    """The mean of 400 samples is I(y_x; labels of five rows) at level 1e-4; of four rows it is another number."""
    draws = rng.beta(0.5, 0.5, (8, 12))
    chosen = list(by_class(draws[:, :5]).transpose(1, 0, 2))

    def exact(rows):
        return redundancies(
            draws, functools.reduce(_Configurations.with_any_label, rows, _Configurations.of_nothing(8))
        )

    samples = []
    for _ in range(400):
        known = _Configurations.of_sources(8, rng)
        for row in chosen:
            known = known.with_sampled_label(row, rng)
        samples.append(redundancies(draws, known)[-1])
    variance = np.var(samples, ddof=1)
    assert mean_pvalue(samples, exact(chosen)[-1], variance) > LEVEL
    assert mean_pvalue(samples, exact(chosen[:-1])[-1], variance) < LEVEL


def test_many_rows_are_sampled(rng):
    """Different rows, the same for the same generator, the first eleven those of enumeration."""
    draws = rng.beta(0.5, 0.5, (40, 60))
    rows = select_bald(draws, 30, default_rng(1))
    assert len(set(rows.tolist())) == 30
    assert np.array_equal(select_bald(draws, 30, default_rng(1)), rows)
    assert np.array_equal(select_bald(draws, 11), rows[:11])


def test_generator_is_needed_only_for_many_rows(rng):
    """Eleven rows of two classes, seven of three are enumerated; then it is asked for, and used."""
    assert [is_sampled(11, 2), is_sampled(12, 2), is_sampled(7, 3), is_sampled(8, 3)] == [False, True, False, True]
    generator = default_rng(0)
    select_bald(rng.random((4, 20)), 11, generator)
    assert generator.random() == default_rng(0).random()
    with pytest.raises(ValueError, match=r"rng must be a numpy.random.Generator for n = 12 rows of 2 classes"):
        select_bald(rng.random((4, 20)), 12)


def test_impossible_labels_are_never_sampled(rng):
    """Probabilities of 0 and 1 among chosen rows: no warning, no NaN, and sure rows last."""
    sure = rng.integers(0, 2, (6, 14)).astype(float)
    rows = select_bald(np.column_stack([np.ones((6, 3)), sure]), 17, default_rng(0))
    assert sorted(rows.tolist()) == list(range(17))
    assert not set(rows[:2].tolist()) & {0, 1, 2}
    three = np.eye(3)[rng.integers(0, 3, (6, 12))]
    assert len(set(select_bald(three, 12, default_rng(0)).tolist())) == 12


def test_many_labels_do_not_underflow(rng):
    """Two thousand labels have a likelihood below the smallest double under every draw, and still tell something."""
    draws = rng.uniform(0.01, 0.99, (3, 2000))
    known = _Configurations.of_sources(3, rng)
    for row in by_class(draws).transpose(1, 0, 2):
        known = known.with_sampled_label(row, rng)
    assert np.exp(known.log_likelihood).max() == 0.0
    # They tell which draw it was, so all there is to learn.
    assert redundancies(draws, known) == pytest.approx(uncertainty_from_draws(draws).epistemic, abs=1e-2)


@pytest.mark.parametrize(
    ("probabilities", "message"),
    [
        ([0.1, 0.2], r"got shape \(2,\)"),
        (np.zeros((0, 3)), r"not empty; got shape \(0, 3\)"),
        (np.zeros((3, 0)), r"not empty; got shape \(3, 0\)"),
        (np.zeros((1, 1, 1, 1)), r"got shape \(1, 1, 1, 1\)"),
        ([[0.1, 0.2], [0.3, np.nan]], "got nan at draw 1, row 1"),
        ([[0.1, -0.2]], "got -0.2 at draw 0, row 1"),
        ([[[0.5, 0.5], [1.5, -0.5]]], "got 1.5 at draw 0, row 1"),
        ([[[0.5, 0.5], [0.5, 0.4]]], "sum to 1; got 0.9 at draw 0, row 1"),
    ],
)
def test_bad_chances_are_refused(probabilities, message):
    """With their place."""
    for function in (uncertainty_from_draws, select_bald):
        with pytest.raises(ValueError, match=message):
            function(probabilities)


@pytest.mark.parametrize("n", [0, -1, 4, 1.0, True, "2", None, [1]])
def test_bad_numbers_are_refused(n):
    """With what was seen, and what may be."""
    with pytest.raises(ValueError, match=r"n must be a whole number from 1 to 3, the number of rows given; got"):
        select_bald([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]], n)
