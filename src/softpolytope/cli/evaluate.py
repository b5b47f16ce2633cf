"""`softpolytope evaluate`: scores of a model on rows whose classes are known."""

import argparse
from typing import TYPE_CHECKING, Any

from softpolytope.cli._errors import SUCCESS
from softpolytope.cli._options import (
    MODEL_HELP,
    TABLE_HELP,
    TARGET_HELP,
    Commands,
    add_format_options,
    add_json_option,
    add_threshold_option,
    count_training_rows,
    examples,
    load_table_model,
    make_threshold,
    open_input,
    read_labeled_rows,
)
from softpolytope.cli._output import to_json, warnings_as_notes

if TYPE_CHECKING:
    from softpolytope.report import Evaluation, Score


def add_parser(commands: Commands) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "evaluate",
        help="score a model on the rows of a table",
        description="Predict rows whose classes are known and score the predictions: error, log-loss, Brier score, AUC "
        "(area under the ROC curve), calibration, and counts by class. The rows should not be those that the model was "
        "trained on; a note counts them if they are.",
        **examples(
            "softpolytope evaluate model.softpolytope test.csv",
            "softpolytope evaluate model.softpolytope test.csv --target outcome --threshold yes=0.3",
            "softpolytope evaluate model.softpolytope test.csv --json",
        ),
    )
    parser.set_defaults(run=run, rooms=("report", "tabular"))
    parser.add_argument("model", help=MODEL_HELP)
    parser.add_argument("table", help=f"{TABLE_HELP} and the target")
    parser.add_argument("--target", help=TARGET_HELP)
    add_threshold_option(parser)
    add_format_options(parser)
    add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Read model and rows, evaluate, and print the scores."""
    from softpolytope.report import evaluate
    from softpolytope.tabular import predict_codes

    model = load_table_model(options.model)
    threshold = make_threshold(model, options.threshold)
    rows, codes = read_labeled_rows(model, open_input(options.table, options), options.target)
    n_known = count_training_rows(model.classifier_, rows)
    with warnings_as_notes():
        probabilities = model.classifier_.predict_proba(rows)
    labels = model.classes_
    decisions = labels[predict_codes(probabilities, threshold)]
    found = evaluate(labels[codes], probabilities, labels.tolist(), decisions=decisions)
    target = model.target_.name if options.target is None else options.target
    if options.json:
        rule = None if threshold is None else {"class": threshold.label, "above": threshold.probability}
        given = {"model": options.model, "table": options.table, "target": target, "threshold": rule}
        print(to_json({**given, "training_rows": n_known, **_to_document(found)}))
    else:
        counts = ", ".join(f"{label} {n}" for label, n in zip(found.classes, found.confusion.sum(axis=1), strict=True))
        print(f"{options.table}: {found.n_rows} rows; {target}: {counts}", "", *_lines(found), sep="\n")
    return SUCCESS


def _lines(found: "Evaluation") -> list[str]:
    """Return tables for people."""
    from softpolytope.report import LEVEL

    level = f"{100.0 * LEVEL:.0f} %"
    scores = (found.score, found.majority)
    low, high = found.score.error_interval or (0.0, 1.0)
    auc = "none" if found.auc is None else f"{found.auc:.3f}"
    interval = f"   ({level} interval {_percent(low)} to {_percent(high)})"
    return [
        f"{'':24s}{'this model':>12s}{'majority vote':>16s}",
        _line("error", [_percent(score.error) for score in scores]) + interval,
        _line("log-loss", [f"{score.log_loss:.3f}" for score in scores]),
        _line("Brier score", [f"{score.brier:.3f}" for score in scores]),
        _line("AUC", [auc, "none" if found.auc is None else "0.500"]),
        "",
        _calibration_line(found, level),
        "",
        *_class_lines(found),
    ]


def _line(name: str, cells: list[str]) -> str:
    return f"{name:24s}{cells[0]:>12s}{cells[1]:>16s}"


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100.0 * share:.1f} %"


def _calibration_line(found: "Evaluation", level: str) -> str:
    calibration = found.calibration
    about = f"P({found.classes[1]})" if len(found.classes) == 2 else "the probability of the predicted class"
    return (
        f"calibration: {about} is off by {_percent(calibration.mean_gap)} on average; "
        f"bins outside their {level} band: {found.n_missed_bins} of {len(calibration.counts)} "
        f"(up to {calibration.max_misses} may be by chance)"
    )


def _class_lines(found: "Evaluation") -> list[str]:
    """Return rows of each class, predictions of it, and how many of both are correct."""
    width = max(24, 2 + max(len(str(label)) for label in found.classes))
    lines = [f"{'class':{width}s}{'rows':>9s}{'predicted':>11s}{'correct':>9s}{'recall':>10s}{'precision':>12s}"]
    parts = zip(found.classes, found.confusion, found.confusion.sum(axis=0), found.confusion.diagonal(), strict=True)
    for label, own, n_predicted, n_correct in parts:
        shares = [_percent(n_correct / total if total else None) for total in (own.sum(), n_predicted)]
        lines.append(f"{label!s:{width}s}{own.sum():9d}{n_predicted:11d}{n_correct:9d}{shares[0]:>10s}{shares[1]:>12s}")
    return lines


def _to_document(found: "Evaluation") -> dict[str, Any]:
    """Return the evaluation for JSON."""
    from softpolytope.report import LEVEL

    calibration = found.calibration
    columns = (calibration.lower, calibration.counts, calibration.predicted, calibration.observed, calibration.bands)
    return {
        "rows": found.n_rows,
        "classes": found.classes,
        **_score_fields(found.score),
        "error_interval": {"level": LEVEL, "bounds": found.score.error_interval},
        "auc": found.auc,
        "majority_vote": _score_fields(found.majority),
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


def _score_fields(score: "Score") -> dict[str, float | None]:
    return {"error": score.error, "log_loss": score.log_loss, "brier": score.brier}
