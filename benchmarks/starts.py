"""Compare chains from random starts with chains from modes, and both with the modes themselves.

    python benchmarks/starts.py --data-home DIR    prints a table of docs/results/defaults.md; a quarter of an hour

Evaluated on a quarter of the training parts, never on test parts: log-loss and error of the mean draw, R-hat of the
log-likelihood over four chains of one labeling, and sweeps until the log-likelihood first reaches the tenth percentile
of the last half of all chains from either start.
"""

import argparse
import os
import time
import warnings

import numpy as np
from sklearn.metrics import log_loss

from defaults import problem
from softpolytope import SumStackSoftplusClassifier

SETS = ("banana", "waveform", "image", "breast_cancer")
N_SWEEPS = 600


def main():
    """Print the table."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data-home", default=os.environ.get("SOFTPOLYTOPE_DATA"))
    options = parser.parse_args()
    print("| set | fit | log-loss | error, % | R-hat | sweeps to settle | seconds |\n" + "| --- |" * 1 + " --- |" * 6)
    for name in SETS:
        report(name, options.data_home)


def report(name, data_home):
    """Rows of one set, means over two partitions."""
    rows = {"modes": [], "chains from random places": [], "chains from modes": []}
    for partition in range(2):
        X, y, X_test, y_test = problem(name, partition, data_home)
        models = {}
        for label, parameters in (
            ("modes", {"inference": "map"}),
            ("chains from random places", {"inference": "gibbs", "start": "random"}),
            ("chains from modes", {"inference": "gibbs", "start": "map"}),
        ):
            start = time.perf_counter()
            model = SumStackSoftplusClassifier(
                **parameters, n_chains=4, n_sweeps=N_SWEEPS, random_state=partition, n_jobs=2
            ).fit(X, y)
            models[label] = (model, time.perf_counter() - start)
        traces = {label: models[label][0].log_likelihood_[0] for label in list(rows)[1:]}
        level = np.quantile(np.concatenate([trace[:, N_SWEEPS // 2 :] for trace in traces.values()]), 0.1)
        for label, (model, seconds) in models.items():
            probabilities = model.predict_proba(X_test)
            scores = [log_loss(y_test, probabilities, labels=[0, 1]), 100.0 * np.mean(model.predict(X_test) != y_test)]
            if label == "modes":
                scores += [np.nan, np.nan]
            else:
                found = {item.name: item.r_hat for item in model.diagnostics()}
                is_there = traces[label] >= level
                first = np.where(is_there.any(axis=1), is_there.argmax(axis=1), N_SWEEPS)
                scores += [found["log-likelihood, labeling 0"], first.mean()]
            rows[label].append([*scores, seconds])
    for label, values in rows.items():
        means = np.mean(values, axis=0)
        cells = [f"{means[0]:.3f}", f"{means[1]:.1f}", f"{means[2]:.2f}", f"{means[3]:.0f}", f"{means[4]:.1f}"]
        print(f"| {name} | {label} | " + " | ".join("" if cell == "nan" else cell for cell in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
