"""Means of the latent counts of positive rows, given the parameters, in closed form."""

import numpy as np
from numpy.typing import ArrayLike

from softpolytope._typing import FloatArray
from softpolytope.model._softplus import log_activations, log_poisson_rate, log_positive_probability


def expected_counts(linear_predictor: ArrayLike, expert_weights: ArrayLike) -> FloatArray:
    """Return the means of the latent counts m of positive rows, given the parameters and y = 1.

    At the top level the count of expert k is Poisson(r_k q_k) given that the sum over experts is at least one: its mean
    is r_k q_k / (1 - e^-lambda). One level down, each count is replaced by a logarithmic variate of mean
    e^z / log(1 + e^z), z the logit of the layer between. That factor is never below one, so means never
    increase with the level: where they stop falling, more layers add nothing (the paper's guide for choosing T).

    Parameters
    ----------
    linear_predictor : array_like, shape (n_experts, n_layers, n_samples)
        x'beta of the positive rows.
    expert_weights : array_like, shape (n_experts,)
        r_k, finite and >= 0.

    Returns
    -------
    ndarray, shape (n_experts, n_layers + 1, n_samples)
        Level 0 is m^(1), the last one m^(T+1). The law has heavy tails: a mean may be infinite as a double.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.model import expected_counts
    >>> expected_counts(np.zeros((1, 2, 1)), [1.0]).round(3).ravel().tolist()
    [2.443, 1.693, 1.286]
    """
    # The rate checks shapes and values.
    log_rate = log_poisson_rate(linear_predictor, expert_weights)
    predictor = np.asarray(linear_predictor, dtype=np.float64)
    log_activation = log_activations(predictor)
    with np.errstate(divide="ignore"):
        log_weights = np.log(np.asarray(expert_weights, dtype=np.float64))
    # If all weights are zero, no row can be positive, and the means are zero.
    log_positive = np.where(np.isneginf(log_rate), 0.0, log_positive_probability(linear_predictor, expert_weights))
    log_top = log_weights[:, None] + log_activation[:, -1] - log_positive
    # z - log softplus(z) >= 0; rounding far below zero must not make it negative.
    steps = np.maximum(predictor + log_activation[:, :-1] - log_activation[:, 1:], 0.0)
    rises = np.cumsum(steps[:, ::-1], axis=1)[:, ::-1]
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(np.concatenate([log_top[:, None] + rises, log_top[:, None]], axis=1)))
