"""Processor time that is counted across interruptions."""

import subprocess
import sys
import time

import pytest

from softpolytope.paper.tables._stopwatch import Stopwatch

# Works for one second, and is killed without notice.
INTERRUPTED = """
import os, sys, time
from pathlib import Path
from softpolytope.paper.tables._stopwatch import Stopwatch
Stopwatch.WRITE_SECONDS = 0.1
with Stopwatch(Path(sys.argv[1])):
    end = time.process_time() + 1.0
    while time.process_time() < end:
        pass
    time.sleep(0.5)
    os._exit(9)
"""


def work(seconds):
    """Use the processor."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@pytest.mark.slow
def test_time_of_a_killed_process_counts(tmp_path):
    """The time it used until the last write is in the file, and the next stopwatch starts there."""
    path = tmp_path / "of a fit" / "seconds.txt"
    start = time.monotonic()
    command = [sys.executable, "-c", INTERRUPTED, str(path)]
    killed = subprocess.run(command, check=False)  # noqa: S603  # our own script
    assert killed.returncode == 9
    earlier = float(path.read_text())
    assert 0.5 < earlier < time.monotonic() - start + 0.1
    with Stopwatch(path) as watch:
        work(0.3)
        assert watch.seconds == pytest.approx(earlier + 0.3, abs=0.2)
    assert float(path.read_text()) >= earlier + 0.3
    assert [file.name for file in path.parent.iterdir()] == ["seconds.txt"]


def test_sleep_does_not_count_and_no_file_is_needed():
    """Processor time is measured, not wall-clock time."""
    with Stopwatch() as watch:
        time.sleep(0.5)
        assert watch.seconds < 0.4
