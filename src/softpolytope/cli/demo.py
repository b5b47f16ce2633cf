"""`softpolytope demo`: a problem that is not linearly separable, fitted, scored, explained and drawn."""

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softpolytope.cli._errors import SUCCESS
from softpolytope.cli._options import Commands, integer

if TYPE_CHECKING:
    from softpolytope import SumStackSoftplusClassifier
    from softpolytope._typing import FloatArray
    from softpolytope.tabular import Scores


def add_parser(commands: Commands) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "demo",
        help="fit, score, explain and draw an example in under a minute",
        description="Fit two interleaved half rings; compare with logistic regression and a support vector machine.",
        epilog="example: softpolytope demo --out results",
    )
    parser.set_defaults(run=run, rooms=("report",))
    parser.add_argument(
        "--out", type=Path, default=Path("softpolytope-demo"), help="folder for the report, the picture and the model"
    )
    parser.add_argument("--seed", type=integer(0), default=0, help="random seed of the data and the fit (0)")


def run(options: argparse.Namespace) -> int:
    """Fit three classifiers, print scores and rules, and write report, picture and model."""
    from sklearn.model_selection import train_test_split

    from softpolytope.datasets import make_double_moon
    from softpolytope.report import write_report

    X, y = make_double_moon(1000, noise=0.25, random_state=options.seed)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.6, random_state=options.seed)
    print(f"Two interleaved half rings: {len(y_train)} training rows, {len(y_test)} test rows.\n")
    model, baselines = _compare(X_train, X_test, y_train, y_test, options.seed)
    _print_model(model, X_test[:1])
    options.out.mkdir(parents=True, exist_ok=True)
    model.save(options.out / "model.softpolytope")
    write_report(model, X_test, y_test, options.out / "report.html", title="Two half rings", baselines=baselines)
    print(f"\nWritten: {options.out / 'model.softpolytope'} (softpolytope.load_model reads it)")
    if _draw(model, X_train, y_train, options.out / "picture.svg"):
        print(f"         {options.out / 'picture.svg'}")
    print(f"         {options.out / 'report.html'} (open it in a browser: what the model does, with a map)")
    return SUCCESS


def _compare(
    X_train: "FloatArray", X_test: "FloatArray", y_train: Any, y_test: Any, seed: int
) -> "tuple[SumStackSoftplusClassifier, Scores]":
    """Fit three classifiers and print their scores; return the model, and the scores of the other two."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss
    from sklearn.svm import SVC

    from softpolytope import SumStackSoftplusClassifier

    model = SumStackSoftplusClassifier(random_state=seed, n_jobs=2, verbose=1)
    others = {"logistic regression": LogisticRegression(), "support vector machine": SVC()}
    lines, baselines = [], {}
    for name, classifier in {**others, "softpolytope": model}.items():
        start = time.perf_counter()
        classifier.fit(X_train, y_train)
        seconds = time.perf_counter() - start
        scores = {"error": 1.0 - classifier.score(X_test, y_test)}
        if hasattr(classifier, "predict_proba"):
            scores["log_loss"] = log_loss(y_test, classifier.predict_proba(X_test))
        if name in others:
            baselines[name] = scores
        loss = f"{scores['log_loss']:.3f}" if "log_loss" in scores else "none"
        lines.append(f"{name:24s}{100.0 * scores['error']:9.1f} %{loss:>12s}{seconds:10.1f} s")
    print(f"\n{'':24s}{'test error':>11s}{'log-loss':>12s}{'fit':>12s}", *lines, sep="\n")
    return model, baselines


def _print_model(model: "SumStackSoftplusClassifier", row: "FloatArray") -> None:
    """Print the rules of the representatives, and the prediction for a row."""
    print("\nRegions in which the experts of a representative of all members vote yes:")
    found = model.polytopes()
    for polytopes in found:
        for region in polytopes.regions:
            print(f"  for class {polytopes.target}: {region.in_words()}")
    low, high = model.predict_interval(row)[0]
    print(
        *found.notes,
        f"\nThe first test row is of class 1 with probability {model.predict_proba(row)[0, 1]:.2f}; the interval of "
        f"89 % is {low:.2f} to {high:.2f}.",
        sep="\n",
    )


def _draw(model: "SumStackSoftplusClassifier", X: "FloatArray", y: Any, path: Path) -> bool:
    """Draw the decision map and the training rows; return False without matplotlib."""
    from softpolytope.inspection.displays import DecisionDisplay

    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(7, 6), layout="constrained")
    DecisionDisplay.from_estimator(model, X, y, ax=figure.subplots())
    figure.savefig(path)
    return True
