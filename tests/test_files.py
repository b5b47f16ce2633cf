"""Files that appear complete or not at all."""

import os
from pathlib import Path

import pytest

from softpolytope._files import atomic_path, atomic_write, atomic_write_text, check_writable
from softpolytope.exceptions import UnwritablePathError


@pytest.mark.parametrize("fsync", [False, True])
def test_bytes_and_text_are_written_as_given(tmp_path, fsync):
    """Text is UTF-8, and no line end is translated."""
    with atomic_write(tmp_path / "bytes", fsync=fsync) as file:
        file.write(b"\x00\xff")
    with atomic_write_text(tmp_path / "text", fsync=fsync) as file:
        file.write("ä\n1\r\n")
    assert (tmp_path / "bytes").read_bytes() == b"\x00\xff"
    assert (tmp_path / "text").read_bytes() == "ä\n1\r\n".encode()


def test_the_old_file_stays_until_the_new_one_is_complete(tmp_path):
    """Readers see the old content during the block and the new one after it."""
    path = tmp_path / "file"
    path.write_text("old")
    with atomic_write_text(path) as file:
        file.write("new")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"


@pytest.mark.parametrize("write", [atomic_write, atomic_write_text, atomic_path])
def test_a_failing_block_leaves_the_folder_as_it_was(tmp_path, write):
    """An error or Ctrl-C while writing keeps the old file and removes the temporary one."""
    path = tmp_path / "file"
    path.write_text("old")

    def stop_halfway():
        with write(path) as opened:
            half = b"half" if write is atomic_write else "half"
            (opened.write_text if write is atomic_path else opened.write)(half)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop_halfway()
    assert [item.name for item in tmp_path.iterdir()] == ["file"]
    assert path.read_text() == "old"


def test_a_failing_rename_leaves_nothing(tmp_path, monkeypatch):
    """A file that cannot take its place is not there under any name."""

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"), atomic_write(tmp_path / "file") as file:
        file.write(b"half")
    assert list(tmp_path.iterdir()) == []


def test_fsync_comes_before_the_rename(tmp_path, monkeypatch):
    """All bytes have reached the system when the file is flushed to disk, under its temporary name."""
    seen = []

    def record(descriptor):
        seen.append((os.fstat(descriptor).st_size, (tmp_path / "file").exists()))

    monkeypatch.setattr(os, "fsync", record)
    with atomic_write_text(tmp_path / "file", fsync=True) as file:
        file.write("12345")
    with atomic_write(tmp_path / "other") as file:
        file.write(b"12345")
    assert seen == [(5, False)]


def test_a_link_stays_and_long_names_fit(tmp_path):
    """Writing through a symbolic link replaces its target; a name of 255 bytes gets a shorter temporary one."""
    target, link = tmp_path / ("ä" * 127), tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    with atomic_write_text(link) as file:
        file.write("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_unwritable_paths_are_named_with_the_reason(tmp_path):
    """Folders, links to themselves, missing folders and inputs are refused; nothing is left by the check."""
    loop, source = tmp_path / "loop", tmp_path / "input"
    loop.symlink_to(loop)
    source.write_text("read")
    for path, reason in (
        (tmp_path, "is a folder"),
        (loop, "leads back to itself"),
        (tmp_path / "missing" / "file", "there is no folder"),
        (source, "is a file that is read"),
    ):
        with pytest.raises(UnwritablePathError, match=reason):
            check_writable(path, None, source)
    check_writable(tmp_path / "file", source, None)
    assert {item.name for item in tmp_path.iterdir()} == {"loop", "input"}
