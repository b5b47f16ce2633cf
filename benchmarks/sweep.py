"""Measure the cost of a sweep, and the effective draws it yields, on synthetic data.

    python benchmarks/sweep.py --data-home DIR   prints the tables of docs/results/sampler.md; half an hour
    python benchmarks/sweep.py --part threads    one part: fit, cost, breakdown, threads, growth, memory, thin,
                                                 effective or tuning

The unit G is the time NumPy takes to draw 6 x N x K x T gamma variates of shape 0.5 on one core, in the same run.
"""

import argparse
import cProfile
import multiprocessing
import os
import resource
import time
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
from scipy import sparse
from scipy.optimize import nnls
from threadpoolctl import threadpool_limits

from softpolytope.data import InMemoryDataset
from softpolytope.datasets import load_benchmark
from softpolytope.distributions import Streams
from softpolytope.gibbs import ChainSettings, Moves, Schedule, _hamiltonian, run_chains
from softpolytope.gibbs._block_factory import LatentBlockFactory
from softpolytope.gibbs._chain import Chain
from softpolytope.inspection._diagnostics import bulk_ess, r_hat
from softpolytope.model import Prior, positive_probability
from softpolytope.paper import paper_settings
from softpolytope.parallel import RunOptions

PRIOR = Prior()
PROBES = np.column_stack([np.ones(10), np.random.default_rng(7).uniform(-2.5, 2.5, (10, 2))])
SCANS = {
    "paper": Moves.of("paper"),
    "collapsed, Polya-Gamma": Moves("collapsed", polya_gamma=True, hamiltonian_steps=0),
    "collapsed, Hamiltonian (default)": Moves.of("auto"),
}


def moons(n_rows, n_features, seed=0):
    """Two interleaved half circles with noise in the first two features, noise alone in the others."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_rows) % 2 == 1
    angle = rng.uniform(0, np.pi, n_rows)
    x = np.where(labels, 1 - np.cos(angle), np.cos(angle)) + 0.25 * rng.normal(size=n_rows)
    y = np.where(labels, 0.5 - np.sin(angle), np.sin(angle)) + 0.25 * rng.normal(size=n_rows)
    rest = rng.normal(size=(n_rows, n_features - 2))
    return InMemoryDataset.from_arrays(np.column_stack([np.ones(n_rows), x, y, rest]), labels)


def circle(seed=0):
    """The data of the paper's first figure: a ring (label 1) around a disc."""
    rng = np.random.default_rng(seed)
    angle, radius = rng.uniform(0, 2 * np.pi, 150), rng.normal(2.0, 0.5, 150)
    ring = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    rows = np.column_stack([np.ones(300), np.concatenate([ring, rng.normal(0.0, 0.5, (150, 2))])])
    return InMemoryDataset.from_arrays(rows, np.arange(300) < 150)


def yardstick(n_rows, n_experts, n_layers):
    """Return G in seconds."""
    rng = np.random.default_rng(0)
    n_draws = 6 * n_rows * n_experts * n_layers
    times = []
    for _ in range(3):
        start = time.perf_counter()
        rng.standard_gamma(0.5, n_draws)
        times.append(time.perf_counter() - start)
    return min(times)


def seconds_per_sweep(data, moves, n_experts=20, n_layers=5, n_settle=200, n_timed=60):
    """Median time of a sweep of a settled chain, and its experts with counts."""
    settings = ChainSettings(n_experts, n_layers, PRIOR, moves, Schedule(n_settle + n_timed, n_settle, 1))
    with threadpool_limits(1):
        chain = Chain(data.blocks(LatentBlockFactory(settings)), data.column_size(), settings, (Streams(0), 0, 0))
        times = []
        for sweep in range(n_settle + n_timed):
            start = time.perf_counter()
            chain.advance()
            if sweep >= n_settle:
                times.append(time.perf_counter() - start)
    return float(np.median(times)), float(np.mean(chain.trace.n_active[-n_timed:]))


