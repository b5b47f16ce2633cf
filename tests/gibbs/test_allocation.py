"""Sums of many positive Poisson counts: every rate ends, and follows the law."""

import subprocess
import sys

import numpy as np
import pytest
from checks import LEVEL, chi_square_pvalue
from scipy import stats

from softpolytope.distributions import truncated_poisson_moments, truncated_poisson_pmf
from softpolytope.gibbs._kernels import allocation as _allocation

# Dense where the rounding of a tail can matter, and with rates on both sides of 50, beyond which no count is zero.
RATES = np.concatenate([np.geomspace(0.01, 10.0, 400), np.linspace(10.0, 52.0, 2400), np.geomspace(52.0, 1e4, 200)])


def positive_sums(rates, copies, rng):
    """One sum of `copies` positive Poisson counts for every rate, from rows of that weight."""
    n_rows = len(rates)
    activations = np.ascontiguousarray(rates, dtype=np.float64).reshape(1, n_rows, 1)
    counts = np.empty((1, n_rows, 1))
    _allocation.collapsed(
        rng.bit_generator,
        np.ones(n_rows, dtype=np.uint8),
        np.full(n_rows, float(copies)),
        np.zeros(1),
        np.log(activations),
        activations,
        counts,
        np.empty(n_rows),
        np.empty(3),
    )
    return counts[0, :, 0]


def pmf_of_sum(rate, copies, n_values):
    """P(0), P(1), ... of the sum, the convolution of `copies` equal laws."""
    single = np.append(0.0, truncated_poisson_pmf(np.arange(1, n_values), rate))
    return np.maximum(np.fft.irfft(np.fft.rfft(single, 2 * n_values) ** copies)[:n_values], 0.0)


def smallest_pvalue(pvalues):
    """The level at which the smallest of several independent p-values rejects."""
    return -np.expm1(len(pvalues) * np.log1p(-min(pvalues)))


END = """
import numpy as np
from softpolytope import SumStackSoftplusClassifier
from test_allocation import RATES, positive_sums
rng = np.random.default_rng(0)
for copies in (31.0, 1e3, 1e6, 1e9, 1e15, 1e18, 1e19, 1e40, 1e90):
    assert np.isfinite(positive_sums(RATES, copies, rng)).all()
X = rng.standard_normal((40, 2))
model = SumStackSoftplusClassifier(inference="gibbs", n_sweeps=60, n_chains=1, random_state=0)
model.fit(X, X[:, 0] + 0.5 * rng.standard_normal(40) > 0.0, sample_weight=np.full(40, 1e15))
print("ended")
"""


@pytest.mark.slow
def test_every_rate_ends():
    """No rate, however many copies a row stands for, keeps a draw waiting; in a process that can be ended."""
    folder = __file__.rsplit("test_allocation", 1)[0]
    code = f"import sys; sys.path[:0] = [{folder!r}, {folder + '..'!r}]\n{END}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)  # noqa: S603
    assert run.stdout == "ended\n", run.stderr


@pytest.mark.parametrize("copies", [31, 100])
def test_sums_of_some_copies_follow_their_law(copies, rng):
    """Chi-square against the convolution at sixty rates, level 1e-4 for all; a rate that is 3 % off is rejected."""
    found, wrong = [], []
    for rate in np.geomspace(0.01, 200.0, 60):
        draws = positive_sums(np.full(10_000, rate), copies, rng).astype(np.int64)
        n_values = int(copies * (2.0 + rate + 10.0 * np.sqrt(rate)))
        found.append(chi_square_pvalue(draws, pmf_of_sum(rate, copies, n_values)))
        wrong.append(chi_square_pvalue(draws, pmf_of_sum(1.03 * rate, copies, n_values)))
    assert smallest_pvalue(found) > LEVEL
    assert smallest_pvalue(wrong) < LEVEL


@pytest.mark.parametrize("copies", [1e9, 1e15])
def test_sums_of_many_copies_follow_their_law(copies, rng):
    """Normal by now, with the moments of the law: chi-square of forty cells. A variance with zeros is rejected."""
    rates = np.repeat(RATES, 20)
    sums = positive_sums(rates, copies, rng)

    def pvalue(mean, variance):
        probabilities = stats.norm.cdf((sums - copies * mean) / np.sqrt(copies * variance))
        return chi_square_pvalue(np.minimum(probabilities * 40.0, 39.0).astype(np.int64), np.full(40, 1.0 / 40.0))

    law = truncated_poisson_moments(rates)
    assert pvalue(law.mean, law.variance) > LEVEL
    assert pvalue(law.mean, rates) < LEVEL  # the variance of a Poisson count that may be zero
