"""Chains: the same draws whatever the threads, stops and resumptions; and what they record."""

import hashlib
import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from softpolytope.data._dataset import InMemoryDataset
from softpolytope.distributions import SweepStreams
from softpolytope.distributions._streams import Streams
from softpolytope.exceptions import CheckpointError
from softpolytope.gibbs._block_factory import LatentBlockFactory
from softpolytope.gibbs._chain import Chain, ChainSettings
from softpolytope.gibbs._latent_block import LatentBlock
from softpolytope.gibbs._run import RunResult, run_chains
from softpolytope.gibbs._state import GibbsState
from softpolytope.gibbs._sweep import Moves
from softpolytope.gibbs._trace import Schedule
from softpolytope.inspection._diagnostics import diagnose, in_words
from softpolytope.model._prior import Prior
from softpolytope.paper import paper_settings
from softpolytope.parallel import RunOptions
from softpolytope.parallel._blocks import SerialBlocks
from softpolytope.parallel._checkpoint import CheckpointPlan

PRIOR = Prior(precision_shape=1.0, precision_rate=1.0)
MOVES = {
    "paper": Moves("paper", hamiltonian_steps=0, refresh=False),
    "collapsed": Moves("collapsed", polya_gamma=True, hamiltonian_steps=0),
    "default": Moves(),
    "all": Moves("collapsed", polya_gamma=True),
}


def circle_rows(n_rows=120, block_rows=32):
    """A ring around a disc."""
    rng = np.random.default_rng(1)
    angle, radius = rng.uniform(0, 2 * np.pi, n_rows), np.where(np.arange(n_rows) % 2, 2.0, 0.4)
    radius = radius * rng.uniform(0.7, 1.3, n_rows)
    design = np.column_stack([np.ones(n_rows), radius * np.cos(angle), radius * np.sin(angle)])
    return InMemoryDataset.from_arrays(design, np.arange(n_rows) % 2 == 1, block_rows=block_rows)


