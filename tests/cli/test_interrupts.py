"""Ctrl-C while `softpolytope fit` is under way: exit code 130, the old file, and nothing besides."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest
from tables import HEADER, customers, write_csv

from softpolytope.cli import main

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

OLD = b"an earlier model"
# A shell's background jobs ignore Ctrl-C, and what they start does too.
HEARING = "import os, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
MAIN = "from softpolytope.cli import main; sys.exit(main(sys.argv[1:]))\n"
# Leaves a file called "sweeps" or "optimizations" once there is one.
TELLING = """
from pathlib import Path
from softpolytope.parallel._threads import Reporting
report = Reporting.report
def mark(self, progress):
    Path(os.environ["MARKS"], progress.unit).touch()
    report(self, progress)
Reporting.report = mark
"""
LONG = ("--sweeps", "1000000")
FITS = {
    "map": ("--inference", "map", "--max-experts", "60", "--layers", "9"),
    "map, all rows": ("--inference", "map", "--max-experts", "60", "--layers", "9", "--test-size", "0"),
    "gibbs": ("--inference", "gibbs", *LONG),
    "gibbs, all rows": ("--inference", "gibbs", "--test-size", "0", *LONG),
    "two threads": ("--inference", "gibbs", "--jobs", "2", *LONG),
    "three classes": ("--inference", "gibbs", "--target", "kind", "--features", "age,income", *LONG),
}


@pytest.fixture
def folder(tmp_path):
    """A table, and a model of before; besides them the command's messages."""
    rows = [[*row, "abc"[number % 3]] for number, row in enumerate(customers())]
    work = tmp_path / "work"
    work.mkdir()
    write_csv(work / "train.csv", rows, [*HEADER, "kind"])
    (work / "model").write_bytes(OLD)
    return work


def command(folder, *more):
    """Arguments of a fit."""
    output = ("-o", str(folder / "model"))
    columns = () if "--features" in more else ("--target", "buys", "--drop", "id,when,kind")
    return ["fit", str(folder / "train.csv"), *columns, "--jobs", "1", *output, *more]


def started(code, arguments, folder):
    """Start a command, alone in its session."""
    with (folder.parent / "out").open("wb") as out, (folder.parent / "err").open("wb") as err:
        return subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", HEARING + code, *arguments],
            stdout=out,
            stderr=err,
            env=os.environ | {"MARKS": str(folder.parent)},
            start_new_session=True,
        )


def under_way(arguments, folder):
    """Start a command and wait for its first sweep or climb."""
    run = started(TELLING + MAIN, arguments, folder)
    unit = "sweeps" if "gibbs" in arguments else "optimizations"
    while not (folder.parent / unit).exists() and run.poll() is None:
        time.sleep(0.01)
    return run


def interrupted(run, folder):
    """Press Ctrl-C; returns the exit code and what was printed and told."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(run.pid, signal.SIGINT)
    code = run.wait(timeout=120)
    return code, (folder.parent / "out").read_text(), (folder.parent / "err").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("kind", FITS)
def test_an_interrupted_fit_changes_nothing(kind, folder):
    """Exit code 130, no traceback, no score, the old file to the byte, no file besides."""
    names = {path.name for path in folder.iterdir()}
    run = under_way(command(folder, *FITS[kind]), folder)
    code, printed, told = interrupted(run, folder)
    assert code == 130, told
    assert "Traceback" not in told
    assert told.rstrip().endswith("stopped")
    assert "log-loss" not in printed
    assert "Written" not in printed
    assert (folder / "model").read_bytes() == OLD
    assert {path.name for path in folder.iterdir()} == names


@pytest.mark.slow
@pytest.mark.parametrize("module", ["numpy", "sklearn", "softpolytope.tabular"])
def test_an_interrupt_during_the_imports_is_quiet(module, folder):
    """They take seconds, and a user who has seen a typo does not wait for them."""
    # Ctrl-C is pressed by the import of a module, so that it is in the middle of them for certain.
    code = (
        "class Finder:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    run = started(code + MAIN, command(folder), folder)
    assert run.wait(timeout=120) == 130
    assert (folder.parent / "out").read_text() == ""
    assert (folder.parent / "err").read_text() == "stopped\n"
    assert (folder / "model").read_bytes() == OLD


@pytest.mark.slow
def test_an_interrupted_fit_goes_on(folder, capsys):
    """With a checkpoint the same command again goes on, and gives the model of one run."""

    def chains(*more):
        checkpoint = ("--checkpoint", str(folder / "chains"))
        gibbs = ("--test-size", "0", "--inference", "gibbs", "--sweeps", "1500")
        return command(folder, *gibbs, "--classifier", "sum", *checkpoint, *more)

    run = under_way(chains(), folder)
    code, _, told = interrupted(run, folder)
    assert code == 130, told
    assert (folder / "model").read_bytes() == OLD
    assert list((folder / "chains").rglob("*.npz"))
    assert not list(folder.rglob(".*"))
    assert main(chains("--quiet")) == 0
    resumed = (folder / "model").read_bytes()
    (folder / "chains").rename(folder / "earlier")
    assert main(chains("--quiet")) == 0
    assert (folder / "model").read_bytes() == resumed
    assert main(chains("--quiet", "--seed", "5")) == 2
    assert "was written by a run with other data, settings, start or seed" in capsys.readouterr().err
