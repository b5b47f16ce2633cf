"""A report of a fitted model: `python examples/report.py report.html`, then open the file in a browser."""

import sys

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from softpolytope import SumStackSoftplusClassifier
from softpolytope.report import write_report


def main(path):
    """Classify tumors as benign or malignant, compared with logistic regression."""
    data = load_breast_cancer(as_frame=True)
    y = data.target_names[data.target]
    parts = train_test_split(data.data, y, test_size=0.5, random_state=0, stratify=y)
    X_train, X_test, y_train, y_test = parts
    model = SumStackSoftplusClassifier(random_state=0).fit(X_train, y_train)
    other = make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train, y_train)
    scores = {"error": 1.0 - other.score(X_test, y_test), "log_loss": log_loss(y_test, other.predict_proba(X_test))}
    write_report(model, X_test, y_test, path, title="Benign or malignant?", baselines={"Logistic regression": scores})


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "report.html")
