"""`softpolytope predict`: classes and probabilities of the rows of a table."""

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.cli._errors import FINE
from softpolytope.cli._options import add_format_options, examples, loaded, names, opened
from softpolytope.cli._output import json_text, note, text_output
from softpolytope.tabular.model import TableClassifier
from softpolytope.tabular.table import Chunk, Table, shown


def add_parser(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "predict",
        help="predict the classes of the rows of a table",
        description="Predict row by row; files larger than memory are read in parts. Columns are found by name, others "
        "are ignored. A missing number is taken for the median of the training rows; a category that training did not "
        "have counts as none of the known ones, and a note tells of it.",
        **examples(
            "softpolytope predict model.softpolytope data.csv -o predictions.csv",
            "softpolytope predict model.softpolytope data.csv --proba --keep id",
        ),
    )
    parser.add_argument("model", help="what `softpolytope fit` wrote")
    parser.add_argument("table", help="a .csv, .parquet or .svm file with the columns of the model")
    parser.add_argument("-o", "--output", type=Path, help="a CSV file to write; by default to standard output")
    parser.add_argument("--proba", action="store_true", help="probabilities of all classes, too")
    parser.add_argument("--keep", type=names, default=(), metavar="A,B", help="copy these columns of the table")
    add_format_options(parser)
    parser.add_argument("--json", action="store_true", help="write one JSON object a line, for other programs")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read, predict and write, chunk by chunk."""
    model = loaded(options.model)
    table = opened(options.table, options)
    unknown = UnknownCategories()
    with text_output(options.output) as file:
        write = _write_json if options.json else _write_csv
        write(file, model, _predicted(model, table, options, unknown), options)
    unknown.tell()
    return FINE


class UnknownCategories:
    """Rows with categories that training did not have, counted by column."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._first: dict[str, str] = {}

    def add(self, model: TableClassifier, chunk: Chunk, encoded: FloatArray) -> None:
        """Count those of a chunk."""
        for name, is_unknown in model.encoder_.is_unknown(encoded).items():
            if is_unknown.any():
                row = int(np.argmax(is_unknown))
                text = chunk.texts(name)[row]
                self._first.setdefault(name, f"{shown(text) if text else 'no value'} at {chunk.place(row)}")
                self._counts[name] = self._counts.get(name, 0) + int(is_unknown.sum())

    def tell(self) -> None:
        """Say so."""
        for name, count in self._counts.items():
            rows = "1 row has a value" if count == 1 else f"{count} rows have values"
            note(f"{rows} of {name!r} that training did not have ({self._first[name]}); taken for none of those known.")


def _predicted(
    model: TableClassifier, table: Table, options: argparse.Namespace, unknown: UnknownCategories
) -> Iterator[tuple[list[Any], FloatArray, list[Any]]]:
    """Labels, probabilities and kept cells of every chunk."""
    labels = model.classes_
    for chunk in table.chunks():
        encoded = model.encode(chunk)
        unknown.add(model, chunk, encoded)
        chances = model.classifier_.predict_proba(encoded)
        kept = [chunk.texts(name) for name in options.keep]
        # As predict does: a tie goes to the first class.
        codes = (chances[:, 1] > chances[:, 0]).astype(np.intp) if len(labels) == 2 else chances.argmax(axis=1)
        yield labels[codes].tolist(), chances, list(zip(*kept, strict=True)) if kept else [()] * chunk.n_rows


def _write_csv(file: TextIO, model: TableClassifier, parts: Any, options: argparse.Namespace) -> None:
    writer = csv.writer(file, lineterminator="\n")
    chances_of = [f"P({label})" for label in model.classes_.tolist()] if options.proba else []
    writer.writerow([*options.keep, "prediction", *chances_of])
    for labels, chances, kept in parts:
        numbers = chances.tolist() if options.proba else [[]] * len(labels)
        writer.writerows([*cells, label, *row] for cells, label, row in zip(kept, labels, numbers, strict=True))


def _write_json(file: TextIO, model: TableClassifier, parts: Any, options: argparse.Namespace) -> None:
    classes = [str(label) for label in model.classes_.tolist()]
    for labels, chances, kept in parts:
        for label, row, cells in zip(labels, chances.tolist(), kept, strict=True):
            line: dict[str, Any] = {**dict(zip(options.keep, cells, strict=True)), "prediction": label}
            if options.proba:
                line["probabilities"] = dict(zip(classes, row, strict=True))
            file.write(json_text(line) + "\n")
