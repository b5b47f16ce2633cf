"""The command `softpolytope`."""

from importlib import import_module

from softpolytope.cli._arguments.parser import command_parser
from softpolytope.cli._errors import WRONG, exit_code


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns what the process exits with."""
    return exit_code(lambda: _run(arguments))


def _run(arguments: list[str] | None) -> int:
    """Parse the arguments, and import only the module of the command that they name."""
    parser = command_parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return WRONG
    command = import_module(f"softpolytope.cli.{options.command}")
    return int(command.run(options))