def cost():
    """Compare sweeps of the three scans with G."""
    print("\n| data | scan | ms a sweep | experts with counts | G |\n| --- | --- | --- | --- | --- |")
    for label, data in (("400 x 2", moons(400, 2)), ("1300 x 18", moons(1300, 18))):
        unit = yardstick(data.n_rows, 20, 5)
        for name, moves in SCANS.items():
            seconds, active = seconds_per_sweep(data, moves)
            print(f"| {label}, K = 20, T = 5 | {name} | {seconds * 1e3:.2f} | {active:.1f} | {seconds / unit:.2f} |")


def breakdown():
    """Print the functions that take most of the time of a settled sweep, with the kernels they call."""
    print("\n| scan, 400 x 2, K = 20, T = 5 | share of the time, by function |\n| --- | --- |")
    data = moons(400, 2)
    for name, moves in SCANS.items():
        settings = ChainSettings(20, 5, PRIOR, moves, Schedule(300, 200, 1))
        with threadpool_limits(1):
            chain = Chain(data.blocks(LatentBlockFactory(settings)), data.column_size(), settings, (Streams(0), 0, 0))
            for _ in range(200):
                chain.advance()
            profile = cProfile.Profile()
            profile.enable()
            for _ in range(100):
                chain.advance()
            profile.disable()
        entries = sorted(profile.getstats(), key=lambda entry: -entry.inlinetime)
        total = sum(entry.inlinetime for entry in entries)
        names = [getattr(entry.code, "co_name", str(entry.code)) for entry in entries]
        shares = [f"{name} {entry.inlinetime / total:.0%}" for name, entry in zip(names[:5], entries, strict=False)]
        print(f"| {name} | {', '.join(shares)} |", flush=True)


def _note_time(ends, _):
    ends.append(time.perf_counter())


def threads():
    """Compare two threads with one, for one chain and 1e5 rows."""
    data = moons(100_000, 20)
    print("\n| scan, 1e5 x 20, K = 20, T = 3 | one thread, s | two threads, s | ratio |\n| --- | --- | --- | --- |")
    for name, moves in SCANS.items():
        times = []
        for n_threads in (1, 2):
            settings = ChainSettings(20, 3, PRIOR, moves, Schedule(12, 11, 1))
            ends = []
            note = partial(_note_time, ends)
            run_chains(data, settings, 0, options=RunOptions(n_threads=n_threads, callback=note))
            times.append((ends[-1] - ends[0]) / (len(ends) - 1))
        print(f"| {name} | {times[0]:.2f} | {times[1]:.2f} | {times[0] / times[1]:.2f} |")


GROWTH = {
    "N": [(n, 20, 20, 3) for n in (1000, 10_000, 100_000, 1_000_000)],
    "V": [(4000, v, 20, 3) for v in (2, 10, 20, 50, 100, 200, 500)],
    "K": [(10_000, 20, k, 3) for k in (5, 10, 20, 40, 80)],
    "T": [(10_000, 20, 20, t) for t in (1, 2, 4, 8)],
}


def growth():
    """Time of a sweep against the size of the problem, and how far it is from a straight line (V: a parabola).

    Two or three sweeps after the start, so that all sizes are timed in like states, with steps too short to diverge.
    """
    print("\n| growing | sizes | scan | ms a sweep | largest deviation |\n| --- | --- | --- | --- | --- |")
    for letter, sizes in GROWTH.items():
        grown = [size["NVKT".index(letter)] for size in sizes]
        problems = [moons(n_rows, n_features) for n_rows, n_features, _, _ in sizes]
        for name, moves in SCANS.items():
            times = [_early_sweep(data, moves, *size[2:]) for data, size in zip(problems, sizes, strict=True)]
            shown = " ".join(f"{1e3 * seconds:.1f}" for seconds in times)
            deviation = _deviation(np.array(grown, float), np.array(times), 2 if letter == "V" else 1)
            labels = " ".join(f"{value:g}" for value in grown)
            print(f"| {letter} | {labels} | {name} | {shown} | {deviation:.0%} |", flush=True)


