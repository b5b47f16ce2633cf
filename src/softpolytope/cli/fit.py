"""`softpolytope fit`: from a table to a model file."""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softpolytope.cli._errors import SUCCESS, CommandError
from softpolytope.cli._options import (
    Arguments,
    Commands,
    add_columns_option,
    add_format_options,
    add_json_option,
    column_names,
    examples,
    integer,
    open_input,
    parsed,
)
from softpolytope.cli._output import check_output, print_note, to_json, warnings_as_notes
from softpolytope.exceptions import TableError

if TYPE_CHECKING:
    from softpolytope.estimators import SoftplusBase
    from softpolytope.tabular import ClassWeight, HeldOutScores, Schema, Table, TableClassifier, Target

BALANCED = "balanced"
KINDS = {
    "sum-stack": "SumStackSoftplusClassifier",
    "sum": "SumSoftplusClassifier",
    "stack": "StackSoftplusClassifier",
    "softplus": "SoftplusClassifier",
}


def add_parser(commands: Commands) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "fit",
        help="fit a model to a table",
        description="Fit a classifier to a CSV, Parquet or svmlight file, which may have categories and missing "
        "values, and write a model that takes such rows. A first fit to a part of the rows is scored on the others; "
        "the model that is written is then fitted to all rows.",
        **examples(
            "softpolytope fit train.csv --target y -o model.softpolytope",
            "softpolytope fit train.csv --target y --drop when,id --test test.csv -o model.softpolytope",
            "softpolytope fit train.csv --target y --class-weight balanced -o model.softpolytope",
            "softpolytope fit train.csv --target y --inference gibbs --checkpoint chains -o model.softpolytope",
        ),
    )
    parser.set_defaults(run=run, rooms=("tabular",))
    parser.add_argument("table", help="a .csv, .parquet or .svm file")
    parser.add_argument("--target", help="column to predict (svmlight: label)")
    parser.add_argument("-o", "--output", type=Path, required=True, help="model file to write")
    columns = parser.add_argument_group("columns")
    add_columns_option(columns, "--features", "columns to predict from; by default all except the target")
    add_columns_option(columns, "--drop", "columns to leave out")
    add_columns_option(columns, "--categorical", "columns of numbers that are categories")
    columns.add_argument("--max-categories", type=integer(1), metavar="N", help="most categories of a column (100)")
    _add_model_options(parser.add_argument_group("model"))
    _add_evaluation_options(parser.add_argument_group("evaluation"))
    add_format_options(parser)
    add_json_option(parser)
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def _add_model_options(group: Arguments) -> None:
    group.add_argument("--classifier", choices=KINDS, default="sum-stack", help="model family (sum-stack)")
    group.add_argument(
        "--inference",
        choices=("auto", "bootstrap", "map", "gibbs"),
        default="auto",
        help="bootstrap of posterior modes (auto), chains of the exact sampler, or plain modes without intervals",
    )
    group.add_argument(
        "--class-weight",
        type=_class_weights,
        action="extend",
        metavar="CLASS=W,...",
        help="weights of the rows of each class (1), or balanced: inversely proportional to class frequencies",
    )
    group.add_argument("--max-experts", type=integer(1), metavar="N", help="maximum number of experts (sum-stack, sum)")
    group.add_argument("--layers", type=_layers, metavar="N", help="number of layers, or auto (sum-stack, stack)")
    group.add_argument("--sweeps", type=integer(2), metavar="N", help="sweeps of each chain (--inference gibbs)")
    group.add_argument(
        "--checkpoint", type=Path, metavar="DIR", help="folder of checkpoints, from which the same command resumes"
    )
    group.add_argument("--seed", type=integer(0), default=0, help="random seed of the held-out rows and the fit (0)")
    group.add_argument("--jobs", type=integer(-1), default=-1, help="threads (all cores); results do not depend on it")


def _add_evaluation_options(group: Arguments) -> None:
    which = group.add_mutually_exclusive_group()
    share = parsed(float, lambda found: 0.0 <= found < 1.0, "a share of at least 0 and below 1")
    which.add_argument("--test-size", type=share, default=0.25, help="share of rows to hold out; 0 for none (0.25)")
    which.add_argument("--test", metavar="FILE", help="table to score the model on instead; it is not fitted to it")


