"""`softpolytope predict`: classes and probabilities of the rows of a table."""

import argparse
import csv
import itertools
from collections.abc import Iterator
from typing import Any, TextIO

from softpolytope._typing import FloatArray
from softpolytope.cli._errors import FINE, CommandError
from softpolytope.cli._options import loaded, opened, threshold_of
from softpolytope.cli._output import json_text, text_output
from softpolytope.cli._unknown import UnknownCategories
from softpolytope.tabular import Chunk, Table, TableClassifier, decided, default_target


def run(options: argparse.Namespace) -> int:
    """Read, predict and write, chunk by chunk."""
    model = loaded(options.model)
    _check_kept(model, options)
    table = opened(options.table, options)
    unknown = UnknownCategories(model.encoder_)
    parts = _predicted(model, table, options, unknown)
    # Before anything is written: missing columns, and whatever else is wrong with the first rows.
    first = list(itertools.islice(parts, 1))
    with text_output(options.output, options.model, options.table) as file:
        write = _write_json if options.json else _write_csv
        write(file, model, itertools.chain(first, parts), options)
    unknown.tell()
    return FINE


def _check_kept(model: TableClassifier, options: argparse.Namespace) -> None:
    """Raise if a kept column would have the name of one that is written anyway."""
    probabilities = _chance_names(model) if options.proba and not options.json else []
    for name in ("prediction", "probabilities", *probabilities):
        if name in options.keep:
            raise CommandError(
                f"--keep {name}: this command writes a column of that name itself. Rename it in the table."
            )


def _predicted(
    model: TableClassifier, table: Table, options: argparse.Namespace, unknown: UnknownCategories
) -> Iterator[tuple[list[Any], FloatArray, list[Any]]]:
    """Decisions, probabilities and kept cells of every chunk."""
    labels = model.classes_
    threshold = threshold_of(model, options.threshold)
    chunk = None
    for chunk in table.chunks():
        encoded = model.encode(chunk)
        unknown.add(chunk, encoded)
        probabilities = model.classifier_.predict_proba(encoded)
        kept = [chunk.cells(name) for name in options.keep]
        yield (
            labels[decided(probabilities, threshold)].tolist(),
            probabilities,
            list(zip(*kept, strict=True)) if kept else [()] * chunk.n_rows,
        )
    if chunk is None:
        _check_empty(model, table, options)


def _check_empty(model: TableClassifier, table: Table, options: argparse.Namespace) -> None:
    """Raise if a table without rows lacks columns too; a svmlight file has columns only by its rows."""
    if default_target(table) is None:
        empty = Chunk(table.name, dict.fromkeys(table.columns, ()), (), "line")
        model.encode(empty)
        for name in options.keep:
            empty.cells(name)


def _chance_names(model: TableClassifier) -> list[str]:
    return [f"P({label})" for label in model.classes_.tolist()]


def _write_csv(file: TextIO, model: TableClassifier, parts: Any, options: argparse.Namespace) -> None:
    writer = csv.writer(file, lineterminator="\n")
    probabilities_at = _chance_names(model) if options.proba else []
    writer.writerow([*options.keep, "prediction", *probabilities_at])
    for labels, probabilities, kept in parts:
        numbers = probabilities.tolist() if options.proba else [[]] * len(labels)
        writer.writerows([*cells, label, *row] for cells, label, row in zip(kept, labels, numbers, strict=True))


def _write_json(file: TextIO, model: TableClassifier, parts: Any, options: argparse.Namespace) -> None:
    classes = [str(label) for label in model.classes_.tolist()]
    for labels, probabilities, kept in parts:
        for label, row, cells in zip(labels, probabilities.tolist(), kept, strict=True):
            line: dict[str, Any] = {**dict(zip(options.keep, cells, strict=True)), "prediction": label}
            if options.proba:
                line["probabilities"] = dict(zip(classes, row, strict=True))
            file.write(json_text(line) + "\n")
