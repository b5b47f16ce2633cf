"""Change one default at a time, and measure error and log-loss on held-out rows.

    python benchmarks/defaults.py --data-home DIR [--out docs/results/defaults.csv]

The data are the training parts of the paper's six small sets, three quarters of each for training and a quarter for
evaluation, and five other sets with their own test parts (at most 3,000 rows). Test parts of the paper's sets are not
read. Settings that the file already has are not run again.
"""

import argparse
import csv
import os
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from sklearn.metrics import log_loss

from softpolytope import Prior, SumStackSoftplusClassifier
from softpolytope.datasets import load_benchmark, n_partitions

TRAINING_PARTS = ("banana", "breast_cancer", "titanic", "waveform", "german", "image")
OTHERS = ("thyroid", "ringnorm", "splice", "ripley", "fourclass")
FIELDS = ("setting", "set", "partition", "error", "log_loss", "seconds")


def learned(shape):
    """Return a prior of this shape with a learned rate."""
    return Prior(precision_shape=shape, precision_rate="learned")


SETTINGS = {
    "default": {},
    "precision_shape 0.25": {"prior": learned(0.25)},
    "precision_shape 1": {"prior": learned(1.0)},
    "precision_shape 10": {"prior": learned(10.0)},
    "max_experts 10": {"max_experts": 10},
    "max_experts 40": {"max_experts": 40},
    "n_layers 1": {"n_layers": 1},
    "n_layers 2": {"n_layers": 2},
    "n_layers 5": {"n_layers": 5},
    "n_restarts 2": {"n_restarts": 2},
    "n_restarts 10": {"n_restarts": 10},
    "bootstrap": {"inference": "bootstrap"},
    "one labeling": {"symmetric": False},
    "rate 1, not learned": {"prior": Prior(precision_shape=0.5, precision_rate=1.0)},
    "rate 100, not learned": {"prior": Prior(precision_shape=0.5, precision_rate=100.0)},
    "estimate best": {"estimate": "best"},
}


def problem(name, partition, data_home):
    """Return training rows and evaluation rows."""
    split = load_benchmark(name, partition, data_home)
    if name in OTHERS:
        return split.X_train, split.y_train, split.X_test[:3000], split.y_test[:3000]
    order = np.random.default_rng(partition).permutation(len(split.y_train))
    cut = 3 * len(order) // 4
    return *(part[order[:cut]] for part in split[:2]), *(part[order[cut:]] for part in split[:2])


def run(setting, name, partition, data_home):
    """Fit and evaluate one setting."""
    warnings.simplefilter("ignore")
    X, y, X_test, y_test = problem(name, partition, data_home)
    start = time.perf_counter()
    model = SumStackSoftplusClassifier(**SETTINGS[setting], random_state=partition).fit(X, y)
    seconds = time.perf_counter() - start
    error = 100.0 * np.mean(model.predict(X_test) != y_test)
    loss = log_loss(y_test, model.predict_proba(X_test), labels=[0, 1])
    return setting, name, partition, f"{error:.4f}", f"{loss:.5f}", f"{seconds:.2f}"


def main():
    """Run the missing fits and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data-home", default=os.environ.get("SOFTPOLYTOPE_DATA"))
    parser.add_argument("--out", type=Path, default=Path("docs/results/defaults.csv"))
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    done = set()
    if options.out.exists():
        with options.out.open() as file:
            done = {tuple(row[:3]) for row in csv.reader(file)}
    else:
        options.out.write_text(",".join(FIELDS) + "\n")
    jobs = [
        (setting, name, partition, options.data_home)
        for setting in SETTINGS
        for name in (*TRAINING_PARTS, *OTHERS)
        for partition in range(n_partitions(name, options.data_home))
        if (setting, name, str(partition)) not in done
    ]
    with ProcessPoolExecutor(options.processes) as pool, options.out.open("a") as file:
        for row in pool.map(run, *zip(*jobs, strict=True)) if jobs else ():
            csv.writer(file, lineterminator="\n").writerow(row)
            file.flush()
    print_table(options.out)


def print_table(path):
    """Geometric means over the sets, relative to the default."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    names = sorted({row["set"] for row in rows}, key=(*TRAINING_PARTS, *OTHERS).index)
    print("| setting | " + " | ".join(names) + " | log-loss, mean | error, mean |")
    print("| --- |" + " --- |" * (len(names) + 2))
    base = None
    for setting in SETTINGS:
        means = []
        for name in names:
            chosen = [row for row in rows if row["setting"] == setting and row["set"] == name]
            if not chosen:
                break
            means.append([np.mean([float(row[key]) for row in chosen]) for key in ("error", "log_loss")])
        if len(means) < len(names):
            continue
        means = np.array(means)
        base = means if base is None else base
        # Errors near zero would dominate a ratio: a tenth of a percent is added to each.
        floor = np.array([0.1, 0.0])
        ratio = np.exp(np.mean(np.log((means + floor) / (base + floor)), axis=0))
        cells = " | ".join(f"{error:.1f} {loss:.3f}" for error, loss in means)
        print(f"| {setting} | {cells} | {ratio[1]:.3f} | {ratio[0]:.3f} |")


if __name__ == "__main__":
    main()
