"""`softpolytope report`: one HTML page about a model and the rows it is tested on."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softpolytope.cli._errors import SUCCESS, CommandError
from softpolytope.cli._options import (
    MODEL_HELP,
    TABLE_HELP,
    TARGET_HELP,
    Commands,
    add_format_options,
    add_json_option,
    count_training_rows,
    examples,
    load_table_model,
    open_input,
    read_labeled_rows,
)
from softpolytope.cli._output import binary_output, to_json, warnings_as_notes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from softpolytope._typing import FloatArray, IndexArray
    from softpolytope.tabular import Scores, Table, TableClassifier, TableEncoder


def add_parser(commands: Commands) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "report",
        help="write an HTML page about a model",
        description="Write one self-contained HTML page: the scores of a model on the rows given, its half-spaces, and "
        "its predictions. The rows should not be those that the model was trained on; if they are, the page says so "
        "and reports the scores on the rows held out when the model was fitted.",
        **examples("softpolytope report model.softpolytope test.csv -o report.html"),
    )
    parser.set_defaults(run=run, rooms=("report", "tabular"))
    parser.add_argument("model", help=MODEL_HELP)
    parser.add_argument("table", nargs="?", help=f"{TABLE_HELP} and the target")
    parser.add_argument("--data", metavar="FILE", help="the table, as an option")
    parser.add_argument("-o", "--output", type=Path, required=True, help="HTML file to write")
    parser.add_argument("--target", help=TARGET_HELP)
    parser.add_argument("--title", help="title of the page; by default the name of the model file")
    add_format_options(parser)
    add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Read model and rows, and write the page."""
    from softpolytope.report import write_report

    path_of_rows = _table_path(options)
    model = load_table_model(options.model)
    table = open_input(path_of_rows, options)
    rows, codes = read_labeled_rows(model, table, options.target)
    baselines, held_out = _split_scores(model, rows, codes)
    n_known = count_training_rows(model.classifier_, rows)
    try:
        with warnings_as_notes(), binary_output(options.output, options.model, path_of_rows) as path:
            write_report(
                model.classifier_,
                rows,
                model.classes_[codes],
                path,
                feature_names=list(model.encoder_.terms),
                title=options.title or Path(options.model).name,
                baselines=baselines,
                held_out=held_out,
                raw_columns=list(model.encoder_.names),
                raw_rows=_read_raw_rows(table, model.encoder_),
            )
    except ValueError as error:
        raise CommandError(str(error)) from error
    if options.json:
        print(to_json({"written": options.output, "rows": len(codes), "training_rows": n_known}))
    else:
        print(f"Written: {options.output}")
    return SUCCESS


def _table_path(options: argparse.Namespace) -> str:
    """Return the file with the rows, given as an argument or by --data."""
    given = [path for path in (options.table, options.data) if path is not None]
    if len(given) == 1:
        return str(given[0])
    if given:
        raise CommandError(f"two files of rows are named, {given[0]} and --data {given[1]}. Name one of them.")
    raise CommandError(
        "a report needs rows with their classes. Name their file after the model: "
        "softpolytope report model.softpolytope test.csv -o report.html"
    )


def _split_scores(model: "TableClassifier", rows: "FloatArray", codes: "IndexArray") -> "tuple[Scores, Scores]":
    """Return the held-out scores as those of baselines if they are of these rows, else as those of other rows."""
    import numpy as np

    from softpolytope.tabular import OWN, score_probabilities

    if not model.held_out_:
        return {}, {}
    here = score_probabilities(model.classifier_.predict_proba(rows), codes)
    earlier = model.held_out_.get(OWN, {})
    if all(np.isclose(here[name], earlier.get(name, np.nan), rtol=1e-9, atol=0.0) for name in here):
        return {name: item for name, item in model.held_out_.items() if name != OWN}, {}
    return {}, model.held_out_


def _read_raw_rows(table: "Table", encoder: "TableEncoder") -> "NDArray[Any]":
    """Return the cells of the file, numbers as numbers and None where one is missing, (rows, raw columns)."""
    import numpy as np

    from softpolytope.tabular import CategoryColumn

    parts = []
    for chunk in table.chunks():
        part = np.empty((chunk.n_rows, len(encoder.columns)), dtype=object)
        for index, column in enumerate(encoder.columns):
            if isinstance(column, CategoryColumn):
                part[:, index] = chunk.texts(column.name)
            else:
                numbers = chunk.numbers(column.name)
                part[:, index] = numbers
                part[np.isnan(numbers), index] = None
        parts.append(part)
    return np.concatenate(parts)
