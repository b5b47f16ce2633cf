"""What the paper prints."""

import json
from pathlib import Path
from typing import Any

from reproduction.plan import SMALL

TABLES: dict[str, Any] = json.loads(Path(__file__).with_name("paper_tables.json").read_text(encoding="utf-8"))
# By the name of a quantity in a result.
_NAMES = {"error": "error", "n_experts": "experts"}


def printed(set_name: str, method: str, quantity: str) -> tuple[float, float | None] | None:
    """Mean and standard deviation; no deviation of single trials, nothing of what has no number."""
    found = TABLES[_NAMES[quantity]].get(set_name, {}).get(method)
    return None if found is None else (found[0], found[1])


def normalised(method: str, quantity: str) -> float | None:
    """The mean over the six sets of a number divided by the SVM's."""
    found: float | None = TABLES[f"svm_normalised_{_NAMES[quantity]}"].get(method, 1.0 if method == "svm" else None)
    return found


def of_svm(quantity: str) -> dict[str, float]:
    """The SVM's number, by small set."""
    return {name: TABLES[_NAMES[quantity]][name]["svm"][0] for name in SMALL}
