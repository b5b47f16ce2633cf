"""Progress on a terminal, in a log file, and over hours."""

import io
import os
import subprocess

import pytest
from commands import ENVIRONMENT, command_line, softpolytope

from softpolytope.estimators import _callbacks
from softpolytope.estimators._callbacks import ProgressLine
from softpolytope.parallel._threads import Progress


class Terminal(io.StringIO):
    """Text that says it is shown on a terminal."""

    def isatty(self):
        """Say so."""
        return True


def written(monkeypatch, out, seconds, n_steps=10_000):
    """What a fit of so many seconds writes, by a clock that goes on with every step."""
    now = 0.0
    monkeypatch.setattr(_callbacks.time, "monotonic", lambda: now)
    line = ProgressLine(1, out)
    for step in range(n_steps):
        now = seconds * (step + 1) / n_steps
        line(Progress(0, 0, step + 1, n_steps, "sweeps", -1.0, 2))
    return out.getvalue()


@pytest.mark.parametrize(("seconds", "n_lines"), [(5.0, 1), (60.0, 3), (3600.0, 11), (36_000.0, 65)])
def test_a_log_file_gets_few_lines(monkeypatch, seconds, n_lines):
    """After 10, 30, 70, ... seconds, then every ten minutes, and at the end; none is written over another."""
    lines = written(monkeypatch, io.StringIO(), seconds).splitlines(keepends=True)
    assert len(lines) == n_lines
    assert all(line.endswith("experts\n") and "\r" not in line for line in lines)
    assert lines[-1].startswith("100% of 10000 sweeps, 0 s left")


def test_a_terminal_is_kept_up_to_date(monkeypatch):
    """Five times a second, over the same line, which ends when the fit does."""
    text = written(monkeypatch, Terminal(), 60.0)
    assert text.count("\r") == pytest.approx(300, abs=5)
    assert text.count("\n") == 1
    assert text.endswith("\n")


def test_steps_after_the_last_write_nothing(monkeypatch):
    """A search that makes more climbs than announced has one last line."""
    out = io.StringIO()
    monkeypatch.setattr(_callbacks.time, "monotonic", lambda: 0.0)
    line = ProgressLine(1, out)
    for step in range(1, 9):
        line(Progress(0, 0, step, 5, "optimizations", -1.0, 2))
    assert out.getvalue().count("\n") == 1


@pytest.fixture
def table(tmp_path):
    """A table that takes a second or two to learn from."""
    run = softpolytope("datasets", "make", "double_moon", "--samples", "600", "-o", "moons.csv", folder=tmp_path)
    assert run.returncode == 0
    return tmp_path


@pytest.mark.slow
def test_the_command_writes_few_lines_to_a_file(table):
    """One for each of the two fits, which take seconds here."""
    run = softpolytope("fit", "moons.csv", "--target", "y", "-o", "m", folder=table)
    assert run.returncode == 0
    assert "\r" not in run.stderr
    lines = run.stderr.splitlines()
    assert 2 <= len(lines) <= 8  # on a machine that takes minutes for it
    assert sum(line.startswith("100% of ") for line in lines) == 2


def parts(terminal):
    """What is shown on a terminal until the program on it ends."""
    with os.fdopen(terminal, "rb", buffering=0) as screen:
        try:
            while part := screen.read(4096):
                yield part
        except OSError:  # Linux says so at the end
            pass


@pytest.mark.slow
def test_the_command_shows_progress_on_a_terminal(table):
    """The line is written over on a real one."""
    ours, theirs = pytest.importorskip("pty").openpty()
    command = command_line("fit", "moons.csv", "--target", "y", "--test-size", "0", "-o", "m")
    run = subprocess.Popen(command, cwd=table, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=theirs)  # noqa: S603
    os.close(theirs)
    shown = b"".join(parts(ours))
    assert run.wait(60) == 0
    assert shown.startswith(b"\r")
    assert b"\r100% of " in shown
