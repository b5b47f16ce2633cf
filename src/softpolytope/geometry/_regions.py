"""The region of one expert, and how far any row is inside it.

An expert votes yes where it alone lifts P(y = 1) over the threshold: D_k = {r_k q_k(x) > -log(1 - p0)}, theorem 5. Each
layer adds a linear function and applies log softplus, which rises and bends downwards, so log q_k is concave: every
D_k is convex, and a tangent of log q_k at any point bounds it everywhere.
"""

from typing import Any

import numpy as np
from scipy import sparse

from softpolytope._typing import FloatArray
from softpolytope.model import Draws, log_activations, log_softplus_derivative


def linear_predictors(coefficients: FloatArray, X: Any) -> FloatArray:
    """x'beta of every expert and layer, (experts, layers, rows); X without the constant, dense or sparse."""
    n_experts, n_layers, n_columns = coefficients.shape
    if X.shape[1] != n_columns - 1:
        raise ValueError(f"the model has {n_columns - 1} features; got rows of {X.shape[1]}.")
    flat = coefficients.reshape(-1, n_columns)
    rows: Any = X if sparse.issparse(X) else np.asarray(X)
    products = np.asarray(rows @ flat[:, 1:].T).T
    return np.ascontiguousarray(products + flat[:, :1]).reshape(n_experts, n_layers, X.shape[0])


def log_contributions(draws: Draws, X: Any) -> FloatArray:
    """log(r_k q_k(x)) of every expert, (experts, rows)."""
    return log_contributions_at(linear_predictors(draws.coefficients, X), draws.expert_weights)


def log_contributions_at(predictors: FloatArray, expert_weights: FloatArray) -> FloatArray:
    """The same from x'beta (experts, layers, rows)."""
    with np.errstate(divide="ignore"):
        return np.asarray(log_activations(predictors)[..., -1, :] + np.log(expert_weights)[:, None])


def layer_slopes(predictors: FloatArray) -> FloatArray:
    """D log q / d x'beta of every layer, (experts, layers, rows): what is between 0 and 1 and grows with the layer."""
    levels = log_activations(predictors)[..., :-1, :]
    each = log_softplus_derivative(predictors + levels)
    return np.asarray(np.cumprod(each[..., ::-1, :], axis=-2)[..., ::-1, :])
