"""Arguments of `softpolytope demo`."""

from pathlib import Path
from typing import Any

from softpolytope.cli._arguments.shared import whole


def add_parser(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "demo",
        help="fit, score, explain and draw a problem in under a minute",
        description="Fit two interleaved half rings; compare with logistic regression and a support vector machine.",
        epilog="example: softpolytope demo --out results",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("softpolytope-demo"), help="folder for the picture, the model and the report"
    )
    parser.add_argument("--seed", type=whole(0), default=0, help="another seed, other data and another fit")