def _early_sweep(data, moves, n_experts, n_layers, n_sweeps=4):
    """Shortest time of the second to fourth sweep of three equal chains, averaged over these sweeps."""
    settings = ChainSettings(n_experts, n_layers, PRIOR, moves, Schedule(n_sweeps, 0, 1))
    best = np.full(n_sweeps, np.inf)
    with threadpool_limits(1):
        for _ in range(3):
            chain = Chain(data.blocks(LatentBlockFactory(settings)), data.column_size(), settings, (Streams(0), 0, 0))
            chain.step_size.log_step = -12.0
            for sweep in range(n_sweeps):
                start = time.perf_counter()
                chain.advance()
                best[sweep] = min(best[sweep], time.perf_counter() - start)
    return best[1:].mean()


def _deviation(sizes, times, degree):
    """Largest relative residual of a polynomial with coefficients >= 0, fitted to relative errors."""
    powers = np.stack([sizes**power for power in range(degree + 1)], axis=1) / times[:, None]
    coefficients, _ = nnls(powers, np.ones(len(times)))
    return np.abs(powers @ coefficients - 1.0).max()


def memory():
    """Measure the peak memory of a run with 1e6 rows of 20 columns, 20 experts, 3 layers, in its own process."""
    print("\n| scan, 1e6 x 20, K = 20, T = 3 | peak, GB | of it the data |\n| --- | --- | --- |")
    context = multiprocessing.get_context("spawn")
    for name in SCANS:
        with context.Pool(1) as pool:
            peak, size = pool.apply(_peak, (name,))
        print(f"| {name} | {peak / 1e9:.2f} | {size / 1e9:.2f} |", flush=True)


def _peak(name):
    """Peak resident memory of two sweeps, and the size of the design, in bytes."""
    data = moons(1_000_000, 20)
    run_chains(data, ChainSettings(20, 3, PRIOR, SCANS[name], Schedule(2, 0, 1)), 0)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, data.design.nbytes


def thin():
    """Compare a sparse design with the same dense one on a9a (32,561 x 123); requires --data-home."""
    if DATA_HOME is None:
        print("\nThe part 'thin' needs --data-home or SOFTPOLYTOPE_DATA.")
        return
    features, targets = load_benchmark("a9a", data_home=DATA_HOME)[:2]
    labels = targets > 0
    design = sparse.hstack([np.ones((len(labels), 1)), features], format="csr")
    print("\n| a9a, K = 20, T = 3 | sparse, s a sweep | dense, s a sweep | ratio |\n| --- | --- | --- | --- |")
    thin_rows = InMemoryDataset.from_arrays(design, labels)
    dense_rows = InMemoryDataset.from_arrays(design.toarray(), labels)
    for name, moves in SCANS.items():
        times = [_early_sweep(rows, moves, 20, 3, 2) for rows in (thin_rows, dense_rows)]
        print(f"| {name} | {times[0]:.2f} | {times[1]:.2f} | {times[1] / times[0]:.1f} |", flush=True)


def _measure(data, probes, settings, seed, n_chains=5):
    """Effective draws of the log-likelihood and of P at probes, the largest R-hat, CPU seconds and the traces.

    Chains run one after the other, several because a single one may or may not see the rare mode that the numbers
    depend on; burn-in counts.
    """
    n_burn_in = settings.schedule.n_burn_in
    start = time.process_time()
    traces = run_chains(data, settings, seed, n_chains).traces[0]
    seconds = time.process_time() - start
    series = [np.array([trace.log_likelihood[n_burn_in:] for trace in traces])]
    series += list(np.moveaxis([[_probabilities(d, probes) for d in t.draws] for t in traces], 2, 0))
    return np.array([bulk_ess(draws) for draws in series]), max(r_hat(draws) for draws in series), seconds, traces


