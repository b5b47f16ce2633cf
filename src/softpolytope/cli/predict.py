"""`softpolytope predict`: classes and probabilities of the rows of a table."""

import argparse
import csv
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

from softpolytope.cli._errors import SUCCESS, CommandError
from softpolytope.cli._options import (
    MODEL_HELP,
    TABLE_HELP,
    Commands,
    add_columns_option,
    add_format_options,
    add_threshold_option,
    examples,
    load_table_model,
    make_threshold,
    open_input,
    print_unknown,
)
from softpolytope.cli._output import text_output, to_json

if TYPE_CHECKING:
    from softpolytope._typing import FloatArray
    from softpolytope.tabular import Label, Table, TableClassifier, UnknownCategories


def add_parser(commands: Commands) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "predict",
        help="predict the classes of the rows of a table",
        description="Predict row by row; files may be larger than memory. Columns are found by name, and others are "
        "ignored. Missing numbers are replaced by the median of the training rows. A category that training did not "
        "have is encoded as none of the known ones, and a note counts such rows.",
        **examples(
            "softpolytope predict model.softpolytope data.csv -o predictions.csv",
            "softpolytope predict model.softpolytope data.csv --proba --keep id",
            "softpolytope predict model.softpolytope data.csv --threshold yes=0.3",
        ),
    )
    parser.set_defaults(run=run, rooms=("tabular",))
    parser.add_argument("model", help=MODEL_HELP)
    parser.add_argument("table", help=TABLE_HELP)
    parser.add_argument("-o", "--output", type=Path, help="CSV file to write; by default standard output")
    parser.add_argument("--proba", action="store_true", help="write the probabilities of all classes, too")
    add_threshold_option(parser)
    add_columns_option(parser, "--keep", "columns of the table to copy")
    add_format_options(parser)
    parser.add_argument("--json", action="store_true", help="write one JSON object per line, for other programs")


class Predictions(NamedTuple):
    """Predictions for some rows."""

    labels: "list[Label]"
    probabilities: "FloatArray"  # (rows, classes)
    kept: list[tuple[str, ...]]  # cells of the columns to copy, by row


def run(options: argparse.Namespace) -> int:
    """Read, predict and write, chunk by chunk."""
    from softpolytope.tabular import UnknownCategories

    model = load_table_model(options.model)
    _check_kept(model, options)
    unknown = UnknownCategories(model.encoder_)
    parts = _predict(model, open_input(options.table, options), options, unknown)
    # Predict the first rows before anything is written: missing columns and other errors show there.
    first = list(itertools.islice(parts, 1))
    with text_output(options.output, options.model, options.table) as file:
        write = _write_json if options.json else _write_csv
        write(file, model, itertools.chain(first, parts), options)
    print_unknown(unknown)
    return SUCCESS


def _check_kept(model: "TableClassifier", options: argparse.Namespace) -> None:
    """Raise if a kept column has the name of a column of the output."""
    probabilities = _probability_names(model) if options.proba and not options.json else []
    for name in ("prediction", "probabilities", *probabilities):
        if name in options.keep:
            raise CommandError(
                f"--keep {name}: this command writes a column of that name itself. Rename it in the table."
            )


def _predict(
    model: "TableClassifier", table: "Table", options: argparse.Namespace, unknown: "UnknownCategories"
) -> Iterator[Predictions]:
    """Yield the predictions for every chunk."""
    from softpolytope.tabular import predict_codes

    labels = model.classes_
    threshold = make_threshold(model, options.threshold)
    chunk = None
    for chunk in table.chunks():
        encoded = model.encode(chunk)
        unknown.add(chunk, encoded)
        probabilities = model.classifier_.predict_proba(encoded)
        columns = [chunk.cells(name) for name in options.keep]
        kept: list[tuple[str, ...]] = list(zip(*columns, strict=True)) if columns else [()] * chunk.n_rows
        yield Predictions(labels[predict_codes(probabilities, threshold)].tolist(), probabilities, kept)
    if chunk is None:
        _check_empty(model, table, options)


def _check_empty(model: "TableClassifier", table: "Table", options: argparse.Namespace) -> None:
    """Raise if a table without rows lacks columns too; an svmlight file has no columns without rows."""
    from softpolytope.tabular import Chunk, default_target

    if default_target(table) is None:
        empty = Chunk.empty(table)
        model.encode(empty)
        for name in options.keep:
            empty.cells(name)


def _probability_names(model: "TableClassifier") -> list[str]:
    return [f"P({label})" for label in model.classes_.tolist()]


def _write_csv(
    file: TextIO, model: "TableClassifier", parts: Iterable[Predictions], options: argparse.Namespace
) -> None:
    writer = csv.writer(file, lineterminator="\n")
    names = _probability_names(model) if options.proba else []
    writer.writerow([*options.keep, "prediction", *names])
    for labels, probabilities, kept in parts:
        numbers = probabilities.tolist() if options.proba else [[]] * len(labels)
        writer.writerows([*cells, label, *row] for cells, label, row in zip(kept, labels, numbers, strict=True))


def _write_json(
    file: TextIO, model: "TableClassifier", parts: Iterable[Predictions], options: argparse.Namespace
) -> None:
    classes = [str(label) for label in model.classes_.tolist()]
    for labels, probabilities, kept in parts:
        for label, row, cells in zip(labels, probabilities.tolist(), kept, strict=True):
            line: dict[str, object] = {**dict(zip(options.keep, cells, strict=True)), "prediction": label}
            if options.proba:
                line["probabilities"] = dict(zip(classes, row, strict=True))
            file.write(to_json(line) + "\n")
