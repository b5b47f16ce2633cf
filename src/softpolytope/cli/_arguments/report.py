"""Arguments of `softpolytope report`."""

from pathlib import Path
from typing import Any

from softpolytope.cli._arguments.shared import add_format_options, add_json_option, examples


def add_parser(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "report",
        help="write a page about a model",
        description="One self-contained HTML page: how good the model is on the rows given, its half-spaces, and what "
        "it says of rows. Give it rows other than those it was trained on; if they are training rows, the page says so "
        "and judges the model by the rows held out when it was fitted.",
        **examples("softpolytope report model.softpolytope test.csv -o report.html"),
    )
    parser.add_argument("model", help="what `softpolytope fit` wrote")
    parser.add_argument(
        "table", nargs="?", help="a .csv, .parquet or .svm file: rows with the columns of the model and the target"
    )
    parser.add_argument("--data", metavar="FILE", help="the table, by an option")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the HTML file to write")
    parser.add_argument("--target", help="the column with the classes; by default the one the model was fitted to")
    parser.add_argument("--title", help="of the page; by default the name of the model file")
    add_format_options(parser)
    add_json_option(parser)
