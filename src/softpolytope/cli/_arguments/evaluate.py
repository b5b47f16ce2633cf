"""Arguments of `softpolytope evaluate`."""

from typing import Any

from softpolytope.cli._arguments.shared import add_format_options, add_json_option, add_threshold_option, examples


def add_parser(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "evaluate",
        help="score a model on the rows of a table",
        description="Predict rows whose classes are known, and compare: error, log-loss, Brier score, AUC (area under "
        "the ROC curve), calibration, and counts of each class. The rows should be others than those the model learned "
        "from; a note counts those that are not.",
        **examples(
            "softpolytope evaluate model.softpolytope test.csv",
            "softpolytope evaluate model.softpolytope test.csv --target outcome --threshold yes=0.3",
            "softpolytope evaluate model.softpolytope test.csv --json",
        ),
    )
    parser.add_argument("model", help="what `softpolytope fit` wrote")
    parser.add_argument(
        "table", help="a .csv, .parquet or .svm file: rows with the columns of the model and the target"
    )
    parser.add_argument("--target", help="the column with the classes; by default the one the model was fitted to")
    add_threshold_option(parser)
    add_format_options(parser)
    add_json_option(parser)
