"""The Polya-Gamma law."""

from itertools import pairwise

import numpy as np
import pytest
from checks import LEVEL, N_DRAWS, ks_pvalue, mean_pvalue, variance_pvalue
from distributions.polya_gamma_oracles import series_cdf, thousand_term_cdf
from mpmath import mp, mpf
from scipy import integrate, stats

from softpolytope.distributions import polya_gamma, polya_gamma_moments
from softpolytope.distributions._kernels import polya_gamma as _polya_gamma

SHAPES = [1e-300, 1e-12, 1e-4, 0.05, 0.3, 0.9, 1.0, 1.5, 3.3, 12.7, 1e3, 1e6]
TILTS = [0.0, 1e-8, 0.5, 2.0, 10.0, 50.0, 700.0, 1e4]


def exact_cumulants(tilt):
    """First four cumulants of PG(1, tilt), (n - 1)! sum_j d_j^n, in 60 digits.

    The sums over j are derivatives in u of log cosh(sqrt u), which is analytic in u, zero included; they are
    taken by Cauchy's integral on a circle inside the first pole.
    """
    with mp.workdps(60):
        u, n_points, radius = mpf(tilt) ** 2 / 4, 128, mpf(1)
        circle = [radius * mp.expjpi(2 * mpf(k) / n_points) for k in range(n_points)]
        values = [mp.log(mp.cosh(mp.sqrt(u + z))) for z in circle]
        coefficients = [sum(v / z**n for v, z in zip(values, circle, strict=True)) / n_points for n in range(5)]
        return [-((-mpf(1) / 2) ** n) * mp.factorial(n) * mp.re(coefficients[n]) for n in (1, 2, 3, 4)]


@pytest.mark.parametrize("tilt", [0.0, 1e-8, 0.3, 0.9999, 1.0001, 2.0, 10.0, 50.0, 700.0])
def test_moments_are_exact(tilt):
    """The closed forms agree with the derivatives of the log transform, on both sides of the switch."""
    exact = exact_cumulants(tilt)
    for ours, truth in zip(polya_gamma_moments(1.0, tilt), exact[:3], strict=True):
        assert abs(mpf(float(ours)) / truth - 1) < 1e-11
    mean, variance, third = polya_gamma_moments([2.0, 4.0], -tilt)
    assert mean[1] == 2 * mean[0]
    assert variance[1] == 2 * variance[0]
    assert third[1] == 2 * third[0]


