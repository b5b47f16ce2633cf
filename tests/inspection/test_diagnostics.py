"""R-hat, effective sample sizes and the sentences about them."""

from dataclasses import replace

import numpy as np
import pytest
from checks import LEVEL
from model_fixtures import FIXTURES
from scipy import stats

from softpolytope import SumStackSoftplusClassifier, load_model
from softpolytope.inspection._diagnostics import (
    FALSE_ALARMS,
    MAX_R_HAT,
    MIN_DRAWS,
    PROBABILITY,
    Diagnosis,
    bulk_ess,
    diagnose,
    diagnose_model,
    disagreement,
    in_words,
    largest_by_chance,
    r_hat,
    tail_ess,
)


def autoregression(rng, correlation, n_chains=4, n_draws=20_000):
    """Stationary chains with a known autocorrelation."""
    draws = rng.normal(size=(n_chains, n_draws))
    for i in range(1, n_draws):
        draws[:, i] = correlation * draws[:, i - 1] + np.sqrt(1 - correlation**2) * draws[:, i]
    return draws


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_effective_size_of_an_autoregression(correlation, rng):
    """ESS is n (1 - c) / (1 + c), to the few per cent of error that this many draws leave."""
    draws = autoregression(rng, correlation)
    expected = draws.size * (1 - correlation) / (1 + correlation)
    assert bulk_ess(draws) == pytest.approx(expected, rel=0.15)
    assert r_hat(draws) < 1.01


def test_agrees_with_arviz(rng):
    """ArviZ, if installed, gives the same numbers."""
    arviz = pytest.importorskip("arviz")
    for draws in (
        autoregression(rng, 0.8, 3, 501),
        rng.standard_cauchy((4, 200)),
        rng.normal(size=(2, 100)) + np.array([[0.0], [0.5]]),
        rng.integers(3, 7, (4, 300)).astype(float),
    ):
        assert r_hat(draws) == pytest.approx(float(arviz.rhat(draws)), rel=1e-6)
        assert bulk_ess(draws) == pytest.approx(float(arviz.ess(draws, method="bulk")), rel=0.05)
        assert tail_ess(draws) == pytest.approx(float(arviz.ess(draws, method="tail")), rel=0.05)


@pytest.mark.parametrize("kind", ["shifted", "wider", "drifting"])
def test_a_deviating_chain_is_named(kind, rng):
    """Another mean, another spread, or a drift in one chain gives a large R-hat and its number."""
    draws = rng.normal(size=(4, 1000))
    if kind == "shifted":
        draws[1] += 3.0
    elif kind == "wider":
        draws[1] *= 8.0
    else:
        draws[1] += np.linspace(0.0, 6.0, 1000)
    item = diagnose({"log-likelihood": draws})[0]
    assert not item.is_fine
    assert item.odd_chains == (1,)
    assert "without chain 1" in in_words([item])[0]


def test_agreeing_chains_say_nothing(rng):
    """No sentence for good draws; one about too few effective draws for slow ones."""
    assert in_words(diagnose({"log-likelihood": rng.normal(size=(4, 1000))})) == []
    slow = diagnose({"log-likelihood": autoregression(rng, 0.5, 2, 60)})
    assert "independent" in in_words(slow)[0]


@pytest.mark.slow
def test_perfect_chains_seldom_give_a_warning(rng):
    """At most 1 % of fits with independent draws have an R-hat above the limit at one of ten rows.

    An exact binomial test of 300 fits at LEVEL; the control, one limit for all numbers of draws, is rejected.
    """
    n_fits, n_rows = 300, 10
    worst = np.array([max(r_hat(rng.normal(size=(2, 50))) for _ in range(n_rows)) for _ in range(n_fits)])
    n_most = stats.binom.isf(LEVEL, n_fits, FALSE_ALARMS)
    assert (worst > largest_by_chance(2, 50, n_rows)).sum() <= n_most
    assert (worst > MAX_R_HAT).sum() > n_most


