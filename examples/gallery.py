"""One short example per display; `python examples/gallery.py` writes the pictures of docs/gallery."""

import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import train_test_split

from softpolytope import SumSoftplusClassifier, SumStackSoftplusClassifier
from softpolytope.datasets import make_circle, make_double_moon
from softpolytope.inspection.displays import (
    DecisionDisplay,
    ExpertWeightsDisplay,
    LatentCountsDisplay,
    LogLikelihoodDisplay,
    Plane,
    ReliabilityDisplay,
    explanation_plane,
)


def chains(n_layers=3):
    """A ring around a disc, and two chains of a sum of stacks."""
    X, y = make_circle(300, random_state=0)
    y = np.where(y == 1, "ring", "disc")
    chain = {"inference": "gibbs", "n_chains": 2, "n_sweeps": 600, "start": "random", "random_state": 0}
    return SumStackSoftplusClassifier(n_layers=n_layers, **chain, n_jobs=2).fit(X, y), X, y


def half_spaces():
    """One layer: every expert is a half-space, a line on the map."""
    X, y = make_circle(300, random_state=0)
    y = np.where(y == 1, "ring", "disc")
    model = SumSoftplusClassifier(random_state=0).fit(X, y)
    return DecisionDisplay.from_estimator(model, X, y, labeling=0)


def regions():
    """Several layers: the region of every expert, of both labelings."""
    X, y = make_double_moon(400, random_state=0)
    model = SumStackSoftplusClassifier(random_state=0).fit(X, y)
    return DecisionDisplay.from_estimator(model, X, y)


def criteria():
    """The same with the criteria of the layers, an approximation, as lines."""
    X, y = make_double_moon(400, random_state=0)
    model = SumStackSoftplusClassifier(random_state=0).fit(X, y)
    return DecisionDisplay.from_estimator(model, X, y, labeling=0, experts="lines")


def deviation():
    """Posterior standard deviation."""
    return DecisionDisplay.from_estimator(*chains(), response="deviation")


def count():
    """Number of experts that vote yes."""
    return DecisionDisplay.from_estimator(*chains(), response="count", target="ring")


def pair_of_features():
    """Two of several features by name, of three classes; the others stay at their medians."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = SumStackSoftplusClassifier(random_state=0).fit(X, names)
    return DecisionDisplay.from_estimator(
        model, X, names, view=("petal length (cm)", "petal width (cm)"), target="virginica", labeling=0
    )


def plane():
    """A plane through the means of three classes."""
    X, y = load_wine(return_X_y=True)
    model = SumStackSoftplusClassifier(random_state=0).fit(X, y)
    means = np.array([X[y == label].mean(axis=0) for label in range(3)])
    directions = means[1:] - means[0]
    view = Plane(means[0], *directions, "from class 0 (0) to class 1 (1)", "from class 0 (0) to class 2 (1)")
    return DecisionDisplay.from_estimator(model, X, y, view=view, target=1, experts=None)


def explanation():
    """The plane through a wine and its nearest counterfactual, in thirteen features."""
    X, y = load_wine(return_X_y=True)
    model = SumStackSoftplusClassifier(random_state=0).fit(X, y)
    return DecisionDisplay.from_estimator(model, X, y, view=explanation_plane(model, X[70]), target=1, experts=None)


def expert_weights():
    """Weights of the experts; most of twenty are not needed."""
    return ExpertWeightsDisplay.from_estimator(chains()[0], target="ring")


def log_likelihood():
    """Convergence and agreement of the chains."""
    return LogLikelihoodDisplay.from_estimator(chains()[0], target="ring")


def latent_counts():
    """Latent counts by level; flat lines mean that more layers add nothing."""
    model, X, y = chains(n_layers=8)
    return LatentCountsDisplay.from_estimator(model, X, y, target="ring")


def reliability():
    """Calibration of the probabilities."""
    X, y = make_double_moon(3000, noise=0.35, random_state=0)
    X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=400, random_state=0)
    model = SumStackSoftplusClassifier(random_state=0).fit(X_train, y_train)
    return ReliabilityDisplay.from_estimator(model, X_test, y_test)


EXAMPLES = (half_spaces, regions, criteria, deviation, count, pair_of_features, plane, explanation,
            expert_weights, log_likelihood, latent_counts, reliability)  # fmt: skip


def main(folder):
    """Draw all examples into a folder."""
    mpl.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    for example in EXAMPLES:
        path = folder / f"{example.__name__}.png"
        example().figure_.savefig(path, dpi=100)
        plt.close("all")
        with Image.open(path) as picture:  # a palette makes the file a third as large
            picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
        print(path, path.stat().st_size)  # noqa: T201  # a script


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "gallery")
