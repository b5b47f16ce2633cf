"""Compare priors of chains whose scale the search for modes chose with the fixed one.

    python benchmarks/chain_priors.py --data-home DIR    prints the table of docs/results/defaults.md; half an hour

A model learns from some rows of the training parts and is evaluated on at most 2,000 of the other training rows; three
draws of the rows per set. The searched rate is a multiple of the precision shape of the modes' prior.
"""

import argparse
import os
import warnings

import numpy as np
from scipy import sparse
from sklearn.metrics import log_loss

from softpolytope import Prior, SumStackSoftplusClassifier
from softpolytope.datasets import load_benchmark
from softpolytope.optimize import DEFAULT_PRIOR

SETS = ("banana", "thyroid", "ripley", "ringnorm", "german", "image", "splice", "fourclass", "waveform",
        "breast_cancer", "cod_rna")  # fmt: skip
SIZES = (40, 100, 300)
MODE_SHAPE = DEFAULT_PRIOR.precision_shape
PRIORS = {
    "fixed": lambda _: Prior(),
    "same scale": lambda multiple: Prior(precision_rate=multiple),
    "same rate": lambda multiple: Prior(precision_rate=multiple * MODE_SHAPE),
    "the modes' prior": lambda multiple: Prior(precision_shape=MODE_SHAPE, precision_rate=multiple * MODE_SHAPE),
}


def losses(name, n_rows, seed, data_home):
    """Log-loss of modes and of chains under every prior; None if too few rows are left."""
    split = load_benchmark(name, 0, data_home)
    X, y = split.X_train, split.y_train
    X = X.toarray() if sparse.issparse(X) else X
    order = np.random.default_rng([seed, n_rows]).permutation(len(y))
    while not 2 <= (y[order[:n_rows]] == y.max()).sum() <= n_rows - 2:
        order = np.roll(order, 1)
    rows, others = order[:n_rows], order[n_rows:][:2000]
    if len(others) < 40:
        return None
    # With two restarts, the search of modes is that of the two chains' starts.
    modes = SumStackSoftplusClassifier(inference="map", n_restarts=2, random_state=seed, warm_start=True)
    losses_by_rate = modes.fit(X[rows], y[rows])._fits[0].state.result.held_out_loss
    multiple = min(losses_by_rate, key=losses_by_rate.get) / MODE_SHAPE
    models = [modes]
    for make in PRIORS.values():
        model = SumStackSoftplusClassifier(inference="gibbs", n_sweeps=400, prior=make(multiple), random_state=seed)
        models.append(model.fit(X[rows], y[rows]))
    return [log_loss(y[others], model.predict_proba(X[others]), labels=model.classes_) for model in models]


def main():
    """Print the table."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data-home", default=os.environ.get("SOFTPOLYTOPE_DATA"))
    parser.add_argument("--draws", type=int, default=3)
    options = parser.parse_args()
    print("| rows | set | modes | " + " | ".join(PRIORS) + " |")
    print("| --- | --- | --- |" + " --- |" * len(PRIORS))
    for n_rows in SIZES:
        of_sets = []
        for name in SETS:
            runs = [losses(name, n_rows, seed, options.data_home) for seed in range(options.draws)]
            if None in runs:
                continue
            of_sets.append(np.mean(runs, axis=0))
            print(f"| {n_rows} | {name} | " + " | ".join(f"{loss:.3f}" for loss in of_sets[-1]) + " |", flush=True)
        means = " | ".join(f"{loss:.3f}" for loss in np.mean(of_sets, axis=0))
        print(f"| {n_rows} | mean | {means} |", flush=True)


if __name__ == "__main__":
    main()
