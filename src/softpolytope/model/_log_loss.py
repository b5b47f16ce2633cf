"""Mean log-loss of predicted probabilities."""

import numpy as np

from softpolytope._typing import FloatArray, IndexArray


def mean_log_loss(probabilities: FloatArray, codes: IndexArray) -> float:
    """Return the mean of -log P(own class) for probabilities (rows, classes) and the codes of the rows' classes."""
    # Zeros are raised to the smallest normal number, so that one of them costs 708 nats and not infinity.
    own = np.maximum(probabilities[np.arange(len(codes)), codes], np.finfo(float).tiny)
    return float(-np.log(own).mean())
