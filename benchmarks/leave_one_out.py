"""Compare leave-one-out with cross-validation, for chains of models of one and of several layers.

    python benchmarks/leave_one_out.py saheart.csv    prints the table of docs/leave_one_out.md

Sums of the log-probabilities of all rows (elpd): by ArviZ from `to_datatree`; by ArviZ from the labelings'
probabilities averaged draw by draw, which is wrong; and by ten-fold cross-validation.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from softpolytope import SumStackSoftplusClassifier
from softpolytope.inspection._leave_one_out import smoothed_log_weights

warnings.simplefilter("ignore")
import arviz  # noqa: E402  # announces its next version


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("data", help="a CSV file")
    parser.add_argument("--target", default="target")
    parser.add_argument("--layers", type=int, nargs="+", default=[1, 3])
    parser.add_argument("--sweeps", type=int, default=2000)
    parser.add_argument("--draws", type=int, default=500)
    given = parser.parse_args()
    frame = pd.read_csv(given.data)
    X = pd.get_dummies(frame.drop(columns=given.target), drop_first=True).to_numpy(dtype=np.float64)
    y = frame[given.target].to_numpy()
    print("| layers | `az.loo` | standard error | rows of k > 0.7 | averaged draw by draw | ten-fold |")
    print("| --- | --- | --- | --- | --- | --- |", flush=True)
    for n_layers in given.layers:
        model = SumStackSoftplusClassifier(
            inference="gibbs", n_layers=n_layers, n_sweeps=given.sweeps, n_draws=given.draws, random_state=0
        )
        print(f"| {n_layers} | " + " | ".join(row(model, X, y)) + " |", flush=True)


def row(model, X, y):
    """Numbers of one model."""
    model.fit(X, y)
    loo = arviz.loo(model.to_datatree(X, y), pointwise=True)
    # The draws of one labeling come first, then those of the other.
    probabilities = 0.5 * model.predict_proba_draws(X).reshape(2, -1, len(X)).sum(axis=0)
    logs = np.log(np.where(y == model.classes_[1], probabilities, 1.0 - probabilities))
    by_hand = np.log(np.exp(smoothed_log_weights(-logs) + logs).sum(axis=0)).sum()
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    held_out = cross_val_predict(model, X, y, cv=folds, method="predict_proba")
    crossed = np.log(held_out[np.arange(len(y)), np.searchsorted(model.classes_, y)]).sum()
    n_bad = int((np.asarray(loo.pareto_k) > 0.7).sum())
    return [f"{loo.elpd_loo:.1f}", f"{loo.se:.1f}", str(n_bad), f"{by_hand:.1f}", f"{crossed:.1f}"]


if __name__ == "__main__":
    main()
