"""Arguments of `softpolytope export`."""

from pathlib import Path
from typing import Any

from softpolytope.cli._arguments.shared import add_json_option, examples


def add_parser(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "export",
        help="write a model as ONNX, SQL or Python source",
        description="SQL and Python take the raw columns: categories, and NULL or None where a value is missing. ONNX "
        "takes the encoded columns, in the order that a note lists. SQL is one expression for SQLite or DuckDB, or a "
        "query with --table.",
        **examples(
            "softpolytope export model.softpolytope --to python -o model.py",
            "softpolytope export model.softpolytope --to sql --table customers",
            "softpolytope export model.softpolytope --to sql --class yes",
            "softpolytope export model.softpolytope --to onnx -o model.onnx",
        ),
    )
    parser.add_argument("model", help="what `softpolytope fit` wrote")
    parser.add_argument("--to", choices=("onnx", "sql", "python"), required=True, help="the form wanted")
    parser.add_argument(
        "-o", "--output", type=Path, help="file to write (onnx and --json need one); by default to standard output"
    )
    parser.add_argument("--table", metavar="NAME", help="SQL: a query that adds the probabilities to this table")
    parser.add_argument("--class", dest="label", metavar="LABEL", help="SQL: whose probability (of two, the second)")
    add_json_option(parser)
