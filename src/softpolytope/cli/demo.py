"""`softpolytope demo`: a problem that no line solves, fitted, scored, explained and drawn."""

import argparse
import time

from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from softpolytope import SumStackSoftplusClassifier
from softpolytope.cli._picture import decision_map
from softpolytope.datasets import make_double_moon
from softpolytope.report import write_report


def run(options: argparse.Namespace) -> int:
    """Run the demo."""
    X, y = make_double_moon(1000, noise=0.25, random_state=options.seed)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.6, random_state=options.seed)
    models = {
        "logistic regression": LogisticRegression(),
        "support vector machine": SVC(),
        "softpolytope": SumStackSoftplusClassifier(random_state=options.seed, n_jobs=2, verbose=1),
    }
    print(f"Two interleaved half rings: {len(y_train)} rows to learn from, {len(y_test)} to test on.\n")
    rows, baselines = [], {}
    for name, model in models.items():
        start = time.perf_counter()
        model.fit(X_train, y_train)
        seconds = time.perf_counter() - start
        scores = {"error": 1.0 - model.score(X_test, y_test)}
        if hasattr(model, "predict_proba"):
            scores["log_loss"] = log_loss(y_test, model.predict_proba(X_test))
        baselines[name] = scores
        loss = f"{scores['log_loss']:.3f}" if "log_loss" in scores else "none"
        rows.append(f"{name:24s}{100.0 * scores['error']:9.1f} %{loss:>12s}{seconds:10.1f} s")
    print(f"\n{'':24s}{'test error':>11s}{'log-loss':>12s}{'fit':>12s}", *rows, sep="\n")
    model = models["softpolytope"]
    print("\nWhere the experts of the best mode say yes:")
    for polytopes in model.polytopes():
        for region in polytopes.regions:
            print(f"  for class {polytopes.target}: {region.in_words()}")
    chance = model.predict_proba(X_test[:1])[0, 1]
    by_mode = model.predict_proba_draws(X_test[:1])
    print(f"\nThe first test row is of class 1 with probability {chance:.2f}; ", end="")
    print(f"the {len(by_mode)} modes that are averaged say {by_mode.min():.2f} to {by_mode.max():.2f}.")
    print('(That is not an interval of the posterior: inference="gibbs" draws from it, and has predict_interval.)')
    options.out.mkdir(parents=True, exist_ok=True)
    model.save(options.out / "model.softpolytope")
    (options.out / "picture.svg").write_text(decision_map(model, X_train, y_train), encoding="utf-8")
    del baselines["softpolytope"]
    write_report(model, X_test, y_test, options.out / "report.html", title="Two half rings", baselines=baselines)
    print(f"\nWritten: {options.out / 'picture.svg'}; for load_model: {options.out / 'model.softpolytope'}.")
    print(f"Open {options.out / 'report.html'} in a browser: what the model does, and how far to trust it.")
    return 0
