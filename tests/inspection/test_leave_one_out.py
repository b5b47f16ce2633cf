"""Leave-one-out predictive probabilities of the model that predicts."""

import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from softpolytope import SoftplusClassifier
from softpolytope.inspection._datatree import posterior_tree
from softpolytope.inspection._leave_one_out import labeling_logs, log_predictive, smoothed_log_weights
from softpolytope.model import combine_odds
from softpolytope.model._posterior import Draws, LabelingPosterior, Posterior, RegressionPosterior

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto"),
]
N_CHAINS, N_DRAWS = 2, 600


@pytest.fixture(scope="module")
def arviz():
    """ArviZ, if it is installed; 0.23 announces 1.0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("arviz")


def labeling(rng, intercept, spread):
    """Return draws of one expert with one feature, with independent intercepts and coefficients."""
    n = N_CHAINS * N_DRAWS
    coefficients = np.column_stack([rng.normal(intercept, spread, n), rng.normal(1.0, spread, n)])[:, None, :]
    draws = Draws(coefficients, np.ones(n), np.ones(n, bool), np.arange(n + 1), rng.normal(size=n))
    traces = np.zeros((3, N_CHAINS, N_DRAWS))
    return LabelingPosterior(draws, draws[0], N_CHAINS, *traces)


def left_out(draws, X, z):
    """Return P(z = 1) and P(z = 0) without the row by plain sums over smoothed weights of one labeling's draws."""
    positive = -np.expm1(-draws.rates(X))
    own = np.where(z, positive, 1.0 - positive)
    weights = np.exp(smoothed_log_weights(-np.log(own)))
    return np.stack([(weights * positive).sum(axis=0), (weights * (1.0 - positive)).sum(axis=0)])


def get_elpd(loo):
    """Return the estimate under its name in either version of ArviZ."""
    return float(loo.elpd_loo if hasattr(loo, "elpd_loo") else loo.elpd)


def test_weights_are_those_of_arviz(arviz, rng):
    """The weights equal ArviZ's to rounding for light and heavy tails, ties and constants."""
    if not hasattr(arviz, "psislw"):
        pytest.skip("this ArviZ has no psislw for arrays")
    ratios = np.column_stack(
        [rng.normal(size=1000), rng.pareto(1.2, size=1000), np.repeat(rng.normal(size=50), 20), np.zeros(1000)]
    )
    for efficiency in (1.0, 0.1):
        expected = np.exp(arviz.psislw(np.ascontiguousarray(ratios.T), efficiency)[0].T)
        found = np.exp(smoothed_log_weights(ratios, efficiency))
        # Which of several equal ratios has which of their weights is arbitrary.
        expected[:, 2], found[:, 2] = np.sort(expected[:, 2]), np.sort(found[:, 2])
        assert found == pytest.approx(expected, abs=1e-12)


def test_loo_is_the_mean_of_both_labelings(arviz, rng):
    """ArviZ yields the mean of the labelings' leave-one-out predictives, not that of pairs or of all draws alike."""
    X, codes = rng.normal(size=(200, 1)), rng.integers(0, 2, 200)
    posterior = Posterior((RegressionPosterior((labeling(rng, 1.5, 0.5), labeling(rng, -2.5, 0.5))),))
    own, opposite = (item.draws for item in posterior.regressions[0].labelings)
    positive, negative = 0.5 * (left_out(own, X, codes == 1) + left_out(opposite, X, codes == 0)[::-1])
    expected = np.log(np.where(codes == 1, positive, negative))
    found = arviz.loo(posterior_tree(posterior, X, codes), pointwise=True)
    values = np.asarray(found.loo_i if hasattr(found, "loo_i") else found.elpd_i)
    assert values == pytest.approx(expected, abs=0.02)
    assert get_elpd(found) == pytest.approx(expected.sum(), abs=0.1)
    # Controls: all draws as those of one posterior, and the labelings averaged draw by draw.
    logs = [item.logs for item in labeling_logs(posterior, X, codes)]
    for wrong in (np.concatenate(logs), np.log(0.5 * (np.exp(logs[0]) + np.exp(logs[1])))):
        control = logsumexp(smoothed_log_weights(-wrong) + wrong, axis=0)
        assert abs(control.sum() - expected.sum()) > 2.0


def test_several_classes_are_combined_without_the_row(arviz, rng):
    """The predictive of three classes is the odds of each without the row, divided by their sum."""
    X, codes = rng.normal(size=(90, 1)), rng.integers(0, 3, 90)
    regressions = [RegressionPosterior((labeling(rng, c - 1.0, 0.4), labeling(rng, 1.0 - c, 0.4))) for c in range(3)]
    probabilities = []
    for number, regression in enumerate(regressions):
        own, opposite = (item.draws for item in regression.labelings)
        found = left_out(own, X, codes == number) + left_out(opposite, X, codes != number)[::-1]
        probabilities.append(0.5 * found)
    positive, negative = np.moveaxis(np.array(probabilities), 1, 0)
    expected = np.log(combine_odds(positive, negative)[codes, np.arange(90)])
    posterior = Posterior(tuple(regressions))
    assert log_predictive(labeling_logs(posterior, X, codes), codes) == pytest.approx(expected, abs=0.02)
    assert get_elpd(arviz.loo(posterior_tree(posterior, X, codes))) == pytest.approx(expected.sum(), abs=0.1)


def test_rows_beyond_all_doubles_have_finite_logarithms(rng):
    """A rate that overflows gives a very small probability, not NaN."""
    posterior = Posterior((RegressionPosterior((labeling(rng, 0.0, 0.1), labeling(rng, 0.0, 0.1))),))
    X, codes = np.array([[1e308], [-1e308]]), np.array([0, 1])
    assert np.isfinite(log_predictive(labeling_logs(posterior, X, codes), codes)).all()


@pytest.mark.slow
def test_agrees_with_refits_without_the_row(arviz):
    """The sum over nine of thirty rows equals that of nine refits, by a t-test over eight seeds at level 1e-4.

    The control, the labelings averaged draw by draw, is rejected at that level.
    """
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 2))
    y = (rng.random(30) < -np.expm1(-np.exp(1.5 * X[:, 0] - 1.0))).astype(int)
    rows = np.arange(9)
    differences, controls = [], []
    for seed in range(8):
        model = SoftplusClassifier(
            inference="gibbs", start="random", standardize=False, n_chains=1, n_sweeps=500, n_burn_in=100,
            n_draws=400, random_state=seed,
        )  # fmt: skip
        refits = [model.fit(np.delete(X, row, 0), np.delete(y, row)).predict_proba(X[row, None])[0] for row in rows]
        exact = np.log([refit[label] for refit, label in zip(refits, y, strict=False)]).sum()
        model.fit(X, y)
        found = arviz.loo(model.to_datatree(X, y), pointwise=True)
        values = np.asarray(found.loo_i if hasattr(found, "loo_i") else found.elpd_i)
        probabilities = 0.5 * model.predict_proba_draws(X[rows]).reshape(2, -1, len(rows)).sum(axis=0)
        logs = np.log(np.where(y[rows] == 1, probabilities, 1.0 - probabilities))
        differences.append(values[rows].sum() - exact)
        controls.append(logsumexp(smoothed_log_weights(-logs) + logs, axis=0).sum() - exact)
    assert stats.ttest_1samp(differences, 0.0).pvalue > 1e-4
    assert stats.ttest_1samp(controls, 0.0).pvalue < 1e-4
