"""Where commands write: files that are there whole or not at all, JSON, notes."""

import json
import math
import os
import secrets
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from softpolytope.cli._errors import CommandError


def check_output(path: Path, *inputs: str | Path | None, option: str = "-o") -> None:
    """Raise at once, not after minutes of fitting, if a file cannot be written there, or is one of those read.

    `option` is what names the path.
    """
    for item in inputs:
        if item is not None and path.exists() and Path(item).exists() and path.samefile(item):
            raise CommandError(f"{path} is a file that is read, and would be overwritten. Name another one ({option}).")
    if path.is_dir():
        raise CommandError(f"{path} is a folder. Name a file in it ({option}).")
    if path.exists() and not path.is_file():
        raise CommandError(f"{path} is no regular file. Name another one ({option}).")
    target = _followed(path)
    if target.is_symlink():
        raise CommandError(f"{path} is a link that leads back to itself. Name another file ({option}).")
    if not target.parent.is_dir():
        raise CommandError(f"{path} cannot be written: there is no folder {target.parent}. Make it, or name another.")
    probe = _beside(target)
    try:
        probe.touch(exist_ok=False)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}.") from None
    finally:
        probe.unlink(missing_ok=True)


@contextmanager
def replaced(path: Path, *inputs: str | Path | None) -> Iterator[Path]:
    """A path to write to, renamed to the one wanted at the end; a failure leaves nothing behind."""
    check_output(path, *inputs)
    target = _followed(path)
    temporary = _beside(target)
    try:
        yield temporary
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def text_output(path: Path | None, *inputs: str | Path | None) -> Iterator[TextIO]:
    """A file that is there whole or not at all; standard output without a path."""
    if path is None:
        if sys.stdout is None:  # closed by the user: >&-
            raise CommandError("standard output is closed. Name a file to write (-o).")
        yield sys.stdout
        return
    with replaced(path, *inputs) as temporary, temporary.open("x", encoding="utf-8", newline="") as file:
        yield file


def _followed(path: Path) -> Path:
    """The file itself; of a link the one it leads to, so that the link stays."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _beside(path: Path) -> Path:
    # A name has at most 255 bytes, and a letter up to four.
    return path.with_name(f".{path.name[:50]}.{secrets.token_hex(8)}")


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