def test_limit_falls_with_the_number_of_draws():
    """It falls to almost 1.01, which Vehtari et al. recommend for four chains of a thousand draws."""
    limits = [largest_by_chance(4, n_draws, 10) for n_draws in (4, 50, 200, 1000)]
    assert limits == sorted(limits, reverse=True)
    assert limits[-1] < 1.01


def diagnosis(name, value):
    """Return the diagnosis of a quantity with this R-hat."""
    return Diagnosis(name, value, 100.0, 100.0, ())


@pytest.mark.parametrize(
    ("of_trace", "of_row", "n_draws", "is_reported"),
    [
        (1.60, 1.07, 50, True),  # the trace confirms it
        (1.00, 1.07, 50, False),  # chance, as far as 50 draws can tell
        (1.00, 1.07, 500, True),  # not chance
        (1.00, 1.20, 50, True),  # nor this
        (1.60, 1.04, 500, False),  # no row is affected
    ],
)
def test_disagreement_about_probabilities(of_trace, of_row, n_draws, is_reported):
    """It is reported, with value and number of rows, if beyond chance or confirmed by what every sweep records."""
    rows = [diagnosis(f"{PROBABILITY} {number}", 1.0) for number in range(9)]
    found = disagreement(
        [diagnosis("number of experts", of_trace), *rows, diagnosis(f"{PROBABILITY} 9", of_row)], 2, n_draws
    )
    assert (found is not None) is is_reported
    if found is not None:
        assert f"R-hat is up to {of_row:.2f}, and above 1.05 at 1 of the 10 probabilities compared. Run more" in found


def test_disagreement_needs_probabilities():
    """Without diagnosed probabilities, as after very few draws, nothing is reported."""
    assert disagreement([diagnosis("log-likelihood", 3.0)], 2, 3) is None


def test_constants():
    """A number of experts that never changes agrees with itself, not with another constant."""
    assert r_hat(np.full((2, 50), 3.0)) == 1.0
    assert r_hat(np.array([[3.0] * 50, [4.0] * 50])) == np.inf


@pytest.mark.parametrize("values", [np.zeros(10), np.zeros((2, MIN_DRAWS - 1)), [[np.nan] * 10]])
def test_bad_draws_are_refused(values):
    """The message names the quantity."""
    with pytest.raises(ValueError, match="mass"):
        diagnose({"mass": values})


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_chains_are_compared_within_their_labeling(rng):
    """Chains that disagree in both labelings in opposite directions are found, though their averages agree."""
    X = rng.normal(size=(40, 2))
    model = SumStackSoftplusClassifier(
        inference="gibbs", start="random", n_sweeps=40, n_draws=20, max_experts=2, random_state=0
    ).fit(X, X[:, 0] > 0.0)
    n_chains, n_draws = 2, 20
    draws = 0.5 + 0.01 * rng.normal(size=(2, n_chains, n_draws, 1))
    agreeing = replace(model.model_, probe_probabilities=(draws.reshape(-1, 1).copy(),))
    for side, sign in enumerate((1.0, -1.0)):
        draws[side, 1] += sign * 0.3
    disagreeing = replace(model.model_, probe_probabilities=(draws.reshape(-1, 1),))
    names = [f"{PROBABILITY} 0, labeling {side}" for side in (0, 1)]
    for item, is_high in ((agreeing, False), (disagreeing, True)):
        found = {quantity.name: quantity.r_hat for quantity in diagnose_model(item)}
        assert [found[name] > 1.5 for name in names] == [is_high, is_high]


def test_old_files_are_diagnosed():
    """Files of earlier versions have averages of both labelings."""
    names = [item.name for item in load_model(FIXTURES / "gibbs.softpolytope").diagnostics()]
    assert f"{PROBABILITY} 0" in names
    assert f"{PROBABILITY} 0, labeling 0" not in names
