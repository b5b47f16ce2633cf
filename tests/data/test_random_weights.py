"""Random row weights of the bootstrap: their laws, and what they depend on."""

import numpy as np
import pytest
from checks import LEVEL
from scipy import stats

from softpolytope.data import RandomWeights
from softpolytope.data._random_weights import MAX_SHAPE

N_ROWS = 50_000
ROWS = np.arange(N_ROWS, dtype=np.uint64)


def draw(key, row_weight=1.0, concentration=1.0, rows=ROWS):
    """Return random weights of rows that all have one weight."""
    return RandomWeights(key, concentration).draw(rows, np.full(len(rows), row_weight))


@pytest.mark.parametrize(("row_weight", "concentration"), [(1.0, 1.0), (1.0, 2.5), (3.0, 1.0), (0.3, 4.0), (2e6, 1.0)])
def test_weights_follow_their_law(row_weight, concentration):
    """Gamma(c w, rate=c); a law of another concentration is rejected."""
    drawn = draw(11, row_weight, concentration)
    law, other = (stats.gamma(c * row_weight, scale=1.0 / c) for c in (concentration, 1.2 * concentration))
    assert stats.kstest(drawn, law.cdf).pvalue > LEVEL
    assert stats.kstest(drawn, other.cdf).pvalue < LEVEL


@pytest.mark.parametrize("concentration", [1.0, 2.5])
def test_a_row_of_weight_two_is_a_row_given_twice(concentration):
    """Sums of two weights have the law of the weight of a row of weight two; twice one weight has not."""
    twice = draw(5, 2.0, concentration)
    sums = draw(6, 1.0, concentration).reshape(-1, 2).sum(axis=1)
    assert stats.ks_2samp(twice, sums).pvalue > LEVEL
    assert stats.ks_2samp(twice, 2.0 * draw(6, 1.0, concentration)).pvalue < LEVEL


def independence_pvalue(first, second):
    """Pearson's test of the table of two samples' eighths."""
    cells = [np.digitize(item, stats.expon.ppf(np.arange(1, 8) / 8.0)) for item in (first, second)]
    table = np.zeros((8, 8))
    np.add.at(table, tuple(cells), 1.0)
    return stats.chi2_contingency(table).pvalue


def test_rows_and_keys_are_independent():
    """Neighboring rows, and one row under neighboring keys; one row under one key is not."""
    drawn = draw(7)
    assert independence_pvalue(drawn[:-1], drawn[1:]) > LEVEL
    assert independence_pvalue(drawn, draw(8)) > LEVEL
    assert independence_pvalue(drawn, draw(7 + 2**63)) > LEVEL
    assert independence_pvalue(drawn, draw(7)) < LEVEL


def test_a_weight_is_a_function_of_key_and_row():
    """Whatever rows are asked for with it, and in which order; of a key of 64 bits."""
    weights, row_weights = RandomWeights(2**64 - 1, 1.7), np.random.default_rng(0).integers(1, 4, N_ROWS).astype(float)
    drawn = weights.draw(ROWS, row_weights)
    some = np.random.default_rng(1).permutation(N_ROWS)[:100]
    assert np.array_equal(weights.draw(ROWS[some], row_weights[some]), drawn[some])


def test_laws_meet_where_one_takes_over():
    """The normal law of the largest shapes continues the quantiles of the gamma law."""
    below, above = draw(3, MAX_SHAPE), draw(3, MAX_SHAPE * (1.0 + 1e-9))
    assert (above != below).any()
    np.testing.assert_allclose(above, below, rtol=1e-5)


def test_no_row_vanishes():
    """Weights of rows of next to none are positive, though their law has nearly all its mass below any double."""
    assert draw(9, 1e-6).min() > 0.0
