"""The parser of the command and of its subcommands."""

import argparse
import functools
from collections.abc import Sequence
from typing import Any

from softpolytope import __version__
from softpolytope.cli._arguments import datasets, demo, evaluate, explain, export, figures, fit, predict, report, tables


class CommandParser(argparse.ArgumentParser):
    """A parser that refuses what it does not know itself, so that a command's errors show the command's usage."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse all arguments; unknown ones are an error of this parser, not of the one above it."""
        found, extras = super().parse_known_args(args, namespace)
        unknown = self._with_late_positionals(found, extras)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, []

    def _with_late_positionals(self, found: argparse.Namespace, extras: Sequence[str]) -> list[str]:
        """Take optional positional arguments that come after options; return what is left.

        Older versions of argparse settle `model [table]` when they meet the model, and refuse `model --json table`.
        """
        left = list(extras)
        for action in self._actions:
            is_open = not action.option_strings and action.nargs == argparse.OPTIONAL
            if is_open and left and not left[0].startswith("-") and getattr(found, action.dest, None) is None:
                setattr(found, action.dest, left.pop(0))
        return left


@functools.cache
def command_parser() -> CommandParser:
    """Return the parser of all commands; it is made once, which takes longer than a small prediction."""
    parser = CommandParser(
        prog="softpolytope",
        description="Bayesian classifiers whose decision regions are unions of soft convex polytopes.",
    )
    parser.add_argument("--version", action="version", version=f"softpolytope {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command")
    for command in (demo, fit, predict, evaluate, explain, export, report, datasets, figures, tables):
        command.add_parser(commands)
    return parser
