"""`softpolytope tables`: every table of the paper."""

import argparse
import sys
from functools import partial

from softpolytope.cli._errors import FINE, NEGATIVE, CommandError
from softpolytope.cli._output import notes
from softpolytope.exceptions import ReproductionError
from softpolytope.paper import TableRequest, reproduce_tables


def run(options: argparse.Namespace) -> int:
    """Run the fits that are missing, and write the page."""
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
        with notes():
            outcome = reproduce_tables(request, partial(print, flush=True))
    except ReproductionError as error:
        raise CommandError(str(error)) from error
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
    return FINE if outcome.is_success else NEGATIVE
