"""`softpolytope figures`: every figure of the paper."""

import argparse
from functools import partial
from pathlib import Path

from softpolytope.cli._errors import SUCCESS
from softpolytope.cli._options import Commands, add_data_home_option, integer


def add_parser(commands: Commands) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "figures",
        help="draw every figure of the paper",
        description="Fit the models of the paper's figures by Gibbs sampling and draw the figures. Fitted models are "
        "stored beside the pictures: the same command draws again without fitting, and resumes after an interrupt.",
        epilog="example: softpolytope figures --out figures --only circle_sum 11",
    )
    parser.set_defaults(run=run, rooms=("paper",))
    parser.add_argument("--out", type=Path, required=True, help="folder for pictures and models")
    add_data_home_option(parser)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="numbers of figures, or beginnings of their names")
    parser.add_argument("--jobs", type=integer(1, 1024), default=2, help="number of parallel fits (2)")
    parser.add_argument("--seed", type=integer(0), default=0, help="random seed of the data and the chains (0)")
    parser.add_argument(
        "--sampler",
        choices=("paper", "library"),
        default="paper",
        help="the paper's scan with the prior of its author's later code, or this library's own (paper)",
    )
    # For tests: fewer sweeps and draws make poor figures.
    parser.add_argument("--sweeps", type=int, default=2000, help=argparse.SUPPRESS)
    parser.add_argument("--polya-gamma-draws", type=int, default=1_000_000, help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    """Fit missing models, and draw the figures."""
    from softpolytope.paper import FigureProtocol, reproduce_figures

    protocol = FigureProtocol(
        options.seed, options.sampler, options.sweeps, options.polya_gamma_draws, options.data_home
    )
    report = partial(print, flush=True)
    try:
        reproduce_figures(options.out, options.only, protocol, n_processes=options.jobs, report=report)
    except KeyboardInterrupt:
        print("\nRun the same command again to continue.")
        raise
    return SUCCESS