def _layers(text: str) -> int | str:
    return text if text == "auto" else integer(1)(text)


def _class_weights(text: str) -> list[tuple[str, float | None]]:
    """Return classes with their weights; "balanced" has none."""
    if text == BALANCED:
        return [(BALANCED, None)]
    found: list[tuple[str, float | None]] = []
    for pair in column_names(text) if text.strip(" ,") else ("",):
        label, _, number = pair.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            weight = -1.0
        if not label or not 0.0 < weight < float("inf"):
            raise argparse.ArgumentTypeError(
                f"expected {BALANCED}, or classes with positive weights such as yes=3,no=1; got {text!r}"
            )
        found.append((label, weight))
    return found


def run(options: argparse.Namespace) -> int:
    """Read the table, evaluate, fit, and write the model."""
    from softpolytope.tabular import TableClassifier

    start = time.perf_counter()
    check_output(options.output, options.table, options.test)
    classifier = _make_classifier(options)  # wrong options are reported before the table is read
    table = open_input(options.table, options)
    with warnings_as_notes():
        schema = _infer_schema(options, table)
    if options.sweeps is not None and options.inference != "gibbs":
        print_note("--sweeps has no effect: this fit runs no chains. Add --inference gibbs, or leave it out.")
        options.sweeps = None
        classifier = _make_classifier(options)
    weights = _label_weights(options.class_weight, schema.target)
    classifier.set_params(class_weight=weights)
    say: Callable[..., None] = (lambda *_, **__: None) if options.json else print
    say(_describe(options.table, schema))
    if weights is not None:
        say(f"Class weights: {_describe_weights(weights)}")
    model = TableClassifier(classifier)
    n_test = _fit(model, table, schema, options, say)
    # Settings of this run are not part of the model: the same rows and seed give the same file.
    model.classifier_.set_params(n_jobs=-1, verbose=0)
    model.save(options.output)
    say(f"Written: {options.output} (softpolytope predict, evaluate, explain, export, report)")
    if options.json:
        seconds = round(time.perf_counter() - start, 1)
        print(to_json({**_to_document(options, model, schema), "tested_rows": n_test, "seconds": seconds}))
    return SUCCESS


def _fit(
    model: "TableClassifier", table: "Table", schema: "Schema", options: argparse.Namespace, say: Callable[..., None]
) -> int:
    """Fit the model, and report its held-out scores as soon as they are known; return the number of test rows."""
    n_test = 0

    def on_evaluation(held_out: "HeldOutScores") -> None:
        nonlocal n_test
        n_test = held_out.n_test
        say(*_score_lines(held_out, options.test), sep="\n")

    test = None if options.test is None else open_input(options.test, options)
    test_size = 0.0 if options.test is not None else options.test_size
    try:
        with warnings_as_notes():
            model.fit_schema(table, schema, test_size=test_size, test=test, on_evaluation=on_evaluation)
    except TableError:
        raise
    except (ValueError, RuntimeError) as error:
        raise CommandError(str(error)) from error
    again = "again, " if n_test and options.test is None else ""
    n_experts = model.classifier_.n_experts_
    say(f"\nFitted {again}to all {schema.n_rows} rows: {n_experts} expert{'' if n_experts == 1 else 's'}.")
    return n_test


def _make_classifier(options: argparse.Namespace) -> "SoftplusBase":
    """Return the classifier that the options describe."""
    from softpolytope.estimators import CLASSIFIERS

    checkpoint = options.checkpoint
    if checkpoint is not None and (options.test is not None or not options.test_size):
        checkpoint = checkpoint / "all"  # with held-out rows, each of the two fits has such a folder
    parameters = {
        "inference": options.inference,
        "random_state": options.seed,
        "n_jobs": options.jobs or None,
        "verbose": 0 if options.quiet else 1,
        "max_experts": options.max_experts,
        "n_layers": options.layers,
        "n_sweeps": options.sweeps,
        "checkpoint": checkpoint,
    }
    classifier: SoftplusBase = CLASSIFIERS[KINDS[options.classifier]]()
    given = {name: value for name, value in parameters.items() if value is not None}
    unknown = set(given) - set(classifier.get_params())
    if unknown:
        option = {"max_experts": "--max-experts", "n_layers": "--layers"}[min(unknown)]
        raise CommandError(f"--classifier {options.classifier} has no {option}. Leave it out.")
    classifier.set_params(**given)
    return classifier


