"""Agreement of the numbers found with those printed."""

import pytest

from softpolytope.paper.tables._summary import Comparison, Moments


@pytest.mark.parametrize(
    ("mean", "agrees"), [(11.89, True), (12.49, True), (11.29, True), (12.60, False), (11.0, False)]
)
def test_a_difference_counts_in_the_papers_deviations(mean, agrees):
    """Within 0.61 of 11.89 is agreement, beyond is not."""
    comparison = Comparison(Moments(mean, 0.5, 10), 11.89, 0.61, 10)
    assert comparison.agrees == agrees
    assert comparison.in_deviations == pytest.approx((mean - 11.89) / 0.61)


def test_two_standard_errors_count_where_they_are_more():
    """A single trial with the paper's spread may be two spreads away, and a wide one further."""
    # Two standard errors are 2 * 0.61 * sqrt(1.2) = 1.336.
    assert Comparison(Moments(13.22, None, 1), 11.89, 0.61, 5).agrees
    assert not Comparison(Moments(13.23, None, 1), 11.89, 0.61, 5).agrees
    assert Comparison(Moments(13.0, None, 1), 11.89, 0.61, 5).standard_error == pytest.approx(0.61 * 1.2**0.5)


def test_numbers_without_spread_are_met_by_their_digits():
    """Of single trials the paper prints no deviation."""
    assert Comparison(Moments(1.30, None, 1), 1.30, None, 1).agrees
    assert not Comparison(Moments(1.40, None, 1), 1.30, None, 1).agrees


def test_two_ways_to_agree():
    """One wide spread of ours makes two standard errors wide, not the paper's deviation."""
    wide = Comparison(Moments(13.0, 3.0, 10), 11.89, 0.61, 10)
    assert wide.agrees
    assert wide.is_within_errors
    assert not wide.is_within_deviation
    narrow = Comparison(Moments(12.45, 0.1, 10), 11.89, 0.61, 10)
    assert narrow.agrees
    assert narrow.is_within_deviation
    assert not narrow.is_within_errors
