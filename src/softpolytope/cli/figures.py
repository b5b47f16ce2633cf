"""`softpolytope figures`: every figure of the paper."""

import argparse
from functools import partial

from softpolytope.cli._errors import FINE, CommandError
from softpolytope.exceptions import ReproductionError
from softpolytope.paper import FigureProtocol, reproduce_figures


def run(options: argparse.Namespace) -> int:
    """Fit what is missing, and draw the figures."""
    protocol = FigureProtocol(
        options.seed, options.sampler, options.sweeps, options.polya_gamma_draws, options.data_home
    )
    report = partial(print, flush=True)
    try:
        reproduce_figures(options.out, options.only, protocol, n_processes=options.jobs, report=report)
    except ReproductionError as error:
        raise CommandError(str(error)) from error
    except KeyboardInterrupt:
        print("\nRun the same command again to continue.")
        raise
    return FINE
