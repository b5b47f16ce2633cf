"""Data sets to try the classifiers on.

`make_*` draws synthetic problems; `load_benchmark` reads the paper's benchmark sets with their fixed partitions from a
folder, or downloads them.
"""

from softpolytope.datasets._benchmark import (
    BENCHMARK_SETS,
    VARIABLE,
    Split,
    benchmark_path,
    load_benchmark,
    n_partitions,
)
from softpolytope.datasets._synthetic import make_circle, make_double_moon, make_waveform, make_xor
from softpolytope.exceptions import ContentError

__all__ = [
    "BENCHMARK_SETS",
    "VARIABLE",
    "ContentError",
    "Split",
    "benchmark_path",
    "load_benchmark",
    "make_circle",
    "make_double_moon",
    "make_waveform",
    "make_xor",
    "n_partitions",
]
