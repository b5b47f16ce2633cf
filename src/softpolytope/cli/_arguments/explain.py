"""Arguments of `softpolytope explain`."""

from typing import Any

from softpolytope.cli._arguments.shared import (
    add_format_options,
    add_json_option,
    add_names_option,
    examples,
    row_numbers,
)


def add_parser(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "explain",
        help="say in words what a model does, and why with some rows",
        description="The half-spaces of a model; for rows of a table, which experts vote yes and on what that hangs; "
        "and the smallest change of the row's raw columns after which the decision is another: numbers stay within the "
        "range of the training rows and whole where they were, and one category at most becomes another. The exit "
        "code is 1 if no such change was found.",
        **examples(
            "softpolytope explain model.softpolytope",
            "softpolytope explain model.softpolytope data.csv --rows 0,5 --counterfactual",
            "softpolytope explain model.softpolytope data.csv --counterfactual --fixed age,sex",
        ),
    )
    parser.add_argument("model", help="what `softpolytope fit` wrote")
    parser.add_argument("table", nargs="?", help="a .csv, .parquet or .svm file with the columns of the model")
    parser.add_argument("--rows", type=row_numbers, action="extend", metavar="0,5", help="rows to explain, from 0 (0)")
    parser.add_argument("--counterfactual", action="store_true", help="what would change the decision")
    add_names_option(parser, "--fixed", "with --counterfactual: columns that stay as they are")
    add_format_options(parser)
    add_json_option(parser)
