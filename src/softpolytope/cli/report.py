"""`softpolytope report`: one HTML page about a model and the rows it is tested on."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.cli._errors import FINE, CommandError
from softpolytope.cli._evaluation import OURS, noted_training_rows, scores
from softpolytope.cli._options import labeled_rows, loaded, opened
from softpolytope.cli._output import notes, print_json, replaced
from softpolytope.report import write_report
from softpolytope.tabular import CategoryColumn, Scores, Table, TableClassifier, TableEncoder


def run(options: argparse.Namespace) -> int:
    """Read model and rows, and write the page."""
    path_of_rows = _table_path(options)
    model = loaded(options.model)
    table = opened(path_of_rows, options)
    rows, codes = labeled_rows(model, table, options.target)
    baselines, held_out = _baselines(model, rows, codes)
    n_known = noted_training_rows(model.classifier_, rows)
    try:
        with notes(), replaced(options.output, options.model, path_of_rows) as path:
            write_report(
                model.classifier_,
                rows,
                model.classes_[codes],
                path,
                feature_names=list(model.feature_names_),
                title=options.title or Path(options.model).name,
                baselines=baselines,
                held_out=held_out,
                raw_columns=list(model.encoder_.names),
                raw_rows=_raw_rows(table, model.encoder_),
            )
    except ValueError as error:
        raise CommandError(str(error)) from error
    if options.json:
        print_json({"written": options.output, "rows": len(codes), "training_rows": n_known})
    else:
        print(f"Written: {options.output}")
    return FINE


def _table_path(options: argparse.Namespace) -> str:
    """Return the file with the rows, named by its place or by --data."""
    named = [path for path in (options.table, options.data) if path is not None]
    if len(named) == 1:
        return str(named[0])
    if named:
        raise CommandError(f"two files of rows are named, {named[0]} and --data {named[1]}. Name one of them.")
    raise CommandError(
        "a report needs rows with their classes. Name their file after the model: "
        "softpolytope report model.softpolytope test.csv -o report.html"
    )


def _baselines(model: TableClassifier, rows: FloatArray, codes: Any) -> tuple[Scores, Scores]:
    """Scores that were measured when the model was fitted: on these rows, or on others, then with its own."""
    if not model.held_out_:
        return {}, {}
    here = scores(model.classifier_.predict_proba(rows), codes)
    then = model.held_out_.get(OURS, {})
    if all(np.isclose(here[name], then.get(name, np.nan), rtol=1e-9, atol=0.0) for name in here):
        return {name: item for name, item in model.held_out_.items() if name != OURS}, {}
    return {}, model.held_out_


def _raw_rows(table: Table, encoder: TableEncoder) -> np.ndarray[Any, Any]:
    """The cells as they are in the file, numbers as numbers, None where one is missing, (rows, raw columns)."""
    parts = []
    for chunk in table.chunks():
        part = np.empty((chunk.n_rows, len(encoder.columns)), dtype=object)
        for place, column in enumerate(encoder.columns):
            if isinstance(column, CategoryColumn):
                part[:, place] = chunk.texts(column.name)
            else:
                numbers = chunk.numbers(column.name)
                part[:, place] = numbers
                part[np.isnan(numbers), place] = None
        parts.append(part)
    return np.concatenate(parts)
