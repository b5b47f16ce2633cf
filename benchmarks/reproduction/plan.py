"""Which cells the paper's tables have."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from softpolytope.datasets import BENCHMARK_SETS

SMALL, LARGE = BENCHMARK_SETS[:6], BENCHMARK_SETS[6:8]
DEPTHS = (1, 2, 3, 5, 10)
MAX_EXPERTS = 20
N_PARTITIONS = 10
N_LARGE_TRIALS = 5  # of the paper, on the large sets

Kind = Literal["baseline", "softplus", "default"]


@dataclass(frozen=True, slots=True)
class Method:
    """A column of the tables."""

    key: str  # as in paper_tables.json
    title: str
    kind: Kind
    max_experts: int = 1
    n_layers: int = 1
    is_random: bool = True  # whether several trials on the same rows differ


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
# By depth.
STACK = dict(zip(DEPTHS, ("softplus", "stack2", "stack3", "stack5", "stack10"), strict=True))
SUM_STACK = dict(zip(DEPTHS, ("sum", "ss2", "ss3", "ss5", "ss10"), strict=True))


@dataclass(frozen=True, slots=True)
class Cell:
    """One fit: a method on one partition of a set, or one trial on its given split."""

    method: Method
    set_name: str
    trial: int  # the partition of a small set; the seed of everything random

    @property
    def name(self) -> str:
        """Of its file, without the suffix."""
        return f"{self.set_name}/{self.method.key}-{self.trial}"

    @property
    def partition(self) -> int:
        """Of the rows; large sets have one."""
        return self.trial if self.set_name in SMALL else 0

    def path(self, folder: Path) -> Path:
        """Where its result is kept."""
        return folder / f"{self.name}.json"


def planned(set_name: str, method: str, trial: int) -> Cell:
    """The cell of these names; raises ValueError where the tables have none."""
    n_trials = N_PARTITIONS if set_name in SMALL else N_LARGE_TRIALS if set_name in LARGE else 0
    if method not in BY_KEY or trial not in range(n_trials):
        raise ValueError(f"the tables have no cell {set_name}/{method}-{trial}")
    return Cell(BY_KEY[method], set_name, trial)


def cells(sets: Iterable[str], methods: Iterable[Method], n_partitions: int, n_large_trials: int) -> list[Cell]:
    """Cells of some sets and methods."""
    chosen = list(methods)
    found = []
    for set_name in sets:
        for method in chosen:
            n_trials = n_partitions if set_name in SMALL else n_large_trials if method.is_random else 1
            found.extend(Cell(method, set_name, trial) for trial in range(n_trials))
    return found
