"""Uncertainty and its two parts."""

import mpmath
import numpy as np
import pytest

from softpolytope.inspection import _uncertainty as uncertainty
from softpolytope.inspection._uncertainty import uncertainty_from_draws


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


@pytest.mark.parametrize("spread", [1.0, 1e-3, 1e-8, 1e-11])
@pytest.mark.parametrize("center", [0.5, 0.97, 1e-3, 1e-12, 1e-200])
def test_parts_are_precise(center, spread, rng):
    """Both parts are precise to 1e-6, however little the draws differ; the plain difference of entropies is not."""
    draws = center * (1.0 - spread * rng.random(7))
    aleatoric, epistemic = precise_parts(draws)
    parts = uncertainty_from_draws(draws[:, None])
    assert parts.aleatoric[0] == pytest.approx(aleatoric, rel=1e-12, abs=0.0)
    assert parts.epistemic[0] == pytest.approx(epistemic, rel=1e-6, abs=0.0)


def test_plain_differences_are_not_precise(rng):
    """The test above would reject H(mean) - mean H in doubles."""
    draws = 0.5 * (1.0 - 1e-8 * rng.random(7))
    entropies = [-(p * np.log(p)).sum(axis=-1) for p in (by_class(draws.mean()), by_class(draws))]
    assert entropies[0] - entropies[1].mean() != pytest.approx(precise_parts(draws)[1], rel=0.01, abs=0.0)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_total_is_the_entropy_of_the_mean(n_classes, rng):
    """The total is also the sum of its parts, to 1e-12; no part is negative."""
    draws = rng.dirichlet(np.full(n_classes, 0.3), (20, 50))
    parts = uncertainty_from_draws(draws)
    mean = draws.mean(axis=0)
    assert parts.total == pytest.approx(-(mean * np.log(mean)).sum(axis=1), abs=1e-12)
    assert parts.total == pytest.approx(parts.aleatoric + parts.epistemic, abs=1e-12)
    assert min(parts.aleatoric.min(), parts.epistemic.min()) >= 0.0


def test_draws_that_agree_have_nothing_to_learn():
    """The epistemic part is exactly 0, even where the mean of three equal doubles is not that double."""
    assert np.mean([0.1, 0.1, 0.1]) != 0.1
    assert uncertainty_from_draws(np.full((3, 2), 0.1)).epistemic.tolist() == [0.0, 0.0]
    assert uncertainty_from_draws(np.broadcast_to([0.1, 0.2, 0.7], (3, 4, 3))).epistemic.tolist() == [0.0] * 4


def test_sure_draws():
    """Probabilities of 0 and 1 have no aleatoric part; the epistemic one is log 2 if half of the draws say each."""
    parts = uncertainty_from_draws([[0.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    assert parts.aleatoric.tolist() == [0.0, 0.0, 0.0]
    assert parts.epistemic[:2].tolist() == [0.0, 0.0]
    assert parts.epistemic[2] == pytest.approx(np.log(2.0), rel=1e-15)


def test_two_classes_are_two_of_several(rng):
    """The parts are the same for one probability, for two, and with a third class that never occurs."""
    draws = rng.beta(0.5, 0.5, (12, 30))
    both = by_class(draws)
    three = np.concatenate([both, np.zeros((12, 30, 1))], axis=2)
    expected = uncertainty_from_draws(draws)
    for other in (both, three):
        parts = uncertainty_from_draws(other)
        for name in ("total", "aleatoric", "epistemic"):
            assert getattr(parts, name) == pytest.approx(getattr(expected, name), abs=1e-14)


def test_chunks_change_nothing(rng, monkeypatch):
    """The parts are the same if rows are processed one at a time."""
    draws = rng.beta(0.5, 0.5, (12, 30))
    expected = uncertainty_from_draws(draws)
    monkeypatch.setattr(uncertainty, "MAX_NUMBERS_AT_ONCE", 1)
    assert uncertainty_from_draws(draws).epistemic == pytest.approx(expected.epistemic, abs=1e-15)


@pytest.mark.parametrize(
    ("probabilities", "message"),
    [
        ([0.1, 0.2], r"got shape \(2,\)"),
        (np.zeros((0, 3)), r"not be empty; got shape \(0, 3\)"),
        (np.zeros((3, 0)), r"not be empty; got shape \(3, 0\)"),
        (np.zeros((1, 1, 1, 1)), r"got shape \(1, 1, 1, 1\)"),
        ([[0.1, 0.2], [0.3, np.nan]], "got nan at draw 1, row 1"),
        ([[0.1, -0.2]], "got -0.2 at draw 0, row 1"),
        ([[[0.5, 0.5], [1.5, -0.5]]], "got 1.5 at draw 0, row 1"),
        ([[[0.5, 0.5], [0.5, 0.4]]], "sum to 1; got 0.9 at draw 0, row 1"),
    ],
)
def test_bad_probabilities_are_refused(probabilities, message):
    """The message names the first bad entry."""
    with pytest.raises(ValueError, match=message):
        uncertainty_from_draws(probabilities)
