"""Checkpoints: their cost, and leftovers of killed writers."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from partitioned import sha
from sklearn.datasets import make_moons

from softpolytope import SumStackSoftplusClassifier
from softpolytope import _files as files_module
from softpolytope._files import ScratchFolder, atomic_write
from softpolytope.optimize import _checkpoints as mode_checkpoints
from softpolytope.parallel import _checkpoint as checkpoint_module
from softpolytope.parallel._checkpoint import CheckpointPlan

posix = pytest.mark.skipif(sys.platform == "win32", reason="locks of POSIX")

FITS = {
    "map": {"inference": "map", "n_restarts": 10},
    "bootstrap": {"n_members": 12},
    "collapsed": {"inference": "gibbs", "n_chains": 4, "n_sweeps": 20},
    "paper": {"inference": "gibbs", "scan": "paper", "start": "random", "n_chains": 4, "n_sweeps": 20},
}
ROWS = make_moons(200, noise=0.2, random_state=0)


def fitted(kind, folder):
    """Return a small fitted model."""
    settings = {"max_experts": 4, "random_state": 0, "checkpoint": folder} | FITS[kind]
    return SumStackSoftplusClassifier(**settings).fit(*ROWS)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", FITS)
def test_short_fits_wait_for_the_disk_once_a_second(kind, tmp_path, monkeypatch):
    """A run waits for the disk once, and once more every second; a search for modes has one file."""
    n_synced, sync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: n_synced.append(file) or sync(file))
    start = time.monotonic()
    fitted(kind, tmp_path)
    n_runs = 2 if kind == "collapsed" else 1  # its chains start at modes
    assert 1 <= len(n_synced) <= n_runs + time.monotonic() - start
    files = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert files.count("modes.npz") == (kind != "paper")
    assert len(files) == (kind != "paper") + (0 if kind in ("map", "bootstrap") else 8)
    # Nothing is written where nothing is new.
    n_synced.clear()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz")}
    fitted(kind, tmp_path)
    assert not n_synced
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz")} == before


def test_long_runs_sync_all_their_files(tmp_path, monkeypatch):
    """Eight chains that are due together after a minute may all wait for the disk."""
    clock = [0.0]
    monkeypatch.setattr(checkpoint_module.time, "monotonic", lambda: clock[0])
    n_synced = []
    monkeypatch.setattr(os, "fsync", n_synced.append)
    files = CheckpointPlan(tmp_path).open_folder(".")
    chains = [files.for_chain(0, number) for number in range(8)]
    for minute in (1, 2):
        clock[0] = 60.0 * minute
        assert all(chain.is_due(5) for chain in chains)
        for chain in chains:
            chain.write({}, "", 5)
        assert len(n_synced) == 8 * minute
        assert not any(chain.is_due(5) for chain in chains)


def test_files_that_take_long_are_written_less_often(tmp_path, monkeypatch):
    """A file that takes ten seconds is due after two hundred, so that writing takes a twentieth of the time."""
    clock = [0.0]
    monkeypatch.setattr(checkpoint_module.time, "monotonic", lambda: clock[0])
    chain = CheckpointPlan(tmp_path).open_folder(".").for_chain(0, 0)
    clock[0] = 70.0
    chain.write({}, "", 5, start=60.0)
    for elapsed, is_due in ((190.0, False), (201.0, True)):
        clock[0] = 70.0 + elapsed
        assert chain.is_due(5) == is_due


def test_an_empty_file_is_none(tmp_path):
    """After a power cut, an empty file counts as no checkpoint."""
    (tmp_path / "labeling0-chain0.npz").touch()
    assert CheckpointPlan(tmp_path).open_folder(".").for_chain(0, 0).read("") is None


KILLED = """
import os, signal, sys
from pathlib import Path
from softpolytope._files import ScratchFolder, atomic_write
scratch = ScratchFolder()
with atomic_write(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    print(scratch.path, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def killed_while_writing(path):
    """Kill a process while it writes a file; return its scratch folder."""
    run = subprocess.run([sys.executable, "-c", KILLED, str(path)], capture_output=True, text=True, check=False)  # noqa: S603
    assert run.returncode == -signal.SIGKILL, run.stderr
    return Path(run.stdout.strip())


@posix
def test_leftovers_of_the_dead_are_removed_and_those_of_the_living_stay(tmp_path, monkeypatch):
    """A new run removes files of killed writers from its folder, but not files being written or other files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    folder = tmp_path / "files"
    folder.mkdir()
    for name in ("modes.npz", "labeling0-chain3.npz"):
        killed_while_writing(folder / name)
    others = {".modes.npz.backup", ".model.0123456789abcdef", ".notes.npz.0123456789abcdef"}
    for name in others:
        (folder / name).write_bytes(b"someone's")
    assert len(list(folder.iterdir())) == 5
    with atomic_write(folder / "modes.npz") as file:
        file.write(b"whole")
        assert len(list(folder.iterdir())) == 6
        CheckpointPlan(folder).open_folder(".")
        assert len(list(folder.iterdir())) == 4
    assert (folder / "modes.npz").read_bytes() == b"whole"
    assert {path.name for path in folder.iterdir()} == {"modes.npz", *others}


@posix
def test_scratch_folders_of_the_dead_are_removed(tmp_path, monkeypatch):
    """A new scratch folder removes those of killed processes, but not those in use or with a similar name."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(files_module.tempfile, "tempdir", None)
    (tmp_path / "softpolytope-scratch-notes").mkdir()
    (tmp_path / "softpolytope-rescued").mkdir()
    in_use = ScratchFolder()
    dead = killed_while_writing(tmp_path / "modes.npz")
    assert dead.exists()
    assert in_use.path.exists()
    another = ScratchFolder()
    assert not dead.exists()
    assert in_use.path.exists()
    for folder in (in_use, another):
        folder.remove()
    left = {path.name for path in tmp_path.iterdir() if path.is_dir()}
    assert left == {"softpolytope-scratch-notes", "softpolytope-rescued"}
    monkeypatch.setattr(files_module.tempfile, "tempdir", None)


def test_a_writer_whose_new_file_was_taken_for_a_leftover_begins_another(tmp_path, monkeypatch):
    """A file removed between its creation and its lock is created again."""
    lock, removed = files_module._lock, []

    def late(file):
        if not removed:
            removed.append(Path(file.name))
            removed[0].unlink()
        return lock(file)

    monkeypatch.setattr(files_module, "_lock", late)
    with atomic_write(tmp_path / "file") as file:
        file.write(b"whole")
    assert removed
    assert (tmp_path / "file").read_bytes() == b"whole"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


# Imports once what takes seconds to import; the fits that are killed are its children.
KILLED_FITS = """
import os, random, signal, sys, time
from pathlib import Path
sys.path[:0] = sys.argv[1:3]
from test_checkpoint import mode_checkpoints, fitted, sha
folder, kind, chance, n_kills = Path(sys.argv[3]), sys.argv[4], random.Random(int(sys.argv[5])), 0
mode_checkpoints.SECONDS_BETWEEN_WRITES = 0.0

while n_kills < 12:
    child = os.fork()
    if child == 0:
        fitted(kind, folder)
        os._exit(0)
    time.sleep(chance.uniform(0.0, 0.15))
    os.kill(child, signal.SIGKILL)
    if not os.WIFSIGNALED(os.waitpid(child, 0)[1]):
        break  # it was faster
    n_kills += 1
print(n_kills, sha(fitted(kind, folder)), len([path for path in folder.rglob(".*")]))
"""


@pytest.mark.slow
@posix
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", FITS)
def test_killed_fits_resume_to_the_same_bits_and_leave_nothing(kind, tmp_path, rng):
    """After kills at random moments, the last fit has the hash of an uninterrupted one."""
    here = Path(__file__).parent
    command = [sys.executable, "-W", "ignore", "-c", KILLED_FITS, str(here), str(here.parent), str(tmp_path)]
    run = subprocess.run(  # noqa: S603
        [*command, kind, str(rng.integers(2**31))], capture_output=True, text=True, check=True
    )
    n_kills, found, n_left = run.stdout.split()
    assert int(n_kills) > 0
    assert found == sha(fitted(kind, None))
    assert n_left == "0"


def test_optimizations_are_kept_to_the_bit(tmp_path):
    """Modes of different sizes, and of no experts, survive a round trip."""
    rng = np.random.default_rng(0)
    plan = CheckpointPlan(tmp_path)
    log = mode_checkpoints.ModeCheckpoints(plan, "one", lambda: "the same")
    assert log.find("optimization0") is None
    results = {
        f"optimization{number}": mode_checkpoints.OptimizedMode(
            mode_checkpoints.Mode(rng.standard_normal((number + 1, 2, 3)), rng.standard_normal(number + 1)),
            -1.5 * number,
            1,
        )
        for number in range(4)
    }
    for name, result in results.items():
        log.add(name, result)
    log.close()
    again = mode_checkpoints.ModeCheckpoints(plan, "one", lambda: "the same")
    for name, result in results.items():
        found = again.find(name)
        assert np.array_equal(found.mode.coefficients, result.mode.coefficients)
        assert np.array_equal(found.mode.log_weights, result.mode.log_weights)
        assert (found.log_likelihood, found.n_experts) == (result.log_likelihood, result.n_experts)
