"""Check the guarantees of the geometry on random models and rows; exit with 1 if one is violated.

    python benchmarks/geometry.py --cases 100000     theorems, faces and shares on random models
    python benchmarks/geometry.py --rows 1000        counterfactuals of fitted models, dense search in two features

A case is a random model (weights from 1e-6 to 1e3, 1 to 20 layers, thresholds from .01 to .99) and rows around it, half
of them next to a point where an expert's vote changes.
"""

import argparse
import sys
import time
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree

from softpolytope import SoftplusClassifier, StackSoftplusClassifier, SumSoftplusClassifier, SumStackSoftplusClassifier
from softpolytope.datasets import make_circle, make_double_moon, make_xor
from softpolytope.geometry import LabelingPolytopes, expert_columns, linear_predictors, needed_rate
from softpolytope.geometry._faces import Box
from softpolytope.model import Draws, Features, poisson_rate

# What rounding may do to a comparison of a sum with a bound.
ROUNDING = 1e-12
N_ROWS = 40
GRID = 1500


@dataclass(frozen=True)
class Case:
    """A model of one labeling, a threshold, and rows."""

    polytopes: LabelingPolytopes
    rows: np.ndarray

    @cached_property
    def n_yes(self):
        """Experts that vote yes at the rows."""
        return self.polytopes.n_yes(self.rows)

    @cached_property
    def rates(self):
        """lambda of the rows, by the double-double arithmetic of `model.softplus`."""
        draw = self.polytopes.draw
        return poisson_rate(linear_predictors(draw.coefficients, self.rows), draw.expert_weights)


def random_case(seed, n_layers=None, log_weight=None, threshold=None):
    """Draw a case; arguments that are not given are random too."""
    rng = np.random.default_rng(seed)
    n_layers = int(rng.choice([1, 1, 2, 3, 5, 20])) if n_layers is None else n_layers
    threshold = float(rng.uniform(0.01, 0.99)) if threshold is None else threshold
    n_experts, n_features = int(rng.integers(1, 7)), int(rng.integers(1, 5))
    weights = 10.0 ** (rng.uniform(-6.0, 3.0, n_experts) if log_weight is None else np.full(n_experts, log_weight))
    coefficients = rng.normal(size=(n_experts, n_layers, 1 + n_features)) * 10.0 ** rng.uniform(-1.0, 1.0)
    draw = Draws.from_parts([(coefficients, weights, np.ones(n_experts, dtype=bool), 0.0)])
    names = tuple(f"x{number}" for number in range(n_features))
    box = 3.0 * np.ones(n_features)
    features = Features(names, np.ones(n_features), -box, box)
    polytopes = LabelingPolytopes(1, 0, threshold, draw, features, is_one_of_two=False)
    rows = rng.uniform(-3.0, 3.0, (N_ROWS, n_features)) * 10.0 ** rng.uniform(-1.0, 2.0, (N_ROWS, 1))
    return Case(polytopes, np.concatenate([rows, _next_to_changes(polytopes, rows)]))


def _next_to_changes(polytopes, rows):
    """Return points close to a change of the first expert's vote, by bisection between rows."""
    draw = polytopes.draw
    first = replace(
        polytopes, draw=Draws.from_parts([(draw.coefficients[:1], draw.expert_weights[:1], draw.is_active[:1], 0.0)])
    )
    votes = first.votes(rows)[0]
    is_pair = ~votes & np.roll(votes, 1)
    no, yes = rows[is_pair], np.roll(rows, 1, axis=0)[is_pair]
    # Sixteen places at once, five times: as close as twenty halvings, at a quarter of the calls.
    shares = np.linspace(0.0, 1.0, 17)[:, None, None]
    for _ in range(5 if len(no) else 0):
        places = no + shares * (yes - no)
        is_yes = first.votes(places.reshape(-1, rows.shape[1]))[0].reshape(places.shape[:2])
        is_yes[0], is_yes[-1] = False, True
        after = is_yes.argmax(axis=0)
        pairs = np.arange(len(no))
        no, yes = places[after - 1, pairs], places[after, pairs]
    return np.concatenate([no, yes])


def broken_theorem(case):
    """Return violations of theorems 2 and 5: rows with a yes vote at which P is not above the threshold."""
    needed = needed_rate(case.polytopes.threshold)
    return int(((case.n_yes > 0) & (case.rates < needed * (1.0 - ROUNDING))).sum())


def broken_polytope(case):
    """Return rows outside the bounding polytope of a one-layer model at which P is not above the threshold."""
    polytope = case.polytopes.bounding_polytope()
    slack = ROUNDING * (1.0 + np.abs(case.rows) @ np.abs(polytope.normals.T) + np.abs(polytope.offsets))
    is_outside = (case.rows @ polytope.normals.T > polytope.offsets + slack).any(axis=1)
    needed = needed_rate(case.polytopes.threshold)
    return int((is_outside & (case.rates < needed * (1.0 - ROUNDING))).sum())


def broken_converse(case):
    """Return the control: rows without a yes vote at which P is above the threshold, which do exist."""
    needed = needed_rate(case.polytopes.threshold)
    return int(((case.n_yes == 0) & (case.rates > needed)).sum())


def broken_cap(case):
    """Return rows without a yes vote at which P exceeds the cap of K experts below the threshold."""
    most = len(case.polytopes.draw.expert_weights) * needed_rate(case.polytopes.threshold)
    return int(((case.n_yes == 0) & (case.rates > most * (1.0 + ROUNDING))).sum())


