"""Data to try the classifiers on."""

from softpolytope.datasets.benchmark import BENCHMARK_SETS, benchmark_path, load_benchmark
from softpolytope.datasets.synthetic import make_circle, make_double_moon, make_waveform, make_xor

__all__ = [
    "BENCHMARK_SETS",
    "benchmark_path",
    "load_benchmark",
    "make_circle",
    "make_double_moon",
    "make_waveform",
    "make_xor",
]
