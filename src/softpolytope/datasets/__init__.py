"""Data to try the classifiers on."""

from softpolytope.datasets.benchmark import BENCHMARK_SETS, load_benchmark
from softpolytope.datasets.synthetic import make_circle, make_double_moon, make_xor

__all__ = ["BENCHMARK_SETS", "load_benchmark", "make_circle", "make_double_moon", "make_xor"]
