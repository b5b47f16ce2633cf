"""Numbers and lists in words, and marked sentences."""

from dataclasses import dataclass
from typing import Literal

from softpolytope._format import format_count

# A number and its noun: 1 row, 2 rows.
count = format_count


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look at before trusting the model."""

    mark: Literal["good", "look", "bad"]
    text: str


def percent(share: float) -> str:
    """A share in per cent, with as many digits as mean something."""
    value = 100.0 * share
    # The space must not break.
    return f"{value:.1f}\u00a0%" if value < 99.95 or share == 1.0 else "> 99.9\u00a0%"


def listed(items: list[str]) -> str:
    """A, B and C."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
