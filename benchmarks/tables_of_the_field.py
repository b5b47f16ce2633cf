"""Compare the default TableClassifier with other methods on real tables: error, log-loss, AUC and times.

    python benchmarks/tables_of_the_field.py --tables-home DIR                  run what is missing, then print the page
    python benchmarks/tables_of_the_field.py --tables-home DIR --methods CatBoost --tables crx --splits 0
    python benchmarks/tables_of_the_field.py --page                             print the page only

DIR holds NAME.csv with the label in the column `target`, and splits.json, which maps a name to pairs of training and
test rows. The results are kept in docs/results/tables.csv, a line per fit, so that an interrupted run goes on.

Every fit runs in a process of its own with one thread; times are CPU seconds. All methods use their defaults, except
that the support vector machine chooses C and gamma by 3-fold cross-validation over 30 points, and logistic
regression C by 5-fold cross-validation over nine. Linear models, the support vector machine and the random forest see
standardized numbers with medians for gaps, and one-hot categories, BART the same without standardization; the others
take categories and gaps themselves.
AutoGluon (`good_quality`, 90 seconds of wall time) runs only if it is installed, on the first split. Probabilities are
clipped to [1e-6, 1 - 1e-6] before the log-loss is taken. Requires the `benchmarks` extra.
"""

# ruff: noqa: PLC0415 -- a process imports the library of its own method only

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "tables.csv"
FIELDS = ("method", "table", "split", "error", "log_loss", "auc", "fit_seconds", "predict_seconds")
OURS = "softpolytope"
MIN_PROBABILITY = 1e-6
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LOKY_MAX_CPU_COUNT")
AUTOGLUON_SECONDS = 90
N_WARM_UP = 30

Probabilities = NDArray[np.float64]  # (rows,)  P(y = 1)
Predictor = Callable[[pd.DataFrame], Probabilities]


def softpolytope(X: pd.DataFrame, y: NDArray[np.int64]) -> Predictor:
    """The default TableClassifier."""
    from softpolytope import SumStackSoftplusClassifier, TableClassifier

    model = TableClassifier(SumStackSoftplusClassifier(random_state=0, n_jobs=1)).fit(X.assign(target=y), "target")
    return lambda rows: model.predict_proba(rows)[:, 1]


def encoded(model: object) -> Callable[[pd.DataFrame, NDArray[np.int64]], Predictor]:
    """A scikit-learn classifier behind medians, standardized numbers and one-hot categories."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    def fit(X: pd.DataFrame, y: NDArray[np.int64]) -> Predictor:
        encoder = make_column_transformer(
            (
                make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
                make_column_selector(dtype_include="number"),
            ),
            (
                OneHotEncoder(handle_unknown="ignore", sparse_output=False),
                make_column_selector(dtype_exclude="number"),
            ),
        )
        fitted = make_pipeline(encoder, model).fit(X, y)
        return lambda rows: fitted.predict_proba(rows)[:, 1]

    return fit


def logistic_regression(X: pd.DataFrame, y: NDArray[np.int64]) -> Predictor:
    """C by 5-fold cross-validation of the log-loss."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV

    grid = {"C": 10.0 ** np.arange(-4, 5)}
    model = GridSearchCV(LogisticRegression(max_iter=2000), grid, cv=5, scoring="neg_log_loss")
    return encoded(model)(X, y)


