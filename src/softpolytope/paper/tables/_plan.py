"""Methods of the paper's tables, the fits behind their cells, and the numbers that the paper prints."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypedDict

from softpolytope.datasets import BENCHMARK_SETS

SMALL, LARGE = BENCHMARK_SETS[:6], BENCHMARK_SETS[6:8]
SETS = (*SMALL, *LARGE)
DEPTHS = (1, 2, 3, 5, 10)
MAX_EXPERTS = 20
N_PARTITIONS = 10
N_LARGE_TRIALS = 5  # of the paper, on the large sets

Kind = Literal["baseline", "softplus", "default"]
Quantity = Literal["error", "n_experts"]
_Cells = dict[str, dict[str, tuple[float, float | None]]]  # (mean, standard deviation) by set and method


@dataclass(frozen=True, slots=True)
class Method:
    """A column of the tables."""

    key: str  # as in paper_tables.json
    title: str
    kind: Kind
    max_experts: int = 1
    n_layers: int = 1
    is_random: bool = True  # whether trials on the same rows differ


METHODS = (
    Method("lr", "LR", "baseline", is_random=False),
    Method("svm", "SVM", "baseline", is_random=False),
    Method("rvm", "RVM", "baseline", is_random=False),
    Method("amm", "AMM", "baseline"),
    Method("cpm", "CPM", "baseline"),
    Method("softplus", "softplus", "softplus"),
    Method("sum", "sum", "softplus", MAX_EXPERTS),
    *(Method(f"stack{depth}", f"stack, T = {depth}", "softplus", 1, depth) for depth in DEPTHS[1:]),
    *(Method(f"ss{depth}", f"sum-stack, T = {depth}", "softplus", MAX_EXPERTS, depth) for depth in DEPTHS[1:]),
    Method("default", "library", "default"),
)
BY_KEY = {method.key: method for method in METHODS}
# Keys of the two families by depth.
STACK = dict(zip(DEPTHS, ("softplus", "stack2", "stack3", "stack5", "stack10"), strict=True))
SUM_STACK = dict(zip(DEPTHS, ("sum", "ss2", "ss3", "ss5", "ss10"), strict=True))


class _PaperTables(TypedDict):
    sizes: dict[str, tuple[int, int, int]]  # training rows, test rows and features by set
    error: _Cells
    experts: _Cells
    svm_normalized_error: dict[str, float]
    svm_normalized_experts: dict[str, float]


_TABLES: _PaperTables = json.loads(Path(__file__).with_name("paper_tables.json").read_text(encoding="utf-8"))
CELLS: Mapping[Quantity, _Cells] = {"error": _TABLES["error"], "n_experts": _TABLES["experts"]}
_NORMALIZED = {"error": _TABLES["svm_normalized_error"], "n_experts": _TABLES["svm_normalized_experts"]}
N_TRAINING_ROWS = {name: sizes[0] for name, sizes in _TABLES["sizes"].items()}


def paper_moments(set_name: str, method: str, quantity: Quantity) -> tuple[float, float | None] | None:
    """Return the printed mean and standard deviation, None for a deviation or a number that is not printed."""
    found = CELLS[quantity].get(set_name, {}).get(method)
    return None if found is None else (found[0], found[1])


def paper_normalized_mean(method: str, quantity: Quantity) -> float | None:
    """Return the printed mean, over the six small sets, of a number divided by the SVM's."""
    return _NORMALIZED[quantity].get(method, 1.0 if method == "svm" else None)


@dataclass(frozen=True, slots=True)
class PlannedFit:
    """A method on one partition of a small set, or one trial on the given split of a large set."""

    method: Method
    set_name: str
    trial: int  # the partition of a small set, and the seed of everything random

    @property
    def name(self) -> str:
        """Name of its file, without the suffix."""
        return f"{self.set_name}/{self.method.key}-{self.trial}"

    @property
    def is_large(self) -> bool:
        """Whether the set is one of the two large ones."""
        return self.set_name in LARGE

    @property
    def partition(self) -> int:
        """Partition of the rows; large sets have one."""
        return 0 if self.is_large else self.trial

    def path(self, folder: Path) -> Path:
        """Return the file of its result."""
        return folder / f"{self.name}.json"


def find_fit(set_name: str, method: str, trial: int) -> PlannedFit:
    """Return the fit with these names; raise ValueError if the tables have none."""
    n_trials = N_PARTITIONS if set_name in SMALL else N_LARGE_TRIALS if set_name in LARGE else 0
    if method not in BY_KEY or trial not in range(n_trials):
        raise ValueError(f"the tables have no fit {set_name}/{method}-{trial}")
    return PlannedFit(BY_KEY[method], set_name, trial)


def plan_fits(
    sets: Iterable[str] = SETS,
    methods: Iterable[Method] = METHODS,
    n_partitions: int = N_PARTITIONS,
    n_large_trials: int = N_LARGE_TRIALS,
) -> list[PlannedFit]:
    """Return the fits of some sets and methods, by default of all."""
    methods = list(methods)
    found: list[PlannedFit] = []
    for set_name in sets:
        for method in methods:
            n_trials = n_partitions if set_name in SMALL else n_large_trials if method.is_random else 1
            found.extend(PlannedFit(method, set_name, trial) for trial in range(n_trials))
    return found