def _infer_schema(options: argparse.Namespace, table: "Table") -> "Schema":
    """Read the table once to learn what its columns hold."""
    from softpolytope.tabular import MAX_CATEGORIES, ColumnSelection, default_target, infer_schema, join_names

    target = options.target if options.target is not None else default_target(table)
    if target is None:
        raise CommandError(
            f"no target given. Name the column to predict: --target NAME; {table.name} has {join_names(table.columns)}."
        )
    columns = (tuple(options.features), tuple(options.drop), tuple(options.categorical))
    max_categories = MAX_CATEGORIES if options.max_categories is None else options.max_categories
    return infer_schema(table, ColumnSelection(target, *columns, max_categories))


def _label_weights(given: list[tuple[str, float | None]] | None, target: "Target") -> "ClassWeight":
    """Return class weights by label, as the classifiers take them."""
    from softpolytope.tabular import join_names

    if not given:
        return None
    names = [label for label, _ in given]
    if (BALANCED, None) in given:
        if len(given) > 1:
            raise CommandError("--class-weight is either balanced or a list of classes with their weights. Give one.")
        return "balanced"
    classes = {str(label): label for label in target.classes}
    for label in names:
        if label not in classes:
            raise CommandError(
                f"--class-weight {label}: {target.name!r} has no such class, only {join_names(classes)}."
            )
        if names.count(label) > 1:
            raise CommandError(f"--class-weight {label}: the class has two weights. Give one.")
    return {classes[label]: weight for label, weight in given if weight is not None}


def _describe_weights(weights: "ClassWeight") -> str:
    if isinstance(weights, dict):
        return ", ".join(f"{label} {weight:g}" for label, weight in weights.items())
    return str(weights)


def _describe(path: str, schema: "Schema") -> str:
    """Return rows, columns and target in one line."""
    from softpolytope.tabular import CategoryColumn, join_names

    columns = [column.name for column in schema.encoder.columns]
    for index, column in enumerate(schema.encoder.columns):
        if isinstance(column, CategoryColumn):
            n = len(column.categories)
            columns[index] += f" ({n} {'category' if n == 1 else 'categories'})"
    target = f"{schema.target.name}: {join_names(schema.target.classes)}"
    return f"{path}: {schema.n_rows} rows; {join_names(columns)} -> {target}"


def _score_lines(held_out: "HeldOutScores", test: str | None) -> list[str]:
    """Return a table of scores for people."""
    title = f"Fitted to {held_out.n_train} rows, tested on the {held_out.n_test} others:"
    if test is not None:
        title = f"Tested on the {held_out.n_test} rows of {test}:"
    rows = [
        f"{name:24s}{100.0 * item['error']:9.1f} %{item['log_loss']:12.3f}" for name, item in held_out.scores.items()
    ]
    return [f"\n{title}", f"{'':24s}{'error':>11s}{'log-loss':>12s}", *rows]


def _to_document(options: argparse.Namespace, model: "TableClassifier", schema: "Schema") -> dict[str, Any]:
    """Return the fit for JSON."""
    columns, classifier = schema.encoder.columns, model.classifier_
    return {
        "model": options.output,
        "rows": schema.n_rows,
        "columns": schema.encoder.names,
        "encoded_columns": schema.encoder.n_encoded,
        "missing": [column.name for column in columns if column.has_missing],
        "target": schema.target.name,
        "classes": schema.target.classes,
        "classifier": type(classifier).__name__,
        "inference": classifier.inference_,
        "class_weight": classifier.class_weight,
        "experts": classifier.n_experts_,
        "held_out": model.held_out_,
    }
