"""Compare two combinations of one-versus-rest regressions by cross-validated log-loss and error.

    python benchmarks/multiclass.py    prints the table of docs/results/prediction.md; five minutes

Probabilities that sum to one follow from P(class) and P(not class) of every class by dividing P(class) by the sum, or
by dividing the odds by their sum, the law of independent labels given that exactly one of them is true.
"""

import warnings

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from softpolytope import SumStackSoftplusClassifier
from softpolytope.model import combine_odds


def data_sets():
    """Small sets of three to ten classes that come with scikit-learn."""
    digits = load_digits()
    chosen = np.random.default_rng(0).permutation(len(digits.target))[:600]
    blobs = make_blobs(400, centers=8, cluster_std=1.6, random_state=0)
    return {
        "iris, 3 classes": load_iris(return_X_y=True),
        "wine, 3 classes": load_wine(return_X_y=True),
        "clouds, 4 classes of two each": (blobs[0], blobs[1] % 4),
        "digits, 10 classes, 10 components": (PCA(10).fit_transform(digits.data[chosen]), digits.target[chosen]),
    }


def main():
    """Print the table."""
    warnings.simplefilter("ignore")
    print("| data, 3-fold | P / sum: log-loss, error | odds / sum: log-loss, error | logistic regression |")
    print("| --- | --- | --- | --- |")
    for name, (X, y) in data_sets().items():
        found = {"sum": np.zeros((len(y), y.max() + 1)), "odds": np.zeros((len(y), y.max() + 1)), "linear": None}
        found["linear"] = np.zeros_like(found["sum"])
        for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
            model = SumStackSoftplusClassifier(random_state=0, n_jobs=2).fit(X[train], y[train])
            pairs = model._probabilities(X[test])
            positive, negative = (np.stack([pair[side] for pair in pairs]) for side in (0, 1))
            found["sum"][test] = (positive / positive.sum(axis=0)).T
            found["odds"][test] = combine_odds(positive, negative).T
            linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X[train], y[train])
            found["linear"][test] = linear.predict_proba(X[test])
        cells = [f"{log_loss(y, p):.3f}, {100 * (p.argmax(axis=1) != y).mean():.1f} %" for p in found.values()]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
