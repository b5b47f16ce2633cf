"""Half-spaces that contain the region of an expert, tight and guaranteed within a box.

The paper's criteria of a stack are a rough guide: they assume that the predictors of all other layers are zero. Since
log softplus(z) <= z, log q is at most the sum of the predictors from any layer upwards plus the contribution of the
layers below, so the region is bounded by hyperplanes whose normals are the sums of the upper layers' normals. The
offset of each is the solution of a convex problem. A local solver approximates it; cutting planes guarantee it: each
tangent of log q is a half-space that contains the region, so the linear program over the tangents found so far bounds
the solution from outside at every step, and an infeasible one proves the region empty. Tangents are taken where the
segment from a point inside to the program's vertex leaves the region (Veinott 1967), not at the vertex (Kelley 1960),
which took ten times as many programs. The sides of the box are bounds of the variables, not constraints, so the number
of programs and of their constraints does not grow with the features.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import OptimizeResult, linprog, minimize

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.geometry._half_spaces import log_expm1

# Tangents per direction after which a bound is used as it is: valid, though perhaps not the tightest.
MAX_CUTS = 60
# Tolerance for a tight bound, in nats of log q or in fractions of the box along a direction.
TIGHT = 1e-6
# The local solver is cubic in the number of features and is skipped above this number.
MAX_FEATURES_FOR_SOLVER = 30
# Constraint tolerance of the linear programs; bounds are moved outwards by it.
SLACK = 1e-7
# Bisections that locate where a segment leaves a region.
N_HALVINGS = 40
# Smallest divisor where normals are scaled by their largest component.
MIN_SIZE = 1e-300


@dataclass(frozen=True, slots=True)
class Box:
    """Bounds of the features."""

    lower: FloatArray  # (features,)
    upper: FloatArray  # (features,)


@dataclass(frozen=True, slots=True)
class Faces:
    """Half-spaces normal . x > offset that all hold wherever an expert votes yes inside a box."""

    normals: FloatArray  # (faces, features)
    offsets: FloatArray  # (faces,)
    is_empty: bool  # whether the expert votes yes nowhere inside the box


def bounding_faces(layers: FloatArray, log_needed: float, box: Box) -> Faces:
    """Return faces around {x in box: log q(x) > log_needed} for the hyperplanes (layers, 1 + features) of an expert.

    Their normals are the sums of the layers from each one upwards, the top layer's own first; faces implied by the
    others and the box are left out.
    """
    suffixes = np.cumsum(layers[::-1], axis=0)
    if len(layers) == 1:
        return _half_space_in(layers[0], float(log_expm1(np.exp(log_needed))), box)
    region = _Region(layers, log_needed, box)
    normals, offsets = [], []
    for normal in suffixes[:, 1:]:
        bound = region.smallest(normal)
        if bound is None:
            return Faces(np.empty((0, layers.shape[1] - 1)), np.empty(0), is_empty=True)
        if bound > _smallest_in(normal, box):
            normals.append(normal)
            offsets.append(bound)
    found = Faces(np.array(normals).reshape(-1, layers.shape[1] - 1), np.array(offsets), is_empty=False)
    is_needed = _is_needed_in(found, box)
    return Faces(found.normals[is_needed], found.offsets[is_needed], is_empty=False)


def _is_needed_in(faces: Faces, box: Box) -> BoolArray:
    """Return whether each face is not implied by the others and the box, (faces,); of equal faces the last is kept.

    Coordinates are fractions of the box, whose sides are bounds of the variables: one linear program per face, with
    one constraint per other face, whatever the number of features.
    """
    width = box.upper - box.lower
    normals, offsets = faces.normals * width, faces.offsets - faces.normals @ box.lower
    size = np.maximum(np.abs(normals).max(axis=1, initial=0.0), MIN_SIZE)
    normals, offsets = normals / size[:, None], offsets / size
    is_needed = np.ones(len(offsets), dtype=bool)
    for face in range(len(offsets)):
        is_needed[face] = False
        found = _least(normals[face], normals[is_needed], offsets[is_needed])
        is_needed[face] = found.status != 0 or found.fun < offsets[face] - SLACK
    return is_needed


def _least(direction: FloatArray, normals: FloatArray, offsets: FloatArray) -> OptimizeResult:
    """Minimize direction . u over the unit box subject to normals . u >= offsets."""
    return linprog(direction, A_ub=-normals, b_ub=-offsets, bounds=(0.0, 1.0), method="highs")


def _smallest_in(normal: FloatArray, box: Box) -> float:
    """Return the minimum of normal . x in a box."""
    return float(np.minimum(normal * box.lower, normal * box.upper).sum())


def _half_space_in(layer: FloatArray, predictor: float, box: Box) -> Faces:
    """Return the half-space of a single layer, unless it contains all of the box or none of it."""
    offset = predictor - layer[0]
    is_empty = -_smallest_in(-layer[1:], box) <= offset
    holds_all = _smallest_in(layer[1:], box) > offset
    if is_empty or holds_all:
        return Faces(np.empty((0, len(layer) - 1)), np.empty(0), is_empty)
    return Faces(layer[None, 1:], np.array([offset]), is_empty=False)


class _Region:
    """Region {x in box: log q(x) > log_needed} with the tangents found so far; coordinates are fractions of the box."""

    def __init__(self, layers: FloatArray, log_needed: float, box: Box) -> None:
        self._log_needed, self._box = log_needed, box
        self._width = box.upper - box.lower
        self._start = layers[:, 0] + layers[:, 1:] @ box.lower
        self._normals = layers[:, 1:] * self._width
        self._cuts: list[FloatArray] = []  # a: a . u >= b
        self._bounds: list[float] = []
        self._deepest = self._find_deepest()
        self._cut(self._deepest)

    def smallest(self, normal: FloatArray) -> float | None:
        """Return a lower bound of normal . x over the region; None if the region is empty."""
        direction = normal * self._width
        size = float(np.abs(direction).max())
        if size == 0.0:
            direction, size = np.zeros_like(direction), 1.0
        reached = self._outermost(direction / size)
        # A point of the region, to within rounding, is an upper bound of the minimum.
        best = float(direction @ reached) / size if self._cut(reached) <= TIGHT else np.inf
        value = -np.inf
        for _ in range(MAX_CUTS):
            found = _least(direction / size, np.array(self._cuts), np.array(self._bounds) - SLACK)
            if found.status == 2:
                return None
            if found.status != 0:
                break
            value = max(value, float(found.fun))
            if value >= best - TIGHT or self._gap_and_gradient(found.x)[0] <= TIGHT:
                break
            # A tangent where the segment leaves the region touches it; one at the vertex may not. Its point is another
            # upper bound.
            left = self._exit_towards(found.x)
            if self._cut(left) <= 0.0:
                best = min(best, float(direction @ left) / size)
        if value == -np.inf:
            return _smallest_in(normal, self._box)
        return float(value * size + normal @ self._box.lower) - SLACK * size

    def _find_deepest(self) -> FloatArray:
        """Return the point of the box where log q is largest."""
        middle = np.full(len(self._width), 0.5)
        bounds = [(0.0, 1.0)] * len(middle)
        found = minimize(self._gap_and_gradient, middle, jac=True, method="L-BFGS-B", bounds=bounds)
        return np.clip(found.x, 0.0, 1.0)

    def _outermost(self, direction: FloatArray) -> FloatArray:
        """Return the point of the region farthest against a direction, as found by a local solver."""
        if len(direction) > MAX_FEATURES_FOR_SOLVER:
            return self._deepest
        inside = {
            "type": "ineq",
            "fun": lambda shares: -self._gap_and_gradient(shares)[0],
            "jac": lambda shares: -self._gap_and_gradient(shares)[1],
        }
        found = minimize(  # type: ignore[call-overload]  # the stubs take no plain options
            lambda shares: float(direction @ shares),
            self._deepest,
            jac=lambda _: direction,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * len(direction),
            constraints=inside,
            options={"ftol": 1e-10},
        )
        return np.clip(found.x, 0.0, 1.0) if np.isfinite(found.x).all() else self._deepest

    def _gap_and_gradient(self, shares: FloatArray) -> tuple[float, FloatArray]:
        """Return how far outside the region a point is, in nats of log q, and the gradient."""
        log_activation, derivatives = _log_activation_and_derivatives(self._start + self._normals @ shares)
        return self._log_needed - log_activation, -(derivatives @ self._normals)

    def _exit_towards(self, outside: FloatArray) -> FloatArray:
        """Return the last point inside on the segment from the deepest point to one outside; the latter if none is."""
        inner, outer = (self._start + self._normals @ shares for shares in (self._deepest, outside))
        if _log_activation_and_derivatives(inner)[0] <= self._log_needed:
            return outside
        low, high = 0.0, 1.0
        for _ in range(N_HALVINGS):
            middle = 0.5 * (low + high)
            if _log_activation_and_derivatives(inner + middle * (outer - inner))[0] >= self._log_needed:
                low = middle
            else:
                high = middle
        return self._deepest + low * (outside - self._deepest)

    def _cut(self, shares: FloatArray) -> float:
        """Add the tangent at a point; return how far the point is outside the region, in nats of log q."""
        gap, gradient = self._gap_and_gradient(shares)
        # Each cut is scaled by its largest component, so that the solver's tolerances mean the same for all.
        size = max(float(np.abs(gradient).max()), MIN_SIZE)
        self._cuts.append(-gradient / size)
        self._bounds.append((gap - float(gradient @ shares)) / size)
        return gap


def _log_activation_and_derivatives(predictors: FloatArray) -> tuple[float, FloatArray]:
    """Return log q at one point, and its derivatives by the predictors of the layers.

    Solvers ask for one point at a time, for which the functions of `model`, made for arrays, take fifty times as long.
    """
    log_activation, each = 0.0, []
    for predictor in predictors.tolist():
        logit = predictor + log_activation
        if logit < -37.0:  # softplus is e^z to rounding
            log_activation = logit
            each.append(1.0)
        else:
            softplus = max(logit, 0.0) + math.log1p(math.exp(-abs(logit)))
            log_activation = math.log(softplus)
            each.append(1.0 / (softplus * (1.0 + math.exp(-logit))))
    return log_activation, np.cumprod(each[::-1], dtype=np.float64)[::-1]
