"""The numbers that the paper prints."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypedDict

from softpolytope.paper.tables._plan import SMALL

Quantity = Literal["error", "n_experts"]
_Cells = dict[str, dict[str, tuple[float, float | None]]]  # (mean, standard deviation) by set and method


class _PaperTables(TypedDict):
    sizes: dict[str, tuple[int, int, int]]  # training rows, test rows and features by set
    error: _Cells
    experts: _Cells
    svm_normalized_error: dict[str, float]
    svm_normalized_experts: dict[str, float]


_TABLES: _PaperTables = json.loads(Path(__file__).with_name("paper_tables.json").read_text(encoding="utf-8"))
CELLS: Mapping[Quantity, _Cells] = {"error": _TABLES["error"], "n_experts": _TABLES["experts"]}
_NORMALIZED: Mapping[Quantity, dict[str, float]] = {
    "error": _TABLES["svm_normalized_error"],
    "n_experts": _TABLES["svm_normalized_experts"],
}
N_TRAINING_ROWS = {name: sizes[0] for name, sizes in _TABLES["sizes"].items()}


def printed(set_name: str, method: str, quantity: Quantity) -> tuple[float, float | None] | None:
    """Return the printed mean and standard deviation, None for a deviation or a number that is not printed."""
    found = CELLS[quantity].get(set_name, {}).get(method)
    return None if found is None else (found[0], found[1])


def printed_normalized(method: str, quantity: Quantity) -> float | None:
    """Return the printed mean, over the six small sets, of a number divided by the SVM's."""
    return _NORMALIZED[quantity].get(method, 1.0 if method == "svm" else None)


def printed_svm(quantity: Quantity) -> dict[str, float]:
    """Return the SVM's mean for each small set."""
    return {name: CELLS[quantity][name]["svm"][0] for name in SMALL}
