"""Errors of commands: a message of one or two lines, and an exit code that means something.

0 is fine, 1 a negative answer (of `tables`: a fit failed, or a number differs), 2 wrong use or bad input, 130 a stop.
141 is for output that was closed before its end, as by `| head`: what `cat` gives to the shell, without a message. A
script that looks at it can tell that not everything was written, which 0 would hide.
"""

import io
import os
import select
import sys
from collections.abc import Callable
from typing import TextIO

from softpolytope.exceptions import ModelFileError, TableError

FINE, NEGATIVE, WRONG, INTERRUPTED, CLOSED = 0, 1, 2, 130, 141


class CommandError(Exception):
    """Raised where a command cannot do what was asked for; the message says why and what to do."""


def exit_code(run: Callable[[], int]) -> int:
    """Run a command and return its exit code; errors that the user can act on become messages without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Names in files may have letters that the terminal has not.
            stream.reconfigure(errors="backslashreplace")
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        # What goes to a file or a program is data: all letters as they are, as in the files that -o writes.
        sys.stdout.reconfigure(encoding="utf-8")
    try:
        code = _told(run)
    except BrokenPipeError:
        if not any(map(_is_closed, (sys.stdout, sys.stderr))):
            raise
        code = CLOSED
    for stream in (sys.stdout, sys.stderr):
        _drop_unwritable(stream)
    return code


def _told(run: Callable[[], int]) -> int:
    """Run a command to the end of its output; errors become messages and exit codes."""
    try:
        return _finished(run)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        message = _in_words(error)
        if message is None:
            raise
        print(f"softpolytope: {message}", file=sys.stderr)
        return WRONG


def _finished(run: Callable[[], int]) -> int:
    """Run a command, and write what is waiting, so that a failure is noticed here and not at the interpreter's end."""
    try:
        code = run()
    except SystemExit:  # of argparse, which has written help or the version
        _flush(sys.stdout)
        raise
    _flush(sys.stdout)
    return code


def _flush(stream: TextIO | None) -> None:
    if stream is not None:  # as it is where the user has closed it: >&-
        stream.flush()


def _drop_unwritable(stream: TextIO | None) -> None:
    """Let what cannot be written go nowhere: the interpreter flushes at its end, which must not fail again."""
    try:
        _flush(stream)
    except OSError:
        if stream is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _is_closed(stream: TextIO | None) -> bool:
    """Whether a stream is a pipe that nobody reads any more."""
    try:
        descriptor = -1 if stream is None else stream.fileno()
    except (OSError, ValueError):
        return False  # not a file of the system
    if descriptor < 0 or not hasattr(select, "poll"):
        return descriptor >= 0  # Windows has no way to ask
    asked = select.poll()
    asked.register(descriptor, 0)
    return bool(asked.poll(0))


def _in_words(error: Exception) -> str | None:
    """Return the message for the user, or None if the error is a bug."""
    if isinstance(error, BrokenPipeError) and any(map(_is_closed, (sys.stdout, sys.stderr))):
        return None
    if isinstance(error, OSError):
        return f"{error.filename or 'the system'}: {error.strerror or error}."
    if isinstance(error, MemoryError):
        return "out of memory. Give fewer rows or columns."
    is_extra = isinstance(error, ImportError) and "pip install softpolytope[" in str(error)
    return str(error) if is_extra or isinstance(error, CommandError | TableError | ModelFileError) else None