def broken_faces(case, expert=0):
    """Return rows in a box at which an expert votes yes outside its faces."""
    box = Box(case.polytopes.features.lower, case.polytopes.features.upper)
    region = case.polytopes.regions[expert]
    faces = region.faces(box)
    rows = np.clip(case.rows, box.lower, box.upper)
    votes = case.polytopes.votes(rows)[expert]
    if faces.is_empty:
        return int(votes.sum())
    return int((votes & ~(rows @ faces.normals.T > faces.offsets).all(axis=1)).sum())


def broken_shares(case):
    """Return the largest error of an explanation: contributions against lambda, relative, and shares against one."""
    experts, totals = expert_columns(case.polytopes, case.rows)
    n_rows = len(case.rows)
    is_fair = case.rates > 1e-290  # below, products of rates and weights lose digits to underflow
    rates = case.rates[is_fair]
    added = experts["rate"].reshape(n_rows, -1).sum(axis=1)[is_fair]
    shares = experts["share"].reshape(n_rows, -1).sum(axis=1)
    errors = [np.abs(added / rates - 1.0), np.abs(totals["rate"][is_fair] / rates - 1.0), np.abs(shares - 1.0)]
    return float(np.concatenate(errors).max(initial=0.0))


def run_cases(n_cases):
    """Check all guarantees on random models; return the number of violations."""
    broken = dict.fromkeys(("theorem 5", "theorem 2", "cap", "faces", "shares"), 0)
    worst, n_control, n_faces, start = 0.0, 0, 0, time.perf_counter()
    for seed in range(n_cases):
        case = random_case(seed)
        broken["theorem 5"] += broken_theorem(case)
        if case.polytopes.n_layers == 1:
            broken["theorem 2"] += broken_polytope(case)
        broken["cap"] += broken_cap(case)
        error = broken_shares(case)
        worst = max(worst, error)
        broken["shares"] += error > ROUNDING
        n_control += broken_converse(case) > 0
        if seed % 20 == 0:  # linear programs take a thousand times as long as the rest
            n_faces += 1
            broken["faces"] += broken_faces(case)
        if (seed + 1) % max(1, n_cases // 20) == 0:
            print(f"{seed + 1} cases, {time.perf_counter() - start:.0f} s, broken: {broken}", flush=True)
    print(
        f"{n_cases} random models of {N_ROWS} rows and more, faces of {n_faces}: broken {broken}; largest error of an "
        f"explanation {worst:.1e}; the control (the converse of theorem 5) was broken in {n_control} models."
    )
    return sum(broken.values()) + (n_control == 0)


def fitted_models():
    """Yield name, classifier and training rows of the models to explain."""
    sets = {
        "circle": make_circle(300, random_state=0),
        "xor": make_xor(300, random_state=0),
        "moons": make_double_moon(400, random_state=0),
    }
    classifiers = {
        "one hyperplane": SoftplusClassifier(symmetric=False, estimate="best", random_state=0),
        "sum": SumSoftplusClassifier(random_state=0),
        "stack": StackSoftplusClassifier(random_state=0),
        "sum-stack": SumStackSoftplusClassifier(random_state=0),
        "sum-stack, draws": SumStackSoftplusClassifier(inference="gibbs", n_sweeps=100, n_draws=10, random_state=0),
    }
    for set_name, (X, y) in sets.items():
        for name, classifier in classifiers.items():
            yield f"{set_name}, {name}", classifier.fit(X, y), X


def dense_distances(model, X, rows, predicted):
    """Distance from each row to the nearest point of a fine grid with a different prediction."""
    scale, width = X.std(axis=0), np.ptp(X, axis=0)
    lower, upper = X.min(axis=0) - width, X.max(axis=0) + width
    axes = [np.linspace(low, high, GRID) for low, high in zip(lower, upper, strict=True)]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    labels = model.predict(grid)
    trees = {label: cKDTree(grid[labels != label] / scale) for label in np.unique(predicted) if (labels != label).any()}
    return np.array(
        [
            trees[label].query(row / scale)[0] if label in trees else np.inf
            for row, label in zip(rows, predicted, strict=True)
        ]
    )


def run_counterfactuals(n_rows):
    """Check that counterfactuals change the prediction and none on a grid is nearer; return the failures."""
    n_wrong = 0
    print("| model | rows | found | flipped | nearer on the grid | ms a row |\n| --- | --- | --- | --- | --- | --- |")
    for name, model, X in fitted_models():
        rows = np.random.default_rng(len(name)).uniform(X.min(axis=0), X.max(axis=0), (n_rows, 2))
        start = time.perf_counter()
        found = model.counterfactual(rows)
        milliseconds = 1e3 * (time.perf_counter() - start) / n_rows
        is_found = found.is_found
        flipped = (model.predict(found.points[is_found]) != found.predicted[is_found]).sum()
        nearer = int((dense_distances(model, X, rows, found.predicted) < found.distances).sum())
        n_wrong += int(is_found.sum() - flipped) + nearer
        print(f"| {name} | {n_rows} | {is_found.sum()} | {flipped} | {nearer} | {milliseconds:.1f} |", flush=True)
    return n_wrong


def main():
    """Run the requested checks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=0, help="random models")
    parser.add_argument("--rows", type=int, default=0, help="rows of each fitted model whose counterfactual is sought")
    options = parser.parse_args()
    n_wrong = run_cases(options.cases) if options.cases else 0
    n_wrong += run_counterfactuals(options.rows) if options.rows else 0
    sys.exit(n_wrong > 0)


if __name__ == "__main__":
    main()
