"""Files that are replaced as a whole or not at all, and the removal of what killed writers left of them.

A writer holds a lock on its temporary file, which the system releases however the writer ends: what can be locked has
no writer any more. That holds between threads, processes, containers and, where the file system has it so, machines.
"""

import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows, where a file that someone has open cannot be removed anyway
    fcntl = None  # type: ignore[assignment]

_SCRATCH = "softpolytope-scratch-"


@contextmanager
def replacing(path: Path, *, is_synced: bool) -> Iterator[BinaryIO]:
    """Open a file that takes the place of `path` at the end, unless there is an error.

    `is_synced` says whether it is on the disk before that: a power cut would otherwise be able to leave an empty file.
    The end of the process, however sudden, is not.
    """
    temporary, file = _opened_beside(path)
    try:
        with file:
            yield file
            file.flush()
            if is_synced:
                os.fsync(file.fileno())
            if fcntl is not None:  # while the lock is held, so that nobody takes it for a leftover
                temporary.replace(path)
        if fcntl is None:
            temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _opened_beside(path: Path) -> tuple[Path, BinaryIO]:
    """Return a new locked file of the same folder, which can be renamed over the old one in a single step."""
    while True:
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        file = temporary.open("xb")
        # Before it is locked, another process may take it for a leftover and remove it.
        if _lock(file) is not False and temporary.exists():
            return temporary, file
        file.close()


def _lock(file: BinaryIO) -> bool | None:
    """Lock an open file for as long as it is open; False if another has it locked, None if there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # of the file system
        return None
    return True


def remove_leftovers(folder: Path, names: str) -> None:
    """Remove temporary files of `replacing` whose writers are gone; `names` is a pattern of the files they were for."""
    pattern = re.compile(rf"\.(?:{names})\.[0-9a-f]{{16}}")
    for path in folder.iterdir():
        if pattern.fullmatch(path.name):
            _remove_unless_locked(path, path)


def _remove_unless_locked(path: Path, lock: Path) -> None:
    """Remove a file, or a folder with all that is in it, if nobody holds the lock."""
    # It may vanish meanwhile, or be another user's.
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
    """A folder for temporary files, which is removed at the end, or when another one is made after its owner's."""

    def __init__(self) -> None:
        for path in Path(tempfile.gettempdir()).glob(f"{_SCRATCH}*"):
            if (path / "lock").exists():
                _remove_unless_locked(path, path / "lock")
        self._folder = tempfile.TemporaryDirectory(prefix=_SCRATCH)
        self.path = Path(self._folder.name)
        self._file = (self.path / "new").open("xb")
        _lock(self._file)
        if fcntl is None:
            return
        # Under this name it is locked from the first moment on.
        (self.path / "new").replace(self.path / "lock")

    def remove(self) -> None:
        """Remove it with all that is in it."""
        self._file.close()
        self._folder.cleanup()