def settings(moves="default", n_sweeps=30, n_layers=2, **schedule):
    """A small model."""
    plan = {"n_burn_in": n_sweeps // 2, "n_draws": n_sweeps // 3} | schedule
    return ChainSettings(4, n_layers, PRIOR, MOVES[moves], Schedule(n_sweeps, **plan))


def digest(result):
    """Hash of every number a run gives."""
    sha = hashlib.sha256()
    for trace in (trace for labeling in result.traces for trace in labeling):
        for name, array in sorted(trace.to_arrays().items()):
            sha.update(name.encode())
            sha.update(np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()


@pytest.mark.parametrize("moves", MOVES)
def test_threads_do_not_change_a_draw(moves):
    """One, two and four threads give the same numbers, with chains on threads and with blocks on threads."""
    rows = circle_rows()
    for n_chains in (1, 3):
        runs = [
            digest(run_chains(rows, settings(moves), 7, n_chains, (0, 1), RunOptions(n_threads=n)))
            for n in (1, 2, 4, 8)
        ]
        assert len(set(runs)) == 1
    assert digest(run_chains(rows, settings(moves), 8, 3, (0, 1))) not in runs


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
folder, n_kills, chance = Path(sys.argv[2]), 0, random.Random(int(sys.argv[3]))
sys.path.insert(0, sys.argv[1])
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


@pytest.mark.parametrize("n_threads", [1, 2])
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


def test_trace_records_every_sweep():
    """Every sweep has a log-likelihood and a number of experts; kept draws are evenly spaced, the best is the best."""
    trace = run_chains(circle_rows(), settings(n_sweeps=40, n_burn_in=10, n_draws=6), 2).traces[0][0]
    assert trace.n_sweeps == len(trace.n_active) == len(trace.mass) == len(trace.acceptance) == 40
    assert [draw.sweep for draw in trace.draws] == [14, 19, 24, 29, 34, 39]
    assert trace.best.log_likelihood == max(trace.log_likelihood[10:])
    assert trace.draws[-1].log_likelihood == trace.log_likelihood[39]


def test_paper_counts_shrink_with_the_level():
    """Latent counts never grow from one level to the next (corollary 15), and pruning keeps those that have some."""
    plan = settings("paper", 60, n_layers=3, n_burn_in=30, n_draws=10, prune_at=(40,))
    trace = run_chains(circle_rows(), plan, 2).traces[0][0]
    for draw in trace.draws:
        assert (np.diff(draw.counts, axis=0) <= 0).all()
    assert len(trace.draws[-1].log_weights) <= 4


def test_any_starting_state_is_taken():
    """A chain starts from the parameters given."""
    rng = np.random.default_rng(0)
    start = GibbsState(rng.normal(size=(3, 2, 3)), np.ones((3, 2, 3)), np.ones((3, 2)), np.zeros(3), 1.0, 1.0)
    trace = run_chains(circle_rows(), settings(), 2, start=start).traces[0][0]
    assert trace.draws[0].coefficients.shape == (3, 2, 3)
    assert start.mass == 1.0


@pytest.mark.parametrize("label", [True, False])
def test_both_labels_are_needed(label):
    """One label only is refused, by name."""
    rows = InMemoryDataset.from_arrays(np.ones((3, 1)), np.full(3, label))
    with pytest.raises(ValueError, match="negative row" if label else "positive row"):
        run_chains(rows, settings(), 0)


@pytest.mark.parametrize("moves", MOVES)
@pytest.mark.parametrize(
    "kind", ["separable", "tiny", "duplicate columns", "constant column", "wide", "1e150", "1e-150", "1e4"]
)
def test_awkward_data_give_finite_results(kind, moves, rng):
    """Separable, tiny, degenerate and wildly scaled data leave every parameter and likelihood finite."""
    n_rows = {"tiny": 2, "wide": 5}.get(kind, 40)
    x = rng.normal(size=(n_rows, 8 if kind == "wide" else 2))
    labels = np.arange(n_rows) % 2 == 0
    if kind == "separable":
        x[:, 0] = np.where(labels, 5.0, -5.0)
    if kind == "duplicate columns":
        x[:, 1] = x[:, 0]
    if kind == "constant column":
        x[:, 1] = 3.0
    if kind.startswith("1e"):
        x *= float(kind)
    rows = InMemoryDataset.from_arrays(np.column_stack([np.ones(n_rows), x]), labels)
    trace = run_chains(rows, settings(moves, 40), 1).traces[0][0]
    assert np.isfinite(trace.log_likelihood).all()
    assert all(np.isfinite(draw.coefficients).all() for draw in trace.draws)


def test_schedule_is_checked():
    """Burn-in and draws that do not fit the sweeps are refused."""
    with pytest.raises(ValueError, match="n_burn_in must"):
        Schedule(10, 10, 1)
    with pytest.raises(ValueError, match="n_draws must"):
        Schedule(10, 5, 6)


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


def test_the_papers_safeguards():
    """Precisions are raised to their floor; latent rates where q is below epsilon are lessened by q / epsilon."""
    rows = circle_rows()
    plan = paper_settings(n_layers=3, max_experts=4, n_sweeps=40, n_draws=1)
    blocks = SerialBlocks(LatentBlockFactory(plan).build(rows, 0))
    chain = Chain(blocks, rows.column_size(), plan, (Streams(0), 0, 0))
    while not chain.is_done:
        chain.advance()
    assert chain.state.precisions.min() >= 1e-3

    def rates(epsilon):
        block = LatentBlock(next(iter(rows.split())), 0, 0, epsilon)
        coefficients = np.full((1, 3, 3), -2.0)
        block.prepare(coefficients)
        block.begin(SweepStreams(Streams(0), 0, 0, sweep=0), np.zeros(1), np.zeros(1, dtype=np.intc), "paper")
        return block

    free, held = rates(0.0), rates(1e-2)
    small = np.exp(free._log_activations[2]) < 1e-2
    assert small.any()
    assert not small.all()
    shares = np.where(small, np.exp(free._log_activations[2]) / 1e-2, 1.0)
    np.testing.assert_allclose(held._latent_rates[2], shares * free._latent_rates[2], rtol=1e-12)


def test_moves_by_name():
    """The two scans, and the better one."""
    assert Moves.of("auto") == Moves.of("collapsed")
    assert Moves.of("paper").scan == "paper"
    with pytest.raises(ValueError, match="scan must be"):
        Moves.of("gibbs")
