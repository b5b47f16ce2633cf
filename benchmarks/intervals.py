"""Measure how often intervals of the probability cover the true one, on rows from laws of known probabilities.

    python benchmarks/intervals.py    prints the table of docs/results/defaults.md; ten minutes

Share of 500 new rows whose true P(y = 1) lies in the 89 % interval, and the interval's mean width; means over data
sets.
"""

import argparse
import warnings

import numpy as np

from softpolytope import SumStackSoftplusClassifier
from softpolytope.model import central_interval

N_ROWS = (200, 1000)
FITS = {
    "modes, 5": {},
    "modes, 20": {"n_restarts": 20},
    "bootstrap, 20": {"n_restarts": 20, "bootstrap": True},
    "chains": {"inference": "gibbs", "start": "map"},
}


def line(X):
    """A probability that depends on one hyperplane."""
    return 1.0 / (1.0 + np.exp(-(1.0 + 1.5 * X[:, 0] - X[:, 1])))


def disc(X):
    """A probability that is high inside a disc with a soft edge."""
    return 0.05 + 0.9 / (1.0 + np.exp(4.0 * (np.hypot(X[:, 0], X[:, 1]) - 1.2)))


def main():
    """Print the table."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sets", type=int, default=6)
    n_sets = parser.parse_args().sets
    print("| law | rows | " + " | ".join(f"{label}: covered, width" for label in FITS) + " |")
    print("| --- |" + " --- |" * (1 + len(FITS)))
    for law in (line, disc):
        for n_rows in N_ROWS:
            cells = []
            for parameters in FITS.values():
                found = [coverage(law, n_rows, seed, parameters) for seed in range(n_sets)]
                covered, width = np.mean(found, axis=0)
                cells.append(f"{100.0 * covered:.0f} %, {width:.2f}")
            print(f"| {law.__name__} | {n_rows} | " + " | ".join(cells) + " |", flush=True)


def coverage(law, n_rows, seed, parameters):
    """Return coverage and width for one data set."""
    rng = np.random.default_rng(seed)
    X, X_new = rng.standard_normal((n_rows, 2)), rng.standard_normal((500, 2))
    y = rng.random(n_rows) < law(X)
    model = SumStackSoftplusClassifier(**parameters, random_state=seed).fit(X, y)
    # As `predict_interval` has it, which refuses plain modes.
    low, high = central_interval(model.predict_proba_draws(X_new), 0.89)
    truth = law(X_new)
    return np.mean((low <= truth) & (truth <= high)), np.mean(high - low)


if __name__ == "__main__":
    main()
