"""The command `softpolytope`."""

import argparse
import sys

from softpolytope import __version__
from softpolytope.cli import demo, figures


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns what the process exits with."""
    parser = argparse.ArgumentParser(
        prog="softpolytope",
        description="Bayesian classifiers whose decision regions are unions of soft convex polytopes.",
    )
    parser.add_argument("--version", action="version", version=f"softpolytope {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command")
    demo.add_parser(commands)
    figures.add_parser(commands)
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 2
    try:
        return int(options.run(options))
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
