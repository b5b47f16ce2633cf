"""Files that appear complete or not at all, whatever interrupts the writing."""

import io
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

from softpolytope.exceptions import UnwritablePathError

# A file name has at most 255 bytes, and a character up to four of them.
MAX_NAME_LENGTH = 50


@contextmanager
def atomic_write(path: str | Path, *, fsync: bool = False) -> Iterator[BinaryIO]:
    """Open a file for bytes that replaces `path` when the block ends, and is removed if the block fails.

    Parameters
    ----------
    path : str or Path
        The file to write. A symbolic link stays; the file it points to is replaced.
    fsync : bool
        Flush the file to disk before it takes its place. Needed where something else is deleted afterwards because
        this file exists.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> with atomic_write(path) as file:
    ...     _ = file.write(b"complete")
    >>> path.read_text()
    'complete'
    """
    with atomic_path(path) as temporary, temporary.open("xb") as file:
        yield file
        if fsync:
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def atomic_write_text(path: str | Path, *, fsync: bool = False) -> Iterator[TextIO]:
    """Open a file for text in UTF-8, as `atomic_write` does for bytes; line ends stay as they are written."""
    with atomic_write(path, fsync=fsync) as raw:
        file = io.TextIOWrapper(raw, encoding="utf-8", newline="")
        yield file
        file.detach()


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path in the folder of `path`, which it replaces when the block ends without an error.

    For writers that take a path; `atomic_write` is for those that take a file.
    """
    target = _resolve_link(Path(path))
    temporary = _temporary_sibling(target)
    try:
        yield temporary
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def check_writable(path: Path, *inputs: str | Path | None) -> None:
    """Raise UnwritablePathError if a file cannot be written at `path`, or is one of the `inputs`."""
    for item in inputs:
        if item is not None and path.exists() and Path(item).exists() and path.samefile(item):
            raise UnwritablePathError(f"{path} is a file that is read, and would be overwritten.")
    if path.is_dir():
        raise UnwritablePathError(f"{path} is a folder.")
    if path.exists() and not path.is_file():
        raise UnwritablePathError(f"{path} is not a regular file.")
    target = _resolve_link(path)
    if target.is_symlink():
        raise UnwritablePathError(f"{path} is a link that leads back to itself.")
    if not target.parent.is_dir():
        raise UnwritablePathError(f"{path} cannot be written: there is no folder {target.parent}.")
    probe = _temporary_sibling(target)
    try:
        probe.touch(exist_ok=False)
    except OSError as error:
        raise UnwritablePathError(f"{path} cannot be written: {error.strerror}.") from None
    finally:
        probe.unlink(missing_ok=True)


def _resolve_link(path: Path) -> Path:
    """Return the file that a symbolic link points to, and any other path as it is."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _temporary_sibling(path: Path) -> Path:
    """Return a hidden, unused path in the same folder, from which a rename is a single step."""
    return path.with_name(f".{path.name[:MAX_NAME_LENGTH]}.{secrets.token_hex(8)}")
