"""Files that appear complete or not at all, whatever interrupts the writing.

A writer holds a lock on its temporary file, which the system releases however the writer ends: a temporary file that
can be locked is a leftover of a writer that was killed. This holds between threads, processes, containers and, where
the file system supports it, machines.
"""

import io
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO

from softpolytope.exceptions import UnwritablePathError

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be removed anyway
    fcntl = None  # type: ignore[assignment]

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
        Flush the file to disk before it takes its place. Without it, a power cut can leave an empty file, but the end
        of the process, however sudden, cannot. Needed where something else is deleted because this file exists.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> with atomic_write(path) as file:
    ...     _ = file.write(b"complete")
    >>> path.read_text()
    'complete'
    """
    target = _resolve_link(Path(path))
    temporary, file = _open_locked_sibling(target)
    try:
        with file:
            yield file
            file.flush()
            if fsync:
                os.fsync(file.fileno())
            if fcntl is not None:  # while the lock is held, so that no one takes the file for a leftover
                temporary.replace(target)
        if fcntl is None:
            temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


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


def _open_locked_sibling(path: Path) -> tuple[Path, BinaryIO]:
    """Open a new temporary file in the same folder, locked by this writer."""
    while True:
        temporary = _temporary_sibling(path)
        file = temporary.open("xb")
        # Before it is locked, another process may take it for a leftover and remove it.
        if _lock(file) is not False and temporary.exists():
            return temporary, file
        file.close()


def _lock(file: BinaryIO) -> bool | None:
    """Lock a file as long as it is open; return False if another writer has the lock, None if there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # the file system has no locks
        return None
    return True


def remove_leftovers(folder: Path, names: str) -> None:
    """Remove temporary files of killed writers; `names` is a pattern of the files that they were writing."""
    pattern = re.compile(rf"\.(?:{names})\.[0-9a-f]{{16}}")
    for path in folder.iterdir():
        if pattern.fullmatch(path.name):
            _remove_unless_locked(path, path)


def _remove_unless_locked(path: Path, lock: Path) -> None:
    """Remove a file, or a folder and its contents, unless another process holds the lock."""
    # The file may vanish meanwhile, or belong to another user.
    with suppress(OSError):
        if fcntl is None:
            _remove(path)
            return
        with lock.open("rb+") as file:
            if _lock(file):
                _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


class ScratchFolder:
    """Folder for temporary files; a new one removes those that killed processes have left."""

    _PREFIX = "softpolytope-scratch-"

    def __init__(self) -> None:
        for path in Path(tempfile.gettempdir()).glob(f"{self._PREFIX}*"):
            if (path / "lock").exists():
                _remove_unless_locked(path, path / "lock")
        self._folder = tempfile.TemporaryDirectory(prefix=self._PREFIX)
        self.path = Path(self._folder.name)
        self._file = (self.path / "new").open("xb")
        _lock(self._file)
        if fcntl is None:
            return
        # Renamed after it is locked, so that under this name it is locked from the first moment on.
        (self.path / "new").replace(self.path / "lock")

    def remove(self) -> None:
        """Remove the folder and its contents."""
        self._file.close()
        self._folder.cleanup()