def effective():
    """Effective draws per second of the log-likelihood and of P at ten points, the least of them."""
    n_burn_in, n_kept = 500, 4000
    print(
        "\n| circle | scan | best log-likelihood | experts | R-hat | least effective | of log-likelihood | a second |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for seed in (0, 1):
        for n_layers in (1, 3):
            for name, moves in SCANS.items():
                settings = ChainSettings(20, n_layers, PRIOR, moves, Schedule(n_burn_in + n_kept, n_burn_in, n_kept))
                sizes, largest, seconds, traces = _measure(circle(seed), PROBES, settings, seed)
                best = max(trace.best.log_likelihood for trace in traces) / 300
                experts = np.mean([trace.n_active[n_burn_in:] for trace in traces])
                print(
                    f"| data {seed}, T = {n_layers} | {name} | {best:.3f} | {experts:.1f} | {largest:.2f} "
                    f"| {sizes.min():.0f} | {sizes[0]:.0f} | {sizes.min() / seconds:.1f} |",
                    flush=True,
                )


def tuning():
    """Effective draws per CPU second, without and with the tuned trajectories, on circle and german's training part.

    Without: ten steps on average, no metric, a target acceptance of 0.8.
    """
    runs = (
        (Moves(hamiltonian_steps=10), {"TARGET_ACCEPTANCE": 0.8, "SHRINKAGE": 1.0}),
        (Moves(), {"TARGET_ACCEPTANCE": _hamiltonian.TARGET_ACCEPTANCE}),
    )
    cases = [(f"circle {seed}", circle(seed), PROBES) for seed in (0, 1)]
    if DATA_HOME is not None:
        split = load_benchmark("german", 0, DATA_HOME)
        rows = np.column_stack([np.ones(len(split.y_train)), split.X_train])
        chosen = np.random.default_rng(7).permutation(len(rows))[:10]
        cases.append(("german", InMemoryDataset.from_arrays(rows, split.y_train > 0), rows[chosen]))
    print("\n| data | least effective a second: before, after, ratio | log-likelihood | median P | R-hat |")
    print("| --- | --- | --- | --- | --- |")
    for label, data, probes in cases:
        for n_layers in (1, 3):
            found = []
            for moves, constants in runs:
                settings = ChainSettings(20, n_layers, PRIOR, moves, Schedule(3500, 500, 3000))
                with patch.multiple(_hamiltonian, **constants):
                    sizes, largest, seconds, _ = _measure(data, probes, settings, 0)
                found.append((*(np.array([sizes.min(), sizes[0], np.median(sizes[1:])]) / seconds), largest))
            *rates, hats = zip(*found, strict=True)
            cells = " | ".join(f"{old:.1f}, {new:.1f}, {new / old:.1f}" for old, new in rates)
            print(f"| {label}, T = {n_layers} | {cells} | {hats[0]:.2f}, {hats[1]:.2f} |", flush=True)


def _probabilities(draw, probes):
    return positive_probability(draw.coefficients @ probes.T, np.exp(draw.log_weights))


def fit():
    """Print the best log-likelihood per row and the experts of ten chains of 2,000 sweeps on circle."""
    print("\n| circle, 2,000 sweeps | moves | best log-likelihood, ten chains | their experts |")
    print("| --- | --- | --- | --- |")
    for n_layers in (1, 5):
        protocols = {
            "default": ChainSettings(20, n_layers, PRIOR, Moves.of("auto"), Schedule(2000, 1000, 100)),
            "the paper's": paper_settings(n_layers, n_sweeps=2000, n_draws=20),
        }
        for label, data in (("ring = 1", circle()), ("ring = 0", circle().flipped())):
            for name, settings in protocols.items():
                traces = run_chains(data, settings, 0, 10, options=RunOptions(n_threads=2)).traces[0]
                values = " ".join(f"{trace.best.log_likelihood / 300:.3f}" for trace in traces)
                experts = " ".join(str(trace.best.n_active) for trace in traces)
                print(f"| {label}, T = {n_layers} | {name} | {values} | {experts} |", flush=True)


PARTS = {part.__name__: part for part in (fit, cost, breakdown, threads, growth, memory, thin, effective, tuning)}
DATA_HOME = None

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--data-home", type=Path, default=os.environ.get("SOFTPOLYTOPE_DATA"))
    arguments = parser.parse_args()
    chosen = arguments.part
    DATA_HOME = Path(arguments.data_home) if arguments.data_home else None
    for part in [chosen] if chosen else PARTS:
        PARTS[part]()
