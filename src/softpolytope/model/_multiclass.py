"""Probabilities of several classes from one regression per class."""

import numpy as np

from softpolytope._typing import FloatArray


def combined(positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Class probabilities from P(class) and P(not class), (classes, ...), summing to one over the classes.

    The regressions are taken as independent and conditioned on exactly one of them being right: P(c) is proportional to
    the odds of c. `benchmarks/multiclass.py` compares this with dividing the probabilities by their sum.
    """
    log_odds = np.log(np.maximum(positive, np.finfo(float).tiny)) - np.log(np.maximum(negative, np.finfo(float).tiny))
    odds = np.exp(log_odds - log_odds.max(axis=0))
    return np.asarray(odds / odds.sum(axis=0))
