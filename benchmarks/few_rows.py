"""Compare the default fit of few rows with plain modes and chains.

    python benchmarks/few_rows.py --data-home DIR    prints the table of docs/results/defaults.md; half an hour

A model learns from some rows of the training parts and is evaluated on the other training rows; ten draws of the rows
per set.
"""

import argparse
import os
import warnings

import numpy as np
from sklearn.metrics import log_loss

from softpolytope import SumStackSoftplusClassifier
from softpolytope.datasets import load_benchmark

SETS = ("banana", "breast_cancer", "waveform", "german", "image", "thyroid", "ringnorm", "ripley")
SIZES = (10, 25, 50, 100)
FITS = {
    "default": {},
    "modes": {"inference": "map"},
    "chains": {"inference": "gibbs"},
}


def scores(name, n_rows, seed, data_home):
    """Log-loss and error of every fit."""
    split = load_benchmark(name, 0, data_home)
    order = np.random.default_rng([seed, n_rows]).permutation(len(split.y_train))
    # Both labels, at least two rows of each.
    while not 2 <= split.y_train[order[:n_rows]].sum() <= n_rows - 2:
        order = np.roll(order, 1)
    rows, others = order[:n_rows], order[n_rows:]
    found = []
    for parameters in FITS.values():
        model = SumStackSoftplusClassifier(**parameters, random_state=seed).fit(
            split.X_train[rows], split.y_train[rows]
        )
        probabilities = model.predict_proba(split.X_train[others])
        labels = split.y_train[others]
        found.append(
            (log_loss(labels, probabilities, labels=[0, 1]), 100.0 * np.mean(probabilities.argmax(axis=1) != labels))
        )
    return found


def main():
    """Print the table."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data-home", default=os.environ.get("SOFTPOLYTOPE_DATA"))
    parser.add_argument("--draws", type=int, default=10)
    options = parser.parse_args()
    print("| rows | set | " + " | ".join(f"{label}: log-loss, error" for label in FITS) + " |")
    print("| --- |" + " --- |" * (1 + len(FITS)))
    for n_rows in SIZES:
        of_sets = []
        for name in SETS:
            runs = [scores(name, n_rows, seed, options.data_home) for seed in range(options.draws)]
            means = np.mean(runs, axis=0)
            of_sets.append(means)
            cells = " | ".join(f"{loss:.3f}, {error:.1f} %" for loss, error in means)
            print(f"| {n_rows} | {name} | {cells} |", flush=True)
        cells = " | ".join(f"{loss:.3f}, {error:.1f} %" for loss, error in np.mean(of_sets, axis=0))
        print(f"| {n_rows} | mean | {cells} |", flush=True)


if __name__ == "__main__":
    main()
