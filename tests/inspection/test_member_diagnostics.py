"""Monte Carlo errors of members of a bootstrap, and the agreement of the labelings."""

import numpy as np
import pytest
from checks import LEVEL
from scipy import stats
from scipy.special import expit
from sklearn.datasets import load_iris, make_moons

from softpolytope import SumSoftplusClassifier, load_model
from softpolytope.inspection import MemberDiagnosis, diagnose_row, members_in_words, quantile_error
from softpolytope.inspection._member_diagnostics import FALSE_ALARMS


@pytest.fixture(scope="module")
def moons():
    """A hundred rows of two half circles."""
    return make_moons(100, noise=0.2, random_state=0)


@pytest.fixture(scope="module")
def fitted(moons):
    """Ten members."""
    return SumSoftplusClassifier(max_experts=3, n_members=10, random_state=0).fit(*moons)


def test_training_rows_are_diagnosed(fitted, moons):
    """Their probabilities and intervals are those that the model predicts."""
    X, _ = moons
    found = fitted.diagnostics()
    assert [item.name for item in found] == [f"probability at training row {number}" for number in range(10)]
    assert all(isinstance(item, MemberDiagnosis) and item.n_members == 10 for item in found)
    probabilities = fitted.predict_proba(X)[:, 1]
    with pytest.warns(UserWarning, match="need 18 members"):
        intervals = fitted.predict_interval(X)
    for item in found:
        row = int(np.argmin(abs(probabilities - item.probability)))
        assert item.probability == pytest.approx(probabilities[row], abs=1e-9)
        assert item.interval == pytest.approx(tuple(intervals[row].tolist()), abs=1e-12)
        assert 0.0 < item.probability_error < 0.2
        assert abs(item.labeling_difference) <= 1.0


def test_errors_are_those_of_other_members(rng):
    """The spread over repetitions of probabilities and ends, within a fifth of the mean error told."""

    def draw():
        return expit(rng.normal([[0.5], [0.7]], 1.0, size=(2, 25)))

    found = [diagnose_row("row", draw()) for _ in range(2000)]
    told = np.mean([(item.probability_error, *item.interval_errors) for item in found], axis=0)
    true = np.std([(item.probability, *item.interval) for item in found], axis=0)
    assert told == pytest.approx(true, rel=0.2)
    # The control: errors of other numbers of members are far off.
    more = diagnose_row("row", np.tile(draw(), (1, 4)))
    assert more.probability_error < 0.6 * true[0]


def test_labelings_that_agree_are_seldom_reported(rng):
    """The p-values of labelings of one law are uniform; those of two laws are small."""
    values = [diagnose_row("row", expit(rng.normal(0.0, 0.3, size=(2, 10)))).labeling_p_value for _ in range(1500)]
    assert stats.kstest(values, "uniform").pvalue > LEVEL
    draws = (expit(rng.normal([[0.0], [0.3]], 0.3, size=(2, 10))) for _ in range(200))
    shifted = [diagnose_row("row", own).labeling_p_value for own in draws]
    assert stats.kstest(shifted, "uniform").pvalue < LEVEL


def test_quantile_errors_of_a_normal_law(rng):
    """Near the formula for many members; the middle is known better than the ends."""
    members = rng.normal(size=20_000)
    for level in (0.055, 0.5):
        density = stats.norm.pdf(stats.norm.ppf(level))
        expected = np.sqrt(level * (1.0 - level) / 20_000) / density
        assert quantile_error(members, level) == pytest.approx(expected, rel=0.15)
    assert quantile_error(members, 0.055) > 1.2 * quantile_error(members, 0.5)
    assert quantile_error(np.array([0.3]), 0.055) == 0.0


def test_problems_are_named():
    """Ends that are not known, and labelings that differ, each in a sentence; members that agree have none."""
    rng = np.random.default_rng(0)
    few = diagnose_row("row 1", np.array([[0.1, 0.9]]))
    apart = diagnose_row("row 2", np.stack([rng.normal(0.2, 0.01, 10), rng.normal(0.5, 0.01, 10)]))
    calm = diagnose_row("row 3", rng.normal(0.5, 0.01, (2, 10)))
    assert members_in_words([calm]) == []
    text = members_in_words([few, calm])
    assert len(text) == 1
    assert text[0].startswith("The interval of the row 1, 0.1 to 0.9, has a Monte Carlo error of 0.3")
    assert "(n_members)" in text[0]
    (text,) = members_in_words([apart, calm])
    assert text.startswith("The two labelings predict different probabilities at 1 of 2 training rows, by up to 0.")
    assert apart.labeling_p_value < FALSE_ALARMS / 2 < calm.labeling_p_value


@pytest.mark.parametrize("n_members", [1, 2])
def test_a_handful_of_members(moons, n_members):
    """One member of each labeling, or one labeling: what cannot be known is not a number, and no error."""
    model = SumSoftplusClassifier(max_experts=2, n_members=n_members, symmetric=n_members == 2, random_state=0)
    item = model.fit(*moons).diagnostics()[0]
    assert item.n_members == n_members
    assert np.isnan(item.probability_error)
    assert np.isnan(item.labeling_z)
    assert item.labeling_p_value == 1.0
    members_in_words([item])


def test_several_classes_and_saved_models(tmp_path):
    """Each class has its rows; a saved model says the same."""
    X, y = load_iris(return_X_y=True)
    model = SumSoftplusClassifier(max_experts=2, n_members=4, random_state=0).fit(X, y)
    found = model.diagnostics()
    assert len(found) == 30
    assert found[10].name == "probability at training row 0 of class 1"
    model.save(tmp_path / "model")
    assert load_model(tmp_path / "model").diagnostics() == found


def test_models_without_diagnostics(moons):
    """Plain modes, and models that keep no training rows, say what to do."""
    plain = SumSoftplusClassifier(inference="map", max_experts=2, n_restarts=1, random_state=0).fit(*moons)
    with pytest.raises(ValueError, match=r'inference="map".* Refit with inference="bootstrap"'):
        plain.diagnostics()
    learned = SumSoftplusClassifier(max_experts=2, n_members=2, random_state=0).partial_fit(*moons, classes=[0, 1])
    with pytest.raises(ValueError, match=r"given to partial_fit.* Refit with fit\."):
        learned.diagnostics()
