"""The methods of the paper's tables and the fits behind their cells."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from softpolytope.datasets import BENCHMARK_SETS

SMALL, LARGE = BENCHMARK_SETS[:6], BENCHMARK_SETS[6:8]
SETS = (*SMALL, *LARGE)
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
