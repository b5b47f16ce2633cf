"""Arguments of `softpolytope fit`."""

import argparse
from pathlib import Path
from typing import Any

from softpolytope.cli._arguments.shared import (
    add_class_weight_option,
    add_format_options,
    add_json_option,
    add_names_option,
    examples,
    whole,
)

KINDS = {
    "sum-stack": "SumStackSoftplusClassifier",
    "sum": "SumSoftplusClassifier",
    "stack": "StackSoftplusClassifier",
    "softplus": "SoftplusClassifier",
}


def add_parser(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "fit",
        help="fit a model to a table",
        description="Fit a classifier to a CSV, Parquet or svmlight file, and write a model that takes raw rows: "
        "columns of numbers or categories, with missing values. Rows are kept apart first to tell how good it is; "
        "the model that is written has then learned from all rows of the table.",
        **examples(
            "softpolytope fit train.csv --target y -o model.softpolytope",
            "softpolytope fit train.csv --target y --drop when,id --test test.csv -o model.softpolytope",
            "softpolytope fit train.csv --target y --class-weight balanced -o model.softpolytope",
            "softpolytope fit train.csv --target y --inference gibbs --checkpoint chains -o model.softpolytope",
        ),
    )
    parser.add_argument("table", help="a .csv, .parquet or .svm file")
    parser.add_argument("--target", help="name of the column to predict (svmlight: label)")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the model file to write")
    columns = parser.add_argument_group("columns")
    add_names_option(columns, "--features", "only these (by default all)")
    add_names_option(columns, "--drop", "all but these")
    add_names_option(columns, "--categorical", "categories, though numbers")
    columns.add_argument("--max-categories", type=whole(1), metavar="N", help="of one column")
    _add_model_options(parser.add_argument_group("model"))
    _add_evaluation_options(parser.add_argument_group("evaluation"))
    add_format_options(parser)
    add_json_option(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress line")


def _add_model_options(group: Any) -> None:
    group.add_argument("--classifier", choices=KINDS, default="sum-stack", help="unions of polytopes by default")
    group.add_argument(
        "--inference",
        choices=("auto", "map", "gibbs"),
        default="auto",
        help="modes, or draws from the posterior, which the intervals of a report need",
    )
    add_class_weight_option(group)
    group.add_argument("--max-experts", type=whole(1), metavar="N", help="of sum-stack and sum")
    group.add_argument("--layers", type=whole(1), metavar="N", help="of sum-stack and stack")
    group.add_argument("--sweeps", type=whole(2), metavar="N", help="of each chain, with --inference gibbs")
    group.add_argument(
        "--checkpoint", type=Path, metavar="DIR", help="keep what is done there: the same command again goes on from it"
    )
    group.add_argument("--seed", type=whole(0), default=0, help="another seed, other held-out rows and another fit (0)")
    group.add_argument("--jobs", type=whole(-1), default=-1, help="threads (all cores); they do not change the model")


def _add_evaluation_options(group: Any) -> None:
    which = group.add_mutually_exclusive_group()
    which.add_argument("--test-size", type=_share, default=0.25, help="share of rows kept apart; 0 for none (0.25)")
    which.add_argument("--test", metavar="FILE", help="test on these rows instead; the model never learns from them")


def _share(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0.0 <= found < 1.0:
        raise argparse.ArgumentTypeError(f"a share from 0 to below 1 is needed; got {text!r}")
    return found
