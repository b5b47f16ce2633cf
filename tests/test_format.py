"""Numbers as text for people."""

import pytest

from softpolytope._format import format_duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "0 s"), (59.4, "59 s"), (59.6, "1:00 min"), (125.0, "2:05 min"),
        (3599.4, "59:59 min"), (3599.6, "1:00:00 h"), (90_065.0, "25:01:05 h"),
    ],
)  # fmt: skip
def test_durations_change_unit_after_rounding(seconds, text):
    """Seconds, minutes and hours; what rounds up to a full unit is written in that unit."""
    assert format_duration(seconds) == text
