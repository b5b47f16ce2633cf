"""Runs of chains: the same draws whatever the threads, stops and resumptions."""

import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from chains import MOVES, circle_rows, digest, settings
from scipy import sparse

from softpolytope.data._dataset import InMemoryDataset
from softpolytope.exceptions import CheckpointError
from softpolytope.gibbs._run import RunResult, run_chains
from softpolytope.gibbs._state import GibbsState
from softpolytope.gibbs._sweep import Moves
from softpolytope.inspection._diagnostics import diagnose, in_words
from softpolytope.parallel import RunOptions
from softpolytope.parallel._checkpoint import CheckpointPlan


@pytest.mark.parametrize("moves", MOVES)
def test_threads_do_not_change_a_draw(moves):
    """One, two and four threads give the same numbers, with chains on threads and with blocks on threads."""
    rows = circle_rows()
    for n_chains in (1, 3):
        runs = [
            digest(run_chains(rows, settings(moves, 12), 7, n_chains, (0, 1), RunOptions(n_threads=n)))
            for n in (1, 2, 4, 8)
        ]
        assert len(set(runs)) == 1
    assert digest(run_chains(rows, settings(moves, 12), 8, 3, (0, 1))) not in runs


def test_chains_alone_and_together():
    """A chain gives the same draws alone and among others; different chains and labelings differ."""
    rows = circle_rows()
    together = run_chains(rows, settings(), 7, 3, (0, 1))
    alone = run_chains(rows, settings(), 7, 1, (0,))
    assert together.traces[0][0].log_likelihood == alone.traces[0][0].log_likelihood
    traces = [tuple(trace.log_likelihood) for labeling in together.traces for trace in labeling]
    assert len(set(traces)) == 6


@pytest.mark.parametrize("moves", MOVES)
def test_order_and_repetition_of_rows_do_not_change_a_draw(moves, rng):
    """Shuffled rows, and rows given as repeats or as weights, give the very same draws."""
    design = np.column_stack([np.ones(60), rng.integers(-2, 3, (60, 2))]).astype(float)
    labels = rng.random(60) < 0.5
    order = rng.permutation(120)
    twice = InMemoryDataset.from_arrays(np.repeat(design, 2, axis=0)[order], np.repeat(labels, 2)[order])
    weighted = InMemoryDataset.from_arrays(design, labels, np.full(60, 2.0))
    plan = settings(moves)
    assert digest(run_chains(twice, plan, 3)) == digest(run_chains(weighted, plan, 3))


@pytest.mark.parametrize("moves", MOVES)
def test_sparse_agrees_with_dense(moves, rng):
    """Dense and CSR designs give the same draws over 50 sweeps: up to 48 columns, the very same bits."""
    design = np.where(rng.random((1500, 5)) < 0.6, 0.0, rng.normal(size=(1500, 5)))
    design[:, 0] = 1.0
    labels = design[:, 1] + design[:, 2] + 0.3 * rng.normal(size=1500) > 0.2
    plan = settings(moves, 50, n_burn_in=10, n_draws=1)
    dense = run_chains(InMemoryDataset.from_arrays(design, labels), plan, 5)
    thin = run_chains(InMemoryDataset.from_arrays(sparse.csr_array(design), labels), plan, 5)
    assert digest(dense) == digest(thin)


