"""What a command says when it cannot do what it is asked for: one or two lines, and an exit code that means something.

0 is fine, 1 a negative answer (of `tables`: a fit failed, or a number differs), 2 wrong use or bad input, 130 a stop.
"""

import io
import os
import sys
from collections.abc import Callable

FINE, NEGATIVE, WRONG, INTERRUPTED = 0, 1, 2, 130


class CommandError(Exception):
    """What was asked for cannot be done; the message says why and what to do."""


def exit_code(run: Callable[[], int]) -> int:
    """Run a command; what goes wrong for a reason the user can do something about is told without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Names in files may have letters that the terminal has not.
            stream.reconfigure(errors="backslashreplace")
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        # What goes to a file or a program is data: all letters as they are, as in the files that -o writes.
        sys.stdout.reconfigure(encoding="utf-8")
    try:
        code = run()
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        message = _in_words(error)
        if message is None:
            raise
        print(f"softpolytope: {message}", file=sys.stderr)
        return WRONG
    return code


def _in_words(error: Exception) -> str | None:
    """What to tell the user; None of a bug."""
    if isinstance(error, BrokenPipeError):
        # The interpreter flushes once more at its end, which must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return "what read the output closed it before its end."
    if isinstance(error, OSError):
        return f"{error.filename or 'the system'}: {error.strerror or error}."
    if isinstance(error, MemoryError):
        return "out of memory. Give fewer rows or columns."
    # Only here: a command that fails for these reasons has imported them, and `--help` needs neither.
    from softpolytope.export.archive import ModelFileError  # noqa: PLC0415
    from softpolytope.tabular.table import TableError  # noqa: PLC0415

    is_extra = isinstance(error, ImportError) and "pip install softpolytope[" in str(error)
    return str(error) if is_extra or isinstance(error, CommandError | TableError | ModelFileError) else None
