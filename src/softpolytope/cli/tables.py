"""`softpolytope tables`: every table of the paper."""

import argparse
import sys
from functools import partial
from pathlib import Path

from softpolytope.cli._errors import NEGATIVE, SUCCESS
from softpolytope.cli._options import Commands, add_data_home_option, integer
from softpolytope.cli._output import warnings_as_notes


def add_parser(commands: Commands) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "tables",
        help="compute every table of the paper, with the baselines",
        description="Fit every method of the paper's tables under its protocol, and write a page with each printed "
        "number beside the one found. Every finished fit is a file in the folder: the same command resumes after an "
        "interrupt, repeats failed fits, and changes nothing else.",
        epilog='requires more packages: pip install "softpolytope[paper]"\n\nexamples:\n'
        "  softpolytope tables --data-home data --quick\n"
        "  softpolytope tables --data-home data --sets banana image --methods svm ss5",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run, rooms=("paper",))
    parser.add_argument(
        "--out", type=Path, default=Path("tables"), help="folder for results and the page; by default tables"
    )
    add_data_home_option(parser)
    parser.add_argument(
        "--sets",
        nargs="+",
        metavar="SET",
        help="data sets; by default all eight, small ones first (with --quick: banana and titanic)",
    )
    parser.add_argument(
        "--methods", nargs="+", metavar="METHOD", help="methods, such as svm stack5 ss5; by default all"
    )
    parser.add_argument("--quick", action="store_true", help="one partition and short chains, which takes a minute")
    parser.add_argument("--jobs", type=integer(1, 1024), default=2, help="number of parallel fits (2)")
    parser.add_argument(
        "--trials", type=integer(1, 5), default=1, help="seeds on ijcnn1 and a9a; the paper has 5, of hours each (1)"
    )
    parser.add_argument(
        "--known",
        type=Path,
        metavar="FILE",
        help="results of an earlier run, the .jsonl beside its page: these fits are not repeated",
    )
    parser.add_argument(
        "--check",
        type=Path,
        metavar="FILE",
        help="compare with the results of an earlier run; the exit code is 1 if a number differs or none is in both",
    )
    parser.add_argument("--page", type=Path, help="page to write; by default reproduction.md in the folder")


def run(options: argparse.Namespace) -> int:
    """Run the missing fits, and write the page."""
    from softpolytope.paper import TableRequest, reproduce_tables

    request = TableRequest(
        folder=options.out,
        data_home=options.data_home,
        sets=options.sets,
        methods=options.methods,
        is_quick=options.quick,
        n_processes=options.jobs,
        n_large_trials=options.trials,
        known=options.known,
        check=options.check,
        page=options.page,
    )
    try:
        with warnings_as_notes():
            outcome = reproduce_tables(request, partial(print, flush=True))
    except KeyboardInterrupt:
        print("\nRun the same command again to continue.")
        raise
    print(outcome.page)
    if outcome.comparison is not None:
        n_shared, differences = outcome.comparison.n_shared, outcome.comparison.differences
        print(f"{n_shared} fits are also in {options.check}; {n_shared - len(differences)} have the same numbers.")
        for line in differences:
            print(f"differs: {line}", file=sys.stderr)
    for path in outcome.failures:
        print(f"A fit failed; see {path}. The same command runs it again.", file=sys.stderr)
    return SUCCESS if outcome.is_success else NEGATIVE
