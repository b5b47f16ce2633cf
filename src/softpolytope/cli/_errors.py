"""Errors of commands: a message of one or two lines, and a meaningful exit code.

0 is success, 1 a negative answer (of `tables`: a fit failed, or a number differs), 2 wrong use or bad input, 130 an
interrupt. 141 means that the output was closed before its end, as by `| head`; like `cat`, the command then prints no
message, and a script can tell that not everything was written, which 0 would hide.
"""

import csv
import io
import os
import select
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from softpolytope.exceptions import ColumnError, ContentError, ModelFileError, ReproductionError, TableError

SUCCESS, NEGATIVE, WRONG, INTERRUPTED, CLOSED = 0, 1, 2, 130, 141


class CommandError(Exception):
    """Raised if a command cannot do what was asked for; the message gives the reason and what to do."""


# Errors whose messages are written for the user of a command.
USER_ERRORS = CommandError | ContentError | ModelFileError | ReproductionError | TableError


def exit_code(run: Callable[[], int]) -> int:
    """Run a command and return its exit code; errors that the user can act on become messages without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Names in files may have letters that the terminal cannot show.
            stream.reconfigure(errors="backslashreplace")
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        # Output to a file or a program is data: all letters unchanged, as in the files that -o writes.
        sys.stdout.reconfigure(encoding="utf-8")
    try:
        code = _report_errors(run)
    except BrokenPipeError:
        if not any(map(_is_closed, (sys.stdout, sys.stderr))):
            raise
        code = CLOSED
    for stream in (sys.stdout, sys.stderr):
        _discard_unwritable(stream)
    return code


@contextmanager
def exit_on_interrupt() -> Iterator[None]:
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
    os._exit(INTERRUPTED)


def _report_errors(run: Callable[[], int]) -> int:
    """Run a command to the end of its output; errors become messages and exit codes."""
    try:
        return _run_and_flush(run)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        message = _message(error)
        if message is None:
            raise
        print(f"softpolytope: {message}", file=sys.stderr)
        return WRONG


def _run_and_flush(run: Callable[[], int]) -> int:
    """Run a command and flush its output, so that a failure to write is not left to the interpreter's end."""
    try:
        code = run()
    except SystemExit:  # of argparse, which has printed help or the version
        _flush(sys.stdout)
        raise
    _flush(sys.stdout)
    return code


def _flush(stream: TextIO | None) -> None:
    if stream is not None:  # None if the user has closed it: >&-
        stream.flush()


def _discard_unwritable(stream: TextIO | None) -> None:
    """Discard output that cannot be written: the interpreter flushes at its end, which must not fail again."""
    try:
        _flush(stream)
    except OSError:
        if stream is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _is_closed(stream: TextIO | None) -> bool:
    """Return whether a stream is a pipe whose reader is gone."""
    try:
        descriptor = -1 if stream is None else stream.fileno()
    except (OSError, ValueError):
        return False  # not a file of the system
    if descriptor < 0 or not hasattr(select, "poll"):
        return descriptor >= 0  # on Windows there is no way to ask
    poll = select.poll()
    poll.register(descriptor, 0)
    return bool(poll.poll(0))


def _message(error: Exception) -> str | None:
    """Return the message for the user, or None if the error is a bug."""
    if isinstance(error, BrokenPipeError) and any(map(_is_closed, (sys.stdout, sys.stderr))):
        return None
    if isinstance(error, OSError):
        return f"{error.filename or 'the system'}: {error.strerror or error}."
    if isinstance(error, MemoryError):
        return "out of memory. Use fewer rows or columns."
    if isinstance(error, ColumnError) and error.remedies:
        options = [_remedy_option(remedy, error.column) for remedy in error.remedies]
        return f"{error} Option{'s' if len(options) > 1 else ''}: {' or '.join(options)}"
    is_extra = isinstance(error, ImportError) and "pip install softpolytope[" in str(error)
    return str(error) if is_extra or isinstance(error, USER_ERRORS) else None


def _remedy_option(remedy: str, column: str) -> str:
    """Return the option of `fit` for a remedy, quoted for a shell whatever the name of the column."""
    if remedy == "max_categories":
        return "--max-categories=N"
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([column])
    return f"--{remedy}={shlex.quote(line.getvalue())}"