@pytest.mark.parametrize("tilt", TILTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_mean_and_variance(shape, tilt, rng):
    """A million draws have the exact mean and variance; twice the shape is rejected (from 1e-4 on).

    Below, draws that matter are too rare for a million to show anything but that they are finite.
    """
    draws = polya_gamma(shape, tilt, rng, size=N_DRAWS)
    assert np.isfinite(draws).all()
    assert draws.min() >= 0.0
    if shape < 1e-4:
        assert draws.mean() < 1e-3 * np.sqrt(shape)
        return
    mean, variance, _ = polya_gamma_moments(shape, tilt)
    assert mean_pvalue(draws, mean, variance) > LEVEL
    assert mean_pvalue(draws, 2.0 * mean, 2.0 * variance) < LEVEL
    if shape >= 0.05:  # below, the fourth moment is carried by a handful of draws
        assert variance_pvalue(draws, mean, variance) > LEVEL
        assert variance_pvalue(draws, mean, 2.0 * variance) < LEVEL


@pytest.mark.parametrize("tilt", [0.0, 0.5, 2.0, 10.0])
@pytest.mark.parametrize("shape", [0.05, 0.3, 0.9, 1.0, 1.5, 2.5, 3.3, 4.5, 12.7])
def test_draws_follow_the_exact_distribution(shape, tilt, rng):
    """A million draws pass Kolmogorov-Smirnov against the series; 2 % more shape is rejected."""
    draws = polya_gamma(shape, tilt, rng, size=N_DRAWS)
    assert ks_pvalue(draws, series_cdf(shape, tilt)) > LEVEL
    assert ks_pvalue(draws, series_cdf(1.02 * shape, tilt)) < LEVEL


@pytest.mark.parametrize(
    ("shape", "tilt"), [(0.3, 0.0), (0.9, 2.0), (1.0, 0.5), (3.3, 2.0), (12.7, 0.0), (1e3, 0.5), (1e6, 2.0)]
)
def test_draws_follow_the_thousand_term_reference(shape, tilt, rng):
    """A million draws pass Kolmogorov-Smirnov against 1,000 gamma terms with a corrected tail; 2 % is rejected."""
    draws = polya_gamma(shape, tilt, rng, size=N_DRAWS)
    mean, variance, _ = polya_gamma_moments(shape, tilt)
    deviation = np.sqrt(variance)
    assert ks_pvalue(draws, thousand_term_cdf(shape, tilt, mean, deviation)) > LEVEL
    assert ks_pvalue(draws, thousand_term_cdf(1.02 * shape, tilt, mean, deviation)) < LEVEL


@pytest.mark.slow
def test_draws_agree_with_a_sampled_thousand_term_reference(rng):
    """Two-sample Kolmogorov-Smirnov against 20,000 sums of 1,000 gammas and a gamma tail; level 1e-4."""
    shape, tilt = 0.3, 1.0
    places = np.arange(1, 1001) - 0.5
    scales = 1.0 / (2 * np.pi**2 * (places**2 + (tilt / (2 * np.pi)) ** 2))
    mean, variance, _ = polya_gamma_moments(1.0, tilt)
    tail_mean, tail_variance = mean - scales.sum(), variance - (scales**2).sum()
    reference = np.concatenate([rng.standard_gamma(shape, (2000, 1000)) @ scales for _ in range(10)])
    tail = rng.standard_gamma(shape * tail_mean**2 / tail_variance, 20_000)
    reference += tail * tail_variance / tail_mean
    draws = polya_gamma(shape, tilt, rng, size=N_DRAWS)
    assert stats.ks_2samp(draws, reference, method="asymp").pvalue > LEVEL
    wrong = polya_gamma(1.15 * shape, tilt, rng, size=N_DRAWS)
    assert stats.ks_2samp(wrong, reference, method="asymp").pvalue < LEVEL


def test_tiny_shapes_add_up(rng):
    """10,000 draws of shape 1e-4 sum to one of shape 1: infinite divisibility tests the rare jumps."""
    sums = polya_gamma(1e-4, 1.0, rng, size=(2000, 10_000)).sum(axis=1)
    assert ks_pvalue(sums, series_cdf(1.0, 1.0)) > LEVEL
    assert ks_pvalue(sums, series_cdf(1.3, 1.0)) < LEVEL


@pytest.mark.parametrize(
    ("shape", "tilt"), [(0.05, 0.0), (0.5, 1.0), (1.3, 0.2), (2.0, 0.0), (20.0, 3.0), (300.0, 6.0)]
)
def test_rejection_has_the_exact_cumulants(shape, tilt):
    """Inverse Gaussian density times acceptance integrates to 1, and to the exact first three cumulants.

    The relative error of the third cumulant is then that of the integral, below 1e-7.
    """
    log_front = shape * np.log1p(np.exp(-tilt)) + np.log(shape / 2) + shape * tilt / 2
    mean, variance, third = polya_gamma_moments(shape, tilt)

    def density(x):
        log_proposal = -1.5 * np.log(x) - shape**2 / (8 * x) - tilt**2 * x / 2 - 0.5 * np.log(2 * np.pi)
        return np.exp(log_front + log_proposal) * _polya_gamma.acceptance(x, shape)

    def moment(function):
        # In log x, because small shapes live on many scales.
        low = np.log(shape**2 / 8) - np.log(700)
        breaks = [np.log(shape**2 / 8), np.log(mean), np.log(mean + 5 * np.sqrt(variance))]
        high = np.log(mean + 60 * max(np.sqrt(variance), 0.3))
        pieces = [low, *sorted(point for point in breaks if low < point < high), high]
        return sum(
            integrate.quad(
                lambda t: function(np.exp(t)) * density(np.exp(t)) * np.exp(t), a, b, epsrel=1e-11, limit=400
            )[0]
            for a, b in pairwise(pieces)
        )

    assert moment(lambda _: 1.0) == pytest.approx(1.0, rel=1e-8)
    assert moment(lambda x: x) == pytest.approx(mean, rel=1e-8)
    assert moment(lambda x: (x - mean) ** 2) == pytest.approx(variance, rel=1e-7)
    assert moment(lambda x: (x - mean) ** 3) == pytest.approx(third, rel=1e-7)


@pytest.mark.parametrize("tilt", [0.0, 0.5, 1.5, 4.0, 10.0, 25.0])
def test_three_gammas_have_four_exact_cumulants(tilt):
    """The rule drawn for large shapes has the first four cumulants of all terms, to 1e-9."""
    scales, weights = (np.array(part) for part in _polya_gamma.rule_of_gammas(tilt))
    exact = exact_cumulants(tilt)
    for order in (1, 2, 3, 4):
        ours = float(mp.factorial(order - 1)) * (weights * scales**order).sum()
        assert ours == pytest.approx(float(exact[order - 1]), rel=1e-9)


@pytest.mark.parametrize(("shape", "tilt"), [(4.0, 0.0), (4.5, 1.0), (11.0, 2.0), (77.0, 4.0), (4000.0, 8.0)])
def test_three_gammas_are_within_their_stated_error(shape, tilt):
    """Where they take over, their distribution function is within 2e-7; one matched gamma is off by 1e-3.

    The difference of two distribution functions is the inverse transform of the difference of their
    transforms, which has no error of its own to hide a small one.
    """
    scales, weights = (np.array(part) for part in _polya_gamma.rule_of_gammas(tilt))
    mean, variance, _ = polya_gamma_moments(shape, tilt)
    deviation = np.sqrt(variance)
    frequencies = (np.arange(100_000) + 0.5) * 1.2e-3 / deviation
    root = np.sqrt((tilt**2 / 2 - 1j * frequencies) / 2)
    exact = np.exp(-shape * (root - tilt / 2 + np.log1p(np.exp(-2 * root)) - np.log1p(np.exp(-tilt))))

    rules = [(scales, weights), ([variance / mean], [mean**2 / variance / shape])]
    logs = [sum(w * np.log1p(-1j * frequencies * s) for s, w in zip(*rule, strict=True)) for rule in rules]
    differences = (exact - np.exp(-shape * np.array(logs))) / frequencies
    places = np.linspace(max(mean - 4 * deviation, 0.01 * mean), mean + 5 * deviation, 40)
    gaps = [abs((differences @ np.exp(-1j * frequencies * x)).imag) for x in places]
    three, one = np.max(gaps, axis=0) * 1.2e-3 / deviation / np.pi
    assert three < 2e-7
    assert one > 3e-4


def test_large_tilts_are_inverse_gaussian(rng):
    """At tilt 50 nothing is thinned: the law is inverse Gaussian with mean h / (2c) and shape h^2 / 4."""
    shape, tilt = 1.7, 50.0
    mean, width = shape / (2 * tilt), shape**2 / 4
    draws = polya_gamma(shape, tilt, rng, size=N_DRAWS)
    assert ks_pvalue(draws, stats.invgauss(mean / width, scale=width).cdf) > LEVEL
    assert ks_pvalue(1.01 * draws, stats.invgauss(mean / width, scale=width).cdf) < LEVEL


@pytest.mark.parametrize("terms", [1, 2, 6])
def test_truncated_sum_has_exact_mean_and_variance(terms, rng):
    """The paper's approximation matches two moments at any level; a wrong tilt is rejected."""
    draws = polya_gamma(0.8, 3.0, rng, size=N_DRAWS, terms=terms)
    mean, variance, third = polya_gamma_moments(0.8, 3.0)
    assert mean_pvalue(draws, mean, variance) > LEVEL
    assert variance_pvalue(draws, mean, variance) > LEVEL
    wrong = polya_gamma_moments(0.8, 3.2)
    assert mean_pvalue(draws, wrong.mean, wrong.variance) < LEVEL
    # One term misses the third cumulant by a fifth or more, six have it.
    cubes = (draws - mean) ** 3
    z = (cubes.mean() - third) / np.sqrt(cubes.var() / N_DRAWS)
    assert (abs(z) > 4.0) == (terms == 1)


def test_negligible_shapes_return_the_mean(rng):
    """Below 1e-25 the draw is the mean, and shape 0 is 0, with truncated terms too."""
    assert polya_gamma(1e-300, [0.0, 0.05, 3.0, -700.0], rng) == pytest.approx(
        polya_gamma_moments(1e-300, [0.0, 0.05, 3.0, -700.0]).mean, rel=1e-12
    )
    assert polya_gamma([0.0, 0.0], [0.0, 9.0], rng).tolist() == [0.0, 0.0]
    assert polya_gamma([0.0, 1e-300], 1.0, rng, terms=6).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("shape", [5e-324, 1e-160, 1e-24, 1e15, 1e29, 1e100, 1e300])
@pytest.mark.parametrize("tilt", [0.0, 5e-324, 1e-200, 1e-3, 40.0, 67.5, 1e100, 1e300])
def test_no_argument_breaks_it(shape, tilt, rng):
    """Any finite shape and tilt give a finite draw, near the mean where the law has no spread."""
    draws = polya_gamma(shape, tilt, rng, size=100)
    assert np.isfinite(draws).all()
    if shape >= 1e15:
        assert draws == pytest.approx(polya_gamma_moments(shape, tilt).mean, rel=1e-5)


def test_sign_of_the_tilt_does_not_matter():
    """PG(h, c) and PG(h, -c) are the same law, and the same draws."""
    plus = polya_gamma(0.7, 1.3, np.random.default_rng(1), size=50)
    minus = polya_gamma(0.7, -1.3, np.random.default_rng(1), size=50)
    assert plus.tolist() == minus.tolist()
