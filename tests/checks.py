"""P-values of draws against exact laws. Every test that uses one states its level and has a control."""

import numpy as np
from scipy import stats

LEVEL = 1e-4  # false-alarm level of every statistical test of a law
N_DRAWS = 1_000_000


def chi_square_pvalue(draws, pmf):
    """Pearson's test of counts against P(0), P(1), ...; cells are pooled to an expectation of 10."""
    pmf = np.asarray(pmf)
    observed = np.bincount(np.minimum(draws, len(pmf)), minlength=len(pmf) + 1).astype(float)
    expected = len(draws) * np.append(pmf, max(0.0, 1.0 - pmf.sum()))
    cells, bounds = 0.0, [0]
    for value, weight in enumerate(expected):
        cells += weight
        if cells >= 10.0:
            bounds.append(value + 1)
            cells = 0.0
    bounds[-1] = len(expected)
    observed = np.add.reduceat(observed, bounds[:-1])
    expected = np.add.reduceat(expected, bounds[:-1])
    statistic = ((observed - expected) ** 2 / expected).sum()
    if len(expected) == 1:  # a degenerate law: nothing may fall elsewhere
        return float(abs(observed[0] - len(draws)) < 0.5)
    return stats.chi2.sf(statistic, len(expected) - 1)


def mean_pvalue(draws, mean, variance):
    """Two-sided test of the sample mean, by the central limit theorem."""
    z = (np.mean(draws) - mean) / np.sqrt(variance / len(draws))
    return 2.0 * stats.norm.sf(abs(z))


def variance_pvalue(draws, mean, variance):
    """Two-sided test of the mean squared deviation, with its own spread estimated from the draws."""
    squares = (draws - mean) ** 2
    z = (squares.mean() - variance) / np.sqrt(squares.var() / len(draws))
    return 2.0 * stats.norm.sf(abs(z))


def ks_pvalue(draws, cdf):
    """One-sample Kolmogorov-Smirnov test against a continuous distribution function.

    It is evaluated at 20,000 of the draws and interpolated between them. As it never falls, the distance is wrong by
    less than its growth between two of these, 5e-5 under the law tested: a fortieth of the critical 2.2e-3.
    """
    ordered = np.sort(draws)
    n = len(ordered)
    knots = ordered[np.unique(np.linspace(0, n - 1, min(n, 20_000)).astype(int))]
    values = np.interp(ordered, knots, cdf(knots))
    ranks = np.arange(n)
    distance = max((values - ranks / n).max(), ((ranks + 1) / n - values).max())
    return stats.kstwobign.sf(distance * np.sqrt(n))
