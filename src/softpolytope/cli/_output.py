"""Output of commands: files that appear complete or not at all, JSON and notes."""

import json
import math
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from softpolytope._files import atomic_path, atomic_write_text, check_writable
from softpolytope.cli._errors import CommandError
from softpolytope.exceptions import UnwritablePathError


def check_output(path: Path, *inputs: str | Path | None, option: str = "-o") -> None:
    """Raise at once, not after minutes of fitting, if a file cannot be written there, or is one of those read.

    `option` is what names the path.
    """
    try:
        check_writable(path, *inputs)
    except UnwritablePathError as error:
        raise CommandError(f"{error} Name another file ({option}).") from None


@contextmanager
def replaced(path: Path, *inputs: str | Path | None) -> Iterator[Path]:
    """A path to write to, renamed to the one wanted at the end; a failure leaves nothing behind."""
    check_output(path, *inputs)
    with atomic_path(path) as temporary:
        yield temporary


@contextmanager
def text_output(path: Path | None, *inputs: str | Path | None) -> Iterator[TextIO]:
    """A file that is there whole or not at all; standard output without a path."""
    if path is None:
        if sys.stdout is None:  # closed by the user: >&-
            raise CommandError("standard output is closed. Name a file to write (-o).")
        yield sys.stdout
        return
    check_output(path, *inputs)
    with atomic_write_text(path) as file:
        yield file


def print_json(document: Any) -> None:
    """A document for machines, on one line."""
    print(json_text(document))


def json_text(document: Any) -> str:
    """JSON on one line; numbers that are not finite become null, which JSON has and infinity it has not."""
    return json.dumps(_plain(document), ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, Path):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def notes() -> Iterator[None]:
    """Warnings of the library as notes on standard error, each once."""

    def show(message: Warning | str, *_: Any) -> None:
        note(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("once")
        warnings.showwarning = show  # type: ignore[assignment]  # of its arguments only the first matters
        yield


def note(message: str) -> None:
    """Something worth knowing that is no result."""
    print(f"note: {message}", file=sys.stderr)
