"""Data to try the classifiers on."""

from softpolytope.datasets.synthetic import make_circle, make_double_moon, make_xor

__all__ = ["make_circle", "make_double_moon", "make_xor"]
