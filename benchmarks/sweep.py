"""What a sweep costs, and how many effective draws it buys, on synthetic data of the sizes of interest.

    python benchmarks/sweep.py                 about ten minutes
    python benchmarks/sweep.py --part threads  one part: fit, cost, breakdown, threads, growth or effective

The yardstick G is the time NumPy takes to draw 6 x N x K x T gamma variates of shape 0.5 on one core, in the same run.
"""

import argparse
import cProfile
import time

import numpy as np
from threadpoolctl import threadpool_limits

from softpolytope.distributions import Streams
from softpolytope.gibbs.chain import Chain, ChainSettings
from softpolytope.gibbs.data import TrainingData
from softpolytope.gibbs.run import RunOptions, run_chains
from softpolytope.gibbs.sweep import Moves
from softpolytope.gibbs.trace import Schedule
from softpolytope.model.prior import Prior
from softpolytope.model.softplus import positive_probability
from softpolytope.parallel.homes import SerialHome

PRIOR = Prior(precision_shape=1.0, precision_rate=1.0)
SCANS = {
    "paper": Moves("paper", hamiltonian_steps=0, refresh=False),
    "collapsed, Polya-Gamma": Moves("collapsed", polya_gamma=True, hamiltonian_steps=0),
    "collapsed, Hamiltonian (default)": Moves(),
}


def moons(n_rows, n_features, seed=0):
    """Two interleaved half circles with noise in the first two features, noise alone in the others."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_rows) % 2 == 1
    angle = rng.uniform(0, np.pi, n_rows)
    x = np.where(labels, 1 - np.cos(angle), np.cos(angle)) + 0.25 * rng.normal(size=n_rows)
    y = np.where(labels, 0.5 - np.sin(angle), np.sin(angle)) + 0.25 * rng.normal(size=n_rows)
    rest = rng.normal(size=(n_rows, n_features - 2))
    return TrainingData.from_arrays(np.column_stack([np.ones(n_rows), x, y, rest]), labels)


def circle(seed=0):
    """The data of the paper's first figure: a ring (label 1) around a disc."""
    rng = np.random.default_rng(seed)
    angle, radius = rng.uniform(0, 2 * np.pi, 150), rng.normal(2.0, 0.5, 150)
    ring = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    rows = np.column_stack([np.ones(300), np.concatenate([ring, rng.normal(0.0, 0.5, (150, 2))])])
    return TrainingData.from_arrays(rows, np.arange(300) < 150)


def yardstick(n_rows, n_experts, n_layers):
    """Seconds of G."""
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
        chain = Chain(data, settings, (Streams(0), 0, 0), SerialHome)
        times = []
        for sweep in range(n_settle + n_timed):
            start = time.perf_counter()
            chain.advance()
            if sweep >= n_settle:
                times.append(time.perf_counter() - start)
    return float(np.median(times)), float(np.mean(chain.trace.n_active[-n_timed:]))


def cost():
    """Sweeps of the three scans against G."""
    print("\n| data | scan | ms a sweep | experts with counts | G |\n| --- | --- | --- | --- | --- |")
    for label, data in (("400 x 2", moons(400, 2)), ("1300 x 18", moons(1300, 18))):
        unit = yardstick(data.n_rows, 20, 5)
        for name, moves in SCANS.items():
            seconds, active = seconds_per_sweep(data, moves)
            print(f"| {label}, K = 20, T = 5 | {name} | {seconds * 1e3:.2f} | {active:.1f} | {seconds / unit:.2f} |")


def breakdown():
    """Where the time of a settled sweep goes: the functions that take most, with the kernels they call."""
    print("\n| scan, 400 x 2, K = 20, T = 5 | share of the time, by function |\n| --- | --- |")
    data = moons(400, 2)
    for name, moves in SCANS.items():
        settings = ChainSettings(20, 5, PRIOR, moves, Schedule(300, 200, 1))
        with threadpool_limits(1):
            chain = Chain(data, settings, (Streams(0), 0, 0), SerialHome)
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


