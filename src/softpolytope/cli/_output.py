"""Output of commands: files that are complete or absent, JSON and notes."""

import json
import math
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from softpolytope._files import atomic_path, atomic_write_text, check_writable
from softpolytope.cli._errors import CommandError
from softpolytope.exceptions import UnwritablePathError


def check_output(path: Path, *inputs: str | Path | None) -> None:
    """Raise, before minutes of fitting, if a file cannot be written or is one of the inputs."""
    try:
        check_writable(path, *inputs)
    except UnwritablePathError as error:
        raise CommandError(f"{error} Name another file (-o).") from None


@contextmanager
def binary_output(path: Path, *inputs: str | Path | None) -> Iterator[Path]:
    """Yield a temporary path that replaces `path` if the block succeeds."""
    check_output(path, *inputs)
    with atomic_path(path) as temporary:
        yield temporary


@contextmanager
def text_output(path: Path | None, *inputs: str | Path | None) -> Iterator[TextIO]:
    """Yield a text file that is complete or absent; standard output without a path."""
    if path is None:
        if sys.stdout is None:  # closed by the user: >&-
            raise CommandError("standard output is closed. Name a file to write (-o).")
        yield sys.stdout
        return
    check_output(path, *inputs)
    with atomic_write_text(path) as file:
        yield file


def to_json(document: object) -> str:
    """Return JSON on one line; numbers that are not finite become null."""
    return json.dumps(_to_plain(document), ensure_ascii=False)


def _to_plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain(item) for item in value]
    if hasattr(value, "tolist"):  # of NumPy, which is not imported for this
        return _to_plain(value.tolist())
    if isinstance(value, Path):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print warnings of the library as notes on standard error, each once."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        print_note(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("once")
        warnings.showwarning = show
        yield


def print_note(message: str) -> None:
    """Print a remark that is not part of the result to standard error."""
    print(f"note: {message}", file=sys.stderr)
