"""Arguments of `softpolytope predict`."""

from pathlib import Path
from typing import Any

from softpolytope.cli._arguments.shared import add_format_options, add_names_option, add_threshold_option, examples


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
            "softpolytope predict model.softpolytope data.csv --threshold yes=0.3",
        ),
    )
    parser.add_argument("model", help="what `softpolytope fit` wrote")
    parser.add_argument("table", help="a .csv, .parquet or .svm file with the columns of the model")
    parser.add_argument("-o", "--output", type=Path, help="a CSV file to write; by default to standard output")
    parser.add_argument("--proba", action="store_true", help="probabilities of all classes, too")
    add_threshold_option(parser)
    add_names_option(parser, "--keep", "copy these columns of the table")
    add_format_options(parser)
    parser.add_argument("--json", action="store_true", help="write one JSON object a line, for other programs")
