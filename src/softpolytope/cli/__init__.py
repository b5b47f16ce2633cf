"""The command `softpolytope`.

Each command is a module with its arguments and its `run`. Packages that take seconds to import are imported when a
command runs, so that `--help` and `--version` are immediate.
"""

import argparse
import functools
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from softpolytope import __version__
from softpolytope.cli import datasets, demo, evaluate, explain, export, figures, fit, predict, report, tables
from softpolytope.cli._errors import WRONG, exit_code, exit_on_interrupt

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return the exit code of the process."""
    return exit_code(lambda: _run(arguments))


def _run(arguments: list[str] | None) -> int:
    """Parse the arguments, import the rooms that the command uses, and run it."""
    parser = _make_parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return WRONG
    with exit_on_interrupt():
        for room in options.rooms:
            import_module(f"softpolytope.{room}")
    return int(options.run(options))


class CommandParser(argparse.ArgumentParser):
    """Parser that rejects unknown arguments itself, so that a command's errors show the command's usage."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:  # as argparse has it
        """Parse all arguments; unknown ones are an error of this parser, not of the one above it."""
        found, extras = super().parse_known_args(args, namespace)
        unknown = self._take_late_positionals(found, extras)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, []

    def _take_late_positionals(self, found: argparse.Namespace, extras: Sequence[str]) -> list[str]:
        """Set optional positional arguments that come after options; return the remaining arguments.

        Older versions of argparse settle `model [table]` when they meet the model, and reject `model --json table`.
        """
        left = list(extras)
        for action in self._actions:
            is_open = not action.option_strings and action.nargs == argparse.OPTIONAL
            if is_open and left and not left[0].startswith("-") and getattr(found, action.dest, None) is None:
                setattr(found, action.dest, left.pop(0))
        return left


@functools.cache
def _make_parser() -> CommandParser:
    """Return the parser of all commands, made once: making it takes longer than a small prediction."""
    parser = CommandParser(
        prog="softpolytope",
        description="Bayesian classifiers whose decision regions are unions of soft convex polytopes.",
    )
    parser.add_argument("--version", action="version", version=f"softpolytope {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command")
    for command in (demo, fit, predict, evaluate, explain, export, report, datasets, figures, tables):
        command.add_parser(commands)
    return parser
