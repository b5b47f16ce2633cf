"""The command `softpolytope`."""

import argparse
import functools

from softpolytope import __version__
from softpolytope.cli import datasets, demo, explain, export, figures, fit, predict, report, tables
from softpolytope.cli._errors import WRONG, exit_code


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns what the process exits with."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return WRONG
    return exit_code(lambda: int(options.run(options)))


@functools.cache
def _parser() -> argparse.ArgumentParser:
    """All commands; made once, which takes longer than a small prediction."""
    parser = argparse.ArgumentParser(
        prog="softpolytope",
        description="Bayesian classifiers whose decision regions are unions of soft convex polytopes.",
    )
    parser.add_argument("--version", action="version", version=f"softpolytope {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command")
    for command in (demo, fit, predict, explain, export, report, datasets, figures, tables):
        command.add_parser(commands)
    return parser
