"""Output that is closed before its end, as by `| head`, and output that nobody ever wanted."""

import os
import subprocess
from pathlib import Path

import pytest
from commands import ENVIRONMENT, command_line
from tables import HEADER, customers, fitted, write_csv

# A script sees 128 + SIGPIPE, as of `cat`.
CLOSED = 141


@pytest.fixture
def folder(tmp_path):
    """A model, a table, and a table with more predictions than a pipe holds."""
    fitted().save(tmp_path / "m")
    write_csv(tmp_path / "d.csv", customers(240)[120:])  # rows that the model was not trained on
    (tmp_path / "long.csv").write_text(",".join(HEADER) + "\n" + "x,30,20,red,2024-01-01,1,no\n" * 30_000)
    return tmp_path


def started(folder, *arguments, **more):
    """The command with pipes for its output, or what else is wanted."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": ENVIRONMENT} | more
    return subprocess.Popen(command_line(*arguments), cwd=folder, text=True, **pipes)  # noqa: S603


@pytest.mark.parametrize(
    ("more", "unbuffered"),
    [
        ([], {}),
        pytest.param(["--json"], {}, marks=pytest.mark.slow),
        pytest.param([], {"PYTHONUNBUFFERED": "1"}, marks=pytest.mark.slow),
    ],
)
def test_the_first_lines_are_enough(folder, more, unbuffered):
    """As in `predict --proba | head`: it ends without a word, whether or not Python collects its output."""
    run = started(folder, "predict", "m", "long.csv", "--proba", *more, env=ENVIRONMENT | unbuffered)
    assert "P(no)" in run.stdout.readline() or more
    run.stdout.close()
    assert run.stderr.read() == ""
    run.stderr.close()
    assert run.wait(60) == CLOSED


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["predict", "--help"],
        ["predict", "m", "d.csv"],
        ["datasets", "list"],
        pytest.param(["--version"], marks=pytest.mark.slow),
        pytest.param(["evaluate", "m", "d.csv"], marks=pytest.mark.slow),
        pytest.param(["explain", "m", "d.csv"], marks=pytest.mark.slow),
        pytest.param(["export", "m", "--to", "python"], marks=pytest.mark.slow),
        pytest.param(["report", "m", "d.csv", "-o", "r.html"], marks=pytest.mark.slow),
        pytest.param(["datasets", "make", "xor"], marks=pytest.mark.slow),
    ],
)
def test_nobody_reads(folder, arguments):
    """A pipe that is closed from the start: every command ends in the same way, also where all fits into one write."""
    read, write = os.pipe()
    os.close(read)
    run = started(folder, *arguments, stdout=write)
    os.close(write)
    assert run.communicate(timeout=60)[1] == ""
    assert run.returncode == CLOSED


def test_nobody_reads_the_messages(folder):
    """Nor what goes to standard error, as in `2>&1 | head`."""
    read, write = os.pipe()
    os.close(read)
    run = started(folder, "predict", "m", "no.csv", stdout=write, stderr=write)
    os.close(write)
    assert run.wait(60) == CLOSED


@pytest.mark.slow
def test_errors_are_told_though_nobody_reads_the_output(folder):
    """A closed pipe is not the reason of a failure before it."""
    read, write = os.pipe()
    os.close(read)
    run = started(folder, "predict", "m", "no.csv", stdout=write)
    os.close(write)
    assert "no.csv cannot be read" in run.communicate(timeout=60)[1]
    assert run.returncode == 2


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is full")
def test_a_full_disk_is_told(folder):
    """In one line: what fails when the rest of the output is written is not a traceback either."""
    with Path("/dev/full").open("w") as full:
        run = started(folder, "predict", "m", "d.csv", stdout=full)
        assert run.communicate(timeout=60)[1] == "softpolytope: the system: No space left on device.\n"
    assert run.returncode == 2


@pytest.mark.slow
def test_output_that_was_closed_by_the_user(folder):
    """As in `>&-`: Python then has no standard output, and predictions have nowhere to go."""
    command = "exec " + " ".join(command_line("predict", "m", "d.csv")) + " >&-"
    run = subprocess.run(  # noqa: S602
        command, shell=True, cwd=folder, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (2, "softpolytope: standard output is closed. Name a file to write (-o).\n")
