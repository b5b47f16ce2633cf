"""Compare modes that could stand for all members of a bootstrap: how often each decides like all of them.

    python benchmarks/representatives.py --data-home DIR    prints a table; two minutes

The default classifier is fitted to the training rows of two partitions of each development set. Columns are shares of
test rows, in percent, for which a pair of modes, one of each labeling, decides as the full model does: the
representatives that the fit provides, with the share that the fit states; the members nearest to the full model on
the training rows; and the best of five plain modes. Labels of the test rows are not used.
"""

import argparse
import os

import numpy as np
from scipy.special import expit, logit

from softpolytope import SumStackSoftplusClassifier
from softpolytope.datasets import load_benchmark

SETS = ("splice", "thyroid", "ringnorm", "fourclass", "ripley", "cod_rna")
COLUMNS = ("representatives", "stated by the fit", "nearest members", "best plain modes")


def shares(name, partition, data_home):
    """Return the shares of one fit."""
    split = load_benchmark(name, partition, data_home)
    X, X_test = split.X_train, split.X_test[:5000]
    model = SumStackSoftplusClassifier(random_state=partition).fit(X, split.y_train)
    plain = SumStackSoftplusClassifier(inference="map", estimate="best", random_state=partition).fit(X, split.y_train)
    decisions = model.predict_proba(X_test)[:, 1] > 0.5
    nearest = nearest_members(model.predict_proba_draws(X), model.predict_proba(X)[:, 1])
    both = logit(np.clip(model.predict_proba_draws(X_test)[nearest], 1e-12, 1.0 - 1e-12))
    candidates = [
        model.set_params(estimate="best").predict_proba(X_test)[:, 1],
        None,
        expit(both.mean(axis=0)),
        plain.predict_proba(X_test)[:, 1],
    ]
    stated = model.posterior_.regressions[0].agreement
    return [stated if found is None else np.mean((found > 0.5) == decisions) for found in candidates]


def nearest_members(draws, mean):
    """Return the index of the member of each labeling with the lowest cross-entropy from the full model."""
    clipped = np.clip(draws, 1e-9, 1.0 - 1e-9)
    losses = -(mean * np.log(clipped) + (1.0 - mean) * np.log1p(-clipped)).sum(axis=1)
    half = len(draws) // 2
    return [int(np.argmin(losses[:half])), half + int(np.argmin(losses[half:]))]


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data-home", default=os.environ.get("SOFTPOLYTOPE_DATA"))
    options = parser.parse_args()
    print("| set | " + " | ".join(COLUMNS) + " |\n| --- |" + " --- |" * len(COLUMNS))
    every = []
    for name in SETS:
        found = [shares(name, partition, options.data_home) for partition in ((0,) if name == "ripley" else (0, 1))]
        every.append(100.0 * np.mean(found, axis=0))
        print(f"| {name} | " + " | ".join(f"{share:.1f}" for share in every[-1]) + " |", flush=True)
    print("| median | " + " | ".join(f"{share:.1f}" for share in np.median(every, axis=0)) + " |")


if __name__ == "__main__":
    main()