def threads():
    """Two threads against one, one chain, 1e5 rows."""
    data = moons(100_000, 20)
    print("\n| scan, 1e5 x 20, K = 20, T = 3 | one thread, s | two threads, s | ratio |\n| --- | --- | --- | --- |")
    for name, moves in SCANS.items():
        times = []
        for n_threads in (1, 2):
            settings = ChainSettings(20, 3, PRIOR, moves, Schedule(4, 0, 1))
            start = time.perf_counter()
            run_chains(data, settings, 0, options=RunOptions(n_threads=n_threads))
            times.append((time.perf_counter() - start) / 4)
        print(f"| {name} | {times[0]:.2f} | {times[1]:.2f} | {times[0] / times[1]:.2f} |")


def growth():
    """Time of a sweep against the size of the problem."""
    print("\n| N | V | K | T | scan | ms a sweep |\n| --- | --- | --- | --- | --- | --- |")
    sizes = [(1000, 20, 20, 3), (10_000, 20, 20, 3), (100_000, 20, 20, 3), (10_000, 100, 20, 3), (10_000, 20, 40, 3)]
    for n_rows, n_features, n_experts, n_layers in [*sizes, (10_000, 20, 20, 6)]:
        data = moons(n_rows, n_features)
        for name, moves in SCANS.items():
            seconds, _ = seconds_per_sweep(data, moves, n_experts, n_layers, n_settle=5, n_timed=5)
            print(f"| {n_rows} | {n_features} | {n_experts} | {n_layers} | {name} | {seconds * 1e3:.1f} |", flush=True)


def effective_size(series):
    """Effective number of draws, by Geyer's initial positive sequence."""
    deviations = np.asarray(series) - np.mean(series)
    n = len(deviations)
    spectrum = np.fft.rfft(deviations, 2 * n)
    correlation = np.fft.irfft(spectrum * spectrum.conj())[:n]
    correlation /= correlation[0]
    pairs = correlation[1 : n - 1 : 2] + correlation[2:n:2]
    stop = np.argmax(pairs < 0) if (pairs < 0).any() else len(pairs)
    return n / (1.0 + 2.0 * pairs[:stop].sum())


def effective():
    """Effective draws per second of the log-likelihood and of P at ten points, the least of them; burn-in counted."""
    probes = np.column_stack([np.ones(10), np.random.default_rng(7).uniform(-2.5, 2.5, (10, 2))])
    print("\n| circle | scan | best log-likelihood | experts | least effective | of log-likelihood | a second |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for seed in (0, 1):
        for n_layers in (1, 3):
            for name, moves in SCANS.items():
                schedule = Schedule(3000, 500, 2500)
                start = time.perf_counter()
                run = run_chains(circle(seed), ChainSettings(20, n_layers, PRIOR, moves, schedule), seed)
                seconds = time.perf_counter() - start
                trace = run.traces[0][0]
                chances = np.array(
                    [positive_probability(d.coefficients @ probes.T, np.exp(d.log_weights)) for d in trace.draws]
                )
                sizes = [effective_size(trace.log_likelihood[500:]), *(effective_size(p) for p in chances.T)]
                print(
                    f"| data {seed}, T = {n_layers} | {name} | {trace.best.log_likelihood / 300:.3f} "
                    f"| {np.mean(trace.n_active[500:]):.1f} | {min(sizes):.0f} | {sizes[0]:.0f} "
                    f"| {min(sizes) / seconds:.1f} |",
                    flush=True,
                )


def fit():
    """Best log-likelihood a row and experts in 2,000 sweeps on the circle, ten chains of each kind."""
    print(
        "\n| circle, 2,000 sweeps | best log-likelihood, ten chains | experts of the best draws |\n| --- | --- | --- |"
    )
    for n_layers in (1, 5):
        for name, data in (("ring = 1", circle()), ("ring = 0", circle().flipped())):
            settings = ChainSettings(20, n_layers, PRIOR, Moves(), Schedule(2000, 1000, 100))
            traces = run_chains(data, settings, 0, 10, options=RunOptions(n_threads=2)).traces[0]
            values = " ".join(f"{trace.best.log_likelihood / 300:.3f}" for trace in traces)
            experts = " ".join(str(trace.best.n_active) for trace in traces)
            print(f"| {name}, T = {n_layers} | {values} | {experts} |", flush=True)


PARTS = {"fit": fit, "cost": cost, "breakdown": breakdown, "threads": threads, "growth": growth, "effective": effective}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS)
    chosen = parser.parse_args().part
    for part in [chosen] if chosen else PARTS:
        PARTS[part]()
