"""Arguments of `softpolytope figures`."""

import argparse
from pathlib import Path
from typing import Any

from softpolytope.cli._arguments.shared import DATA_VARIABLE, whole


def add_parser(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "figures",
        help="draw every figure of the paper",
        description="Fit the models of the paper's figures by Gibbs sampling, and draw the figures. Fitted models are "
        "stored beside the pictures: the same command again draws without fitting, and continues after a stop.",
        epilog="example: softpolytope figures --out figures --only circle_sum 11",
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for pictures and models")
    parser.add_argument(
        "--data-home", type=Path, help=f"folder of the benchmark sets; by default the one that {DATA_VARIABLE} names"
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="numbers of figures, or beginnings of their names")
    parser.add_argument("--jobs", type=whole(1, 1024), default=2, help="fits at a time (2)")
    parser.add_argument("--seed", type=whole(0), default=0, help="seed of the synthetic data and of the chains (0)")
    parser.add_argument(
        "--sampler",
        choices=("paper", "library"),
        default="paper",
        help="the paper's scan with the prior of its author's later code, or this library's own (paper)",
    )
    # For tests: fewer sweeps and draws make poor figures.
    parser.add_argument("--sweeps", type=int, default=2000, help=argparse.SUPPRESS)
    parser.add_argument("--polya-gamma-draws", type=int, default=1_000_000, help=argparse.SUPPRESS)