@pytest.mark.parametrize("moves", MOVES)
def test_wide_sparse_agrees_with_dense(moves, rng):
    """With more columns the sums run in another order: one sweep agrees to 1e-10."""
    design = np.where(rng.random((300, 70)) < 0.8, 0.0, rng.normal(size=(300, 70)))
    design[:, 0] = 1.0
    labels = design[:, 1] + design[:, 2] + 0.3 * rng.normal(size=300) > 0.2
    plan = settings(moves, 2, n_burn_in=1, n_draws=1)
    dense = run_chains(InMemoryDataset.from_arrays(design, labels), plan, 5).traces[0][0]
    thin = run_chains(InMemoryDataset.from_arrays(sparse.csr_array(design), labels), plan, 5).traces[0][0]
    assert np.allclose(dense.log_likelihood, thin.log_likelihood, rtol=1e-10)
    assert np.allclose(dense.draws[0].coefficients, thin.draws[0].coefficients, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("moves", MOVES)
def test_resuming_changes_nothing(moves, tmp_path):
    """A run stopped by its callback at several places and resumed gives the draws of an unbroken one."""
    rows, plan = circle_rows(), settings(moves, prune_at=(12, 20) if moves == "paper" else ())
    unbroken = digest(run_chains(rows, plan, 7, 2, (0, 1)))
    files = CheckpointPlan(tmp_path, every_sweeps=5)
    for stop in (3, 11, 17, 26):
        options = RunOptions(callback=lambda progress, stop=stop: progress.n_done >= stop, checkpoint=files)
        assert not run_chains(rows, plan, 7, 2, (0, 1), options).is_complete
    finished = run_chains(rows, plan, 7, 2, (0, 1), RunOptions(checkpoint=files))
    assert finished.is_complete
    assert digest(finished) == unbroken


# Imports once what takes seconds to import; the runs that are killed are its children.
KILLED_RUNS = """
import os, random, signal, sys, time
from pathlib import Path
sys.path[:0] = [sys.argv[1], str(Path(sys.argv[1]).parent)]
folder, n_kills, chance = Path(sys.argv[2]), 0, random.Random(int(sys.argv[3]))
from test_run import *

def run():
    options = RunOptions(checkpoint=CheckpointPlan(folder, every_sweeps=1))
    return digest(run_chains(circle_rows(), settings("paper", 400), 7, 1, (0, 1), options))

def last_write():
    return max((path.stat().st_mtime_ns for path in folder.glob("*.npz")), default=0)

while n_kills < 20:
    before, child = last_write(), os.fork()
    if child == 0:
        run()
        os._exit(0)
    while last_write() <= before:
        time.sleep(0.001)
    # At a random place after the first new write.
    time.sleep(chance.uniform(0.0, 0.01))
    os.kill(child, signal.SIGKILL)
    if not os.WIFSIGNALED(os.waitpid(child, 0)[1]):
        break  # it was faster
    n_kills += 1
print(n_kills, run(), len(list(folder.glob(".*"))))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="processes of POSIX")
def test_kill_nine_at_random_moments(tmp_path, rng):
    """After 20 kills at random moments, many in a write, the run resumes to the unbroken one's hash, and cleans up."""
    unbroken = digest(run_chains(circle_rows(), settings("paper", 400), 7, 1, (0, 1)))
    tests, seed = os.path.dirname(__file__), str(rng.integers(2**31))  # noqa: PTH120
    command = [sys.executable, "-c", KILLED_RUNS, tests, str(tmp_path), seed]
    run = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert run.stdout.split() == ["20", unbroken, "0"]


def test_foreign_or_damaged_checkpoints_are_refused(tmp_path):
    """A checkpoint of another seed, and a truncated one, raise errors that name the file."""
    rows, plan = circle_rows(), settings()
    options = RunOptions(checkpoint=CheckpointPlan(tmp_path))
    run_chains(rows, plan, 7, options=options)
    with pytest.raises(CheckpointError, match=r"labeling0-chain0\.npz was written by a run with other"):
        run_chains(rows, plan, 8, options=options)
    file = tmp_path / "labeling0-chain0.npz"
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(CheckpointError, match="not a readable checkpoint"):
        run_chains(rows, plan, 7, options=options)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_interrupt_leaves_a_usable_result(n_threads):
    """Ctrl-C ends the run after the sweeps under way, and what was sampled is returned."""

    def interrupt(progress):
        if progress.n_done == 20 and progress.labeling == 0:
            signal.raise_signal(signal.SIGINT)

    plan = settings(n_sweeps=5000, n_burn_in=5, n_draws=1000)
    result = run_chains(circle_rows(), plan, 1, 1, (0, 1), RunOptions(n_threads=n_threads, callback=interrupt))
    assert not result.is_complete
    assert result.is_interrupted
    trace = result.traces[0][0]
    assert 20 <= trace.n_sweeps < 4000
    assert trace.best is not None
    assert len(trace.draws) >= 1


@pytest.mark.parametrize("n_threads", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_an_interrupted_run_resumes_to_the_same_draws(n_threads, tmp_path):
    """Ctrl-C tears no sweep in two: what is written after it goes on as if nothing had happened."""

    def interrupt(progress):
        if progress.n_done == 20 and progress.labeling == 0:
            signal.raise_signal(signal.SIGINT)

    rows, plan = circle_rows(), settings("paper", n_sweeps=400, n_burn_in=5, n_draws=10)
    unbroken = digest(run_chains(rows, plan, 1, 1, (0, 1)))
    files = CheckpointPlan(tmp_path, every_sweeps=7)
    stopped = run_chains(rows, plan, 1, 1, (0, 1), RunOptions(n_threads, interrupt, files))
    assert not stopped.is_complete
    assert digest(run_chains(rows, plan, 1, 1, (0, 1), RunOptions(n_threads, checkpoint=files))) == unbroken


@pytest.mark.parametrize("label", [True, False])
def test_both_labels_are_needed(label):
    """One label only is refused, by name."""
    rows = InMemoryDataset.from_arrays(np.ones((3, 1)), np.full(3, label))
    with pytest.raises(ValueError, match="negative row" if label else "positive row"):
        run_chains(rows, settings(), 0)


@pytest.mark.slow
def test_a_stuck_chain_is_flagged():
    """Three chains from their own starts agree; one held in a worse mode by too small steps is named."""
    rows = circle_rows(300)
    plan = settings(n_sweeps=1500, n_burn_in=500, n_draws=1)
    free = run_chains(rows, plan, 3, 3)
    assert diagnose(free.label_free(0, 500))[0].is_fine
    # One expert takes all the weight; the others have weights from which they cannot come back without the refresh.
    start = GibbsState(
        np.zeros((4, 2, 3)), np.ones((4, 2, 3)), np.ones((4, 2)), np.array([0.0, -900.0, -900.0, -900.0]), 1e-3, 1.0
    )
    held = Moves(refresh=False, fit_weights=False)
    stuck = run_chains(rows, replace(plan, moves=held), 3, 1, start=start)
    together = RunResult([[*free.traces[0], *stuck.traces[0]]], is_complete=True)
    found = {item.name: item for item in diagnose(together.label_free(0, 500))}
    assert found["log-likelihood"].odd_chains == (3,)
    assert any("without chain 3" in sentence for sentence in in_words(list(found.values())))
