"""Arguments of `softpolytope tables`."""

import argparse
from pathlib import Path
from typing import Any

from softpolytope.cli._arguments.shared import DATA_VARIABLE, whole


def add_parser(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "tables",
        help="compute every table of the paper, with the baselines",
        description="Fit every method of the paper's tables under its protocol, and write a page with each printed "
        "number beside the one found. Every finished fit is a file in the folder: the same command again continues "
        "after a stop, runs failed fits again, and changes nothing else.",
        epilog='needs more packages: pip install "softpolytope[paper]"\n\nexamples:\n'
        "  softpolytope tables --data-home data --quick\n"
        "  softpolytope tables --data-home data --sets banana image --methods svm ss5",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--out", type=Path, default=Path("tables"), help="folder for results and the page; by default tables"
    )
    parser.add_argument(
        "--data-home", type=Path, help=f"folder of the benchmark sets; by default the one that {DATA_VARIABLE} names"
    )
    parser.add_argument(
        "--sets",
        nargs="+",
        metavar="SET",
        help="some sets only; by default all eight, small ones first (with --quick: banana and titanic)",
    )
    parser.add_argument("--methods", nargs="+", metavar="METHOD", help="some methods only, such as svm stack5 ss5")
    parser.add_argument("--quick", action="store_true", help="one partition and short chains, which takes a minute")
    parser.add_argument("--jobs", type=whole(1, 1024), default=2, help="fits at a time (2)")
    parser.add_argument(
        "--trials", type=whole(1, 5), default=1, help="seeds on ijcnn1 and a9a; the paper has 5, of hours each (1)"
    )
    parser.add_argument(
        "--known",
        type=Path,
        metavar="FILE",
        help="results of an earlier run, the .jsonl beside its page: these fits are not run again",
    )
    parser.add_argument(
        "--check",
        type=Path,
        metavar="FILE",
        help="compare with the results of an earlier run; the exit code is 1 if a number differs or none is in both",
    )
    parser.add_argument("--page", type=Path, help="page to write; by default reproduction.md in the folder")
