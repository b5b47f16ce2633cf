"""Directions in which a search looks, and the shortest steps across tangent planes."""

from functools import cache

import numpy as np

from softpolytope._typing import FloatArray

SMALLEST = float(np.finfo(float).tiny)
# Directions by even spread, in two dimensions and in more.
N_RAYS_IN_PLANE, N_RAYS = 180, 64
# Ways in which a step is turned, at most.
MAX_WAYS = 16


def shortest_steps(normals: FloatArray, needed: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """The shortest steps, lower <= step <= upper, with normal . step >= needed, one per row.

    Without bounds that is a multiple of the normal in closed form. With them it is a multiple clipped to the bounds,
    and halving finds which; where none is enough, as far as the bounds go.
    """
    square = np.maximum((normals**2).sum(axis=1), SMALLEST)
    multiple = needed / square
    steps = multiple[:, None] * normals
    is_clipped = ((steps < lower) | (steps > upper)).any(axis=1)
    low, high = multiple, multiple.copy()
    for _ in range(80):
        reached = (normals * np.clip(high[:, None] * normals, lower, upper)).sum(axis=1)
        high = np.where(reached < needed, 2.0 * high, high)
    for _ in range(80):
        middle = 0.5 * (low + high)
        reached = (normals * np.clip(middle[:, None] * normals, lower, upper)).sum(axis=1)
        low, high = np.where(reached < needed, middle, low), np.where(reached < needed, high, middle)
    return np.asarray(np.where(is_clipped[:, None], np.clip(high[:, None] * normals, lower, upper), steps))


def even_directions(n_features: int) -> FloatArray:
    """Directions spread over the sphere, both ways along each axis among them."""
    axes = np.concatenate([np.eye(n_features), -np.eye(n_features)])
    if n_features == 1:
        return axes
    if n_features == 2:
        angles = 2.0 * np.pi * np.arange(N_RAYS_IN_PLANE) / N_RAYS_IN_PLANE
        return np.column_stack([np.cos(angles), np.sin(angles)])
    # Always the same ones: equal rows get equal answers.
    return np.concatenate([axes, np.random.default_rng(0).standard_normal((N_RAYS, n_features))])


@cache
def ways_around(n_features: int) -> FloatArray:
    """Ways in which a step is turned: along the features or, if these are many, some directions at random."""
    if 2 * n_features <= MAX_WAYS:
        return np.concatenate([np.eye(n_features), -np.eye(n_features)])
    some = np.random.default_rng(1).standard_normal((MAX_WAYS, n_features))
    return np.asarray(some / np.linalg.norm(some, axis=1, keepdims=True))
