"""Jobs in processes of their own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from jobs import leave_file

from softpolytope.paper._jobs import Job, TimeLeft, run_jobs

SCRIPT = """
import sys
from pathlib import Path
from softpolytope.paper._jobs import Job, run_jobs

def work(folder, name):
    import os, time
    from pathlib import Path
    (Path(folder) / name).write_text(str(os.getpid()))
    time.sleep(600)

if __name__ == "__main__":
    list(run_jobs([Job(name, 1.0, work, (sys.argv[1], name)) for name in "ab"], 2))
"""


def is_alive(process):
    """Whether there is such a process, and it has not ended."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"


@pytest.mark.parametrize("n_processes", [1, 2])
def test_every_job_is_run_once(n_processes, tmp_path):
    """Each leaves its file, and is given back with its time."""
    jobs = [Job(str(i), 1.0, leave_file, (tmp_path / str(i), str(2 * i))) for i in range(5)]
    done = list(run_jobs(jobs, n_processes))
    assert sorted(item.job.name for item in done) == [job.name for job in jobs]
    assert all(item.seconds >= 0.0 for item in done)
    assert {item.remark for item in done} == {"written"}
    assert [int((tmp_path / str(i)).read_text()) for i in range(5)] == [0, 2, 4, 6, 8]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes where Linux has them")
@pytest.mark.parametrize("ended_by", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.slow)])
def test_processes_end_with_the_command(ended_by, tmp_path):
    """However the command is ended, nobody goes on with a job of hours, into files that the next run writes too."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = subprocess.Popen([sys.executable, str(script), str(tmp_path)])  # noqa: S603  # our own script
    files = [tmp_path / name for name in "ab"]
    try:
        deadline = time.monotonic() + 120
        while not all(file.exists() and file.read_text() for file in files):
            assert time.monotonic() < deadline, "no job has begun"
            assert command.poll() is None
            time.sleep(0.1)
        workers = [int(file.read_text()) for file in files]
        assert all(map(is_alive, workers))
    finally:
        command.send_signal(ended_by)
        command.wait()
    deadline = time.monotonic() + 60
    while any(map(is_alive, workers)):
        assert time.monotonic() < deadline, "a worker outlived its command"
        time.sleep(0.1)


def test_time_left_of_jobs_that_cannot_be_shared():
    """Two processes share jobs; one that is left alone takes its time on one of them."""
    jobs = [Job(name, seconds, print, ()) for name, seconds in (("a", 10.0), ("b", 10.0), ("c", 10.0), ("d", 60.0))]
    left = TimeLeft(jobs, 2)
    assert left.after(jobs[0], 20.0) == pytest.approx(2.0 * 60.0)
    left = TimeLeft(jobs[:3], 2)
    assert left.after(jobs[0], 20.0) == pytest.approx(2.0 * 10.0)
    assert left.after(jobs[1], 20.0) == pytest.approx(2.0 * 10.0)
    assert left.after(jobs[2], 20.0) == 0.0
