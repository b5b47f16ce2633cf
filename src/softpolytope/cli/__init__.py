"""The command `softpolytope`."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from softpolytope.cli._arguments.parser import command_parser
from softpolytope.cli._errors import WRONG, exit_code


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return the exit code of the process."""
    return exit_code(lambda: _run(arguments))


def _run(arguments: list[str] | None) -> int:
    """Parse the arguments, and import only the module of the command that they name."""
    parser = command_parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return WRONG
    with _interrupts_exit():
        command = import_module(f"softpolytope.cli.{options.command}")
    return int(command.run(options))


@contextmanager
def _interrupts_exit() -> Iterator[None]:
    """Exit with 130 at Ctrl-C: an interrupted import can end in any error, and there is nothing to clean up."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _exit)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _exit(*_: object) -> None:
    os.write(2, b"stopped\n")
    os._exit(130)
