"""`softpolytope evaluate`: scores of a model on rows whose classes are known."""

import argparse
from typing import Any

from softpolytope.cli._errors import FINE
from softpolytope.cli._evaluation import noted_training_rows
from softpolytope.cli._options import labeled_rows, loaded, opened, threshold_of
from softpolytope.cli._output import notes, print_json
from softpolytope.report import LEVEL, Evaluation, Score, evaluate
from softpolytope.tabular import decided

_LEVEL = f"{100.0 * LEVEL:.0f} %"


def run(options: argparse.Namespace) -> int:
    """Read model and rows, evaluate, and print the scores."""
    model = loaded(options.model)
    threshold = threshold_of(model, options.threshold)
    rows, codes = labeled_rows(model, opened(options.table, options), options.target)
    n_known = noted_training_rows(model.classifier_, rows)
    with notes():
        probabilities = model.classifier_.predict_proba(rows)
    labels = model.classes_
    found = evaluate(labels[codes], probabilities, labels.tolist(), decisions=labels[decided(probabilities, threshold)])
    target = model.target_.name if options.target is None else options.target
    if options.json:
        rule = None if threshold is None else {"class": threshold.label, "above": threshold.probability}
        given = {"model": options.model, "table": options.table, "target": target, "threshold": rule}
        given["training_rows"] = n_known
        print_json(given | _document(found))
    else:
        counts = ", ".join(f"{label} {n}" for label, n in zip(found.classes, found.confusion.sum(axis=1), strict=True))
        print(f"{options.table}: {found.n_rows} rows; {target}: {counts}", "", *_lines(found), sep="\n")
    return FINE


def _lines(found: Evaluation) -> list[str]:
    """Tables for people."""
    scores = (found.score, found.majority)
    low, high = found.score.error_interval or (0.0, 1.0)
    auc = "none" if found.auc is None else f"{found.auc:.3f}"
    return [
        f"{'':24s}{'this model':>12s}{'majority vote':>16s}",
        _line("error", [_percent(score.error) for score in scores])
        + f"   ({_LEVEL} interval {_percent(low)} to {_percent(high)})",
        _line("log-loss", [f"{score.log_loss:.3f}" for score in scores]),
        _line("Brier score", [f"{score.brier:.3f}" for score in scores]),
        _line("AUC", [auc, "none" if found.auc is None else "0.500"]),
        "",
        _calibration_line(found),
        "",
        *_class_lines(found),
    ]


def _line(name: str, cells: list[str]) -> str:
    return f"{name:24s}{cells[0]:>12s}{cells[1]:>16s}"


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100.0 * share:.1f} %"


def _calibration_line(found: Evaluation) -> str:
    calibration = found.calibration
    about = f"P({found.classes[1]})" if len(found.classes) == 2 else "the probability of the class decided for"
    return (
        f"calibration: {about} is off by {_percent(calibration.mean_gap)} on average; "
        f"bins outside their {_LEVEL} band: {found.n_missed_bins} of {len(calibration.counts)} "
        f"(up to {calibration.max_misses} may be by chance)"
    )


def _class_lines(found: Evaluation) -> list[str]:
    """Rows of each class, predictions of it, and how many of both are correct."""
    width = max(24, 2 + max(len(str(label)) for label in found.classes))
    lines = [f"{'class':{width}s}{'rows':>9s}{'predicted':>11s}{'correct':>9s}{'recall':>10s}{'precision':>12s}"]
    parts = zip(found.classes, found.confusion, found.confusion.sum(axis=0), found.confusion.diagonal(), strict=True)
    for label, own, n_predicted, n_correct in parts:
        shares = [_percent(n_correct / total if total else None) for total in (own.sum(), n_predicted)]
        lines.append(f"{label!s:{width}s}{own.sum():9d}{n_predicted:11d}{n_correct:9d}{shares[0]:>10s}{shares[1]:>12s}")
    return lines


def _document(found: Evaluation) -> dict[str, Any]:
    calibration = found.calibration
    columns = (calibration.lower, calibration.counts, calibration.predicted, calibration.observed, calibration.bands)
    return {
        "rows": found.n_rows,
        "classes": found.classes,
        **_scores(found.score),
        "error_interval": {"level": LEVEL, "bounds": found.score.error_interval},
        "auc": found.auc,
        "majority_vote": _scores(found.majority),
        "calibration": {
            "mean_gap": calibration.mean_gap,
            "missed_bins": found.n_missed_bins,
            "missed_bins_by_chance": calibration.max_misses,
            "bins": [
                {"from": lower, "rows": n, "predicted": predicted, "observed": observed, "band": band}
                for lower, n, predicted, observed, band in zip(*columns, strict=True)
            ],
        },
        "confusion": {
            str(label): dict(zip(map(str, found.classes), counts, strict=True))
            for label, counts in zip(found.classes, found.confusion.tolist(), strict=True)
        },
    }


def _scores(score: Score) -> dict[str, float | None]:
    return {"error": score.error, "log_loss": score.log_loss, "brier": score.brier}