def support_vectors(X: pd.DataFrame, y: NDArray[np.int64]) -> Predictor:
    """C and gamma by 3-fold cross-validation, then Platt's probabilities."""
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    class TunedMachine(ClassifierMixin, BaseEstimator):
        def fit(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> "TunedMachine":
            grid = {"C": 4.0 ** np.arange(-2, 4), "gamma": 4.0 ** np.arange(-2, 3) / X.shape[1]}
            tuned = GridSearchCV(SVC(), grid, cv=3).fit(X, y).best_params_
            self.classes_ = np.unique(y)
            self.machine_ = CalibratedClassifierCV(SVC(**tuned), cv=3, ensemble=False).fit(X, y)
            return self

        def predict_proba(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
            return self.machine_.predict_proba(X)

    return encoded(TunedMachine())(X, y)


def random_forest(X: pd.DataFrame, y: NDArray[np.int64]) -> Predictor:
    """Random forest of scikit-learn."""
    from sklearn.ensemble import RandomForestClassifier

    return encoded(RandomForestClassifier(random_state=0, n_jobs=1))(X, y)


def as_categories(X: pd.DataFrame, reference: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with text columns as the categories of the training rows; others become missing."""
    texts = [name for name in reference if not pd.api.types.is_numeric_dtype(reference[name])]
    known = {name: pd.CategoricalDtype(sorted(reference[name].dropna().unique())) for name in texts}
    return X.astype(known)


def hist_gradient_boosting(X: pd.DataFrame, y: NDArray[np.int64]) -> Predictor:
    """HistGradientBoostingClassifier with its own categories."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(random_state=0).fit(as_categories(X, X), y)
    return lambda rows: model.predict_proba(as_categories(rows, X))[:, 1]


def lightgbm(X: pd.DataFrame, y: NDArray[np.int64]) -> Predictor:
    """LightGBM with its own categories."""
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(verbose=-1, n_jobs=1, random_state=0).fit(as_categories(X, X), y)
    return lambda rows: model.predict_proba(as_categories(rows, X))[:, 1]


def xgboost(X: pd.DataFrame, y: NDArray[np.int64]) -> Predictor:
    """XGBoost with its own categories."""
    from xgboost import XGBClassifier

    model = XGBClassifier(n_jobs=1, random_state=0, enable_categorical=True).fit(as_categories(X, X), y)
    return lambda rows: model.predict_proba(as_categories(rows, X))[:, 1]


def catboost(X: pd.DataFrame, y: NDArray[np.int64]) -> Predictor:
    """CatBoost with its own categories; a missing one is the text "nan"."""
    from catboost import CatBoostClassifier

    texts = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]

    def prepared(rows: pd.DataFrame) -> pd.DataFrame:
        return rows.assign(**{name: rows[name].astype(object).fillna("nan").astype(str) for name in texts})

    model = CatBoostClassifier(
        verbose=0, thread_count=1, random_seed=0, allow_writing_files=False, cat_features=texts
    ).fit(prepared(X), y)
    return lambda rows: model.predict_proba(prepared(rows))[:, 1]


def explainable_boosting(X: pd.DataFrame, y: NDArray[np.int64]) -> Predictor:
    """ExplainableBoostingClassifier of InterpretML."""
    from interpret.glassbox import ExplainableBoostingClassifier

    model = ExplainableBoostingClassifier(random_state=0, n_jobs=1).fit(X, y)
    return lambda rows: model.predict_proba(rows)[:, 1]


def additive_trees(X: pd.DataFrame, y: NDArray[np.int64]) -> Predictor:
    """BART of stochtree with a probit link; numbers have medians for gaps."""
    from stochtree import BARTModel, OutcomeModel

    medians = X.median(numeric_only=True)

    def prepared(rows: pd.DataFrame) -> pd.DataFrame:
        filled = rows.fillna(medians)
        texts = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
        filled[texts] = filled[texts].astype(object).fillna("missing")
        known = X[texts].astype(object).fillna("missing")
        one_hot = [(filled[name] == value).astype(float) for name in texts for value in sorted(known[name].unique())]
        numbers = filled.drop(columns=texts).astype(float).to_numpy()
        return pd.DataFrame(np.column_stack([numbers, *one_hot]))

    model = BARTModel()
    model.sample(
        X_train=prepared(X),
        y_train=y.astype(float),
        general_params={
            "random_seed": 1,
            "num_threads": 1,
            "sample_sigma2_global": False,
            "outcome_model": OutcomeModel(outcome="binary", link="probit"),
        },
    )
    return lambda rows: np.asarray(model.predict(prepared(rows), type="mean", terms="y_hat", scale="probability"))


def autogluon(X: pd.DataFrame, y: NDArray[np.int64]) -> Predictor:
    """AutoGluon, good quality, in 90 seconds."""
    from autogluon.tabular import TabularPredictor

    folder = tempfile.mkdtemp()
    model = TabularPredictor("target", path=folder, verbosity=0, eval_metric="log_loss")
    model.fit(X.assign(target=y), presets="good_quality", time_limit=AUTOGLUON_SECONDS, num_cpus=1)
    return lambda rows: model.predict_proba(rows)[1].to_numpy()


METHODS = {
    OURS: softpolytope,
    "logistic regression": logistic_regression,
    "SVM, tuned": support_vectors,
    "random forest": random_forest,
    "HistGradientBoosting": hist_gradient_boosting,
    "LightGBM": lightgbm,
    "XGBoost": xgboost,
    "CatBoost": catboost,
    "EBM": explainable_boosting,
    "BART": additive_trees,
    "AutoGluon": autogluon,
}


def load_table(home: Path, name: str) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Return the columns and the labels of a table; the rarer label is 1."""
    table = pd.read_csv(home / f"{name}.csv")
    labels = table.pop("target")
    texts = [column for column in table if not pd.api.types.is_numeric_dtype(table[column])]
    table[texts] = table[texts].astype(object)
    return table, (labels == labels.value_counts().index[-1]).to_numpy().astype(np.int64)


def fit_and_score(method: str, name: str, split: int, home: Path) -> dict[str, object]:
    """Fit and score one method on one split; times are CPU seconds."""
    from sklearn.metrics import log_loss, roc_auc_score

    warnings.simplefilter("ignore")
    X, y = load_table(home, name)
    train, test = json.loads((home / "splits.json").read_text())[name][split]
    if method != "AutoGluon":  # a fit of a few rows first, so that imports are not timed
        few = [index for label in (0, 1) for index in np.flatnonzero(y == label)[:N_WARM_UP]]
        METHODS[method](X.iloc[few].reset_index(drop=True), y[few])(X.iloc[few])
    start = time.process_time()
    predict = METHODS[method](X.iloc[train].reset_index(drop=True), y[train])
    fitted = time.process_time()
    found = np.clip(predict(X.iloc[test].reset_index(drop=True)), MIN_PROBABILITY, 1.0 - MIN_PROBABILITY)
    done = time.process_time()
    values = (
        float(np.mean((found > 0.5) != y[test])),
        float(log_loss(y[test], found, labels=[0, 1])),
        float(roc_auc_score(y[test], found)),
        fitted - start,
        done - fitted,
    )
    return dict(zip(FIELDS, (method, name, split, *(f"{value:.6g}" for value in values)), strict=True))


def read_results() -> pd.DataFrame:
    """Return the results so far."""
    return pd.read_csv(RESULTS) if RESULTS.exists() else pd.DataFrame(columns=list(FIELDS))


def run_missing(home: Path, methods: list[str], tables: list[str], splits: list[int]) -> None:
    """Run the fits that the file lacks, one process after the other, and append each to the file."""
    known = {tuple(row) for row in read_results()[["method", "table", "split"]].itertuples(index=False)}
    single = dict(os.environ, **dict.fromkeys(THREAD_VARIABLES, "1"))
    for split in splits:
        for name in tables:
            for method in methods:
                is_skipped = method == "AutoGluon" and (split > 0 or find_spec("autogluon") is None)
                if is_skipped or (method, name, split) in known:
                    continue
                command = [sys.executable, __file__, "--tables-home", str(home), "--one", method, name, str(split)]
                answer = subprocess.run(command, env=single, check=False, capture_output=True, text=True)  # noqa: S603
                if answer.returncode:
                    print(f"{method} failed on {name}, split {split}: {answer.stderr.strip()[-300:]}", file=sys.stderr)
                    continue
                _append(json.loads(answer.stdout.splitlines()[-1]))


def _append(result: dict[str, object]) -> None:
    """Add a line to the file."""
    is_new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(result)


def page(results: pd.DataFrame) -> str:
    """Return the comparison as Markdown: over ours, on the tables and splits that both have."""
    by_table = results.groupby(["method", "table"])[["error", "log_loss", "auc", "fit_seconds", "predict_seconds"]]
    means = by_table.mean()
    ours = means.loc[OURS]
    ranks = {
        measure: means[measure].unstack("method").dropna(axis="columns").rank(axis=1).mean()
        for measure in ("log_loss", "error")
    }
    columns = ["method", "tables", "log-loss over ours", "rank, log-loss", "rank, error", "error, %", "AUC"]
    columns += ["fit, CPU s", "predict, CPU s"]
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    for method in [name for name in METHODS if name in means.index.get_level_values(0)]:
        own = means.loc[method]
        shared = own.index.intersection(ours.index)
        ratio = np.exp(np.log(own.loc[shared, "log_loss"] / ours.loc[shared, "log_loss"]).mean())
        rank = [f"{ranks[measure][method]:.1f}" if method in ranks[measure] else "-" for measure in ranks]
        cells = [f"{100 * own['error'].mean():.1f}", f"{own['auc'].mean():.3f}"]
        times = [f"{own[column].median():.2g}" for column in ("fit_seconds", "predict_seconds")]
        lines.append("| " + " | ".join([method, str(len(own)), f"{ratio:.3f}", *rank, *cells, *times]) + " |")
    wide = means["log_loss"].unstack("method")
    wide = wide[[name for name in METHODS if name in wide]]
    lines += ["", "Log-loss, mean over splits:", "", "| table | " + " | ".join(wide.columns) + " |"]
    lines.append("| --- |" + " --- |" * len(wide.columns))
    lines += [
        "| " + " | ".join([str(name), *("-" if np.isnan(value) else f"{value:.3f}" for value in row)]) + " |"
        for name, row in zip(wide.index, wide.to_numpy(), strict=True)
    ]
    return "\n".join(lines)


def main() -> None:
    """Run fits or print the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--tables-home", type=Path, help="folder of the tables")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--tables", nargs="+", help="by default all in splits.json")
    parser.add_argument("--splits", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--page", action="store_true", help="print the page only")
    parser.add_argument("--one", nargs=3, metavar=("METHOD", "TABLE", "SPLIT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.tables_home is None and not options.page:
        parser.error("--tables-home is required: the folder that holds splits.json and a CSV file per table")
    if options.one:
        method, name, split = options.one
        print(json.dumps(fit_and_score(method, name, int(split), options.tables_home)))
        return
    if not options.page:
        tables = options.tables or list(json.loads((options.tables_home / "splits.json").read_text()))
        run_missing(options.tables_home, options.methods, tables, options.splits)
    print(page(read_results()))


if __name__ == "__main__":
    main()
