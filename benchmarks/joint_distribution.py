"""Joint-distribution (Geweke) tests of the sampler from exact starts.

    python benchmarks/joint_distribution.py --replicates 100000 --processes 2 --out results.csv

A replicate draws parameters from the prior and labels from the model: an exact draw of their joint law. Sweeps given
those labels leave that law alone if and only if the sampler is right, so the end states are again independent, exact
draws. They are compared with fresh draws from the joint law by two-sample Kolmogorov-Smirnov tests of every variable
and z-tests of every variable's mean and of the mean of every product of two; Bonferroni over all of them. Nothing is
autocorrelated, so levels are what they say.
"""

import argparse
import csv
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy import stats

from softpolytope.data import InMemoryDataset
from softpolytope.distributions import Streams, SweepStreams
from softpolytope.gibbs import Moves, check_state
from softpolytope.gibbs._hamiltonian import Tuning
from softpolytope.gibbs._latent_block import LatentBlock
from softpolytope.gibbs._state import prior_state
from softpolytope.gibbs._sweep import sweep
from softpolytope.model import Prior
from softpolytope.parallel import SerialBlocks

DESIGN = np.array([[1.0, -1.2], [1.0, 0.3], [1.0, 0.9]])
FIXED = Prior(3.0, 1.5, 3.0, 2.0, 6.0, 3.0)
LEARNED = Prior(3.0, 1.5, 3.0, 2.0, 6.0, "learned")
LEVEL = 1e-3

PAPER = Moves("paper", hamiltonian_steps=0, refresh=False)
COLLAPSED = Moves("collapsed", polya_gamma=True, hamiltonian_steps=0, refresh=False)
HAMILTONIAN = Moves("collapsed", hamiltonian_steps=3, refresh=False)
SCANS = {
    "paper": PAPER,
    "collapsed": COLLAPSED,
    "collapsed+refresh": replace(COLLAPSED, refresh=True),
    "hamiltonian": HAMILTONIAN,
    "hamiltonian+refresh": replace(HAMILTONIAN, refresh=True),
    "paper+hamiltonian": replace(PAPER, hamiltonian_steps=3),
    "all": Moves("collapsed", polya_gamma=True, hamiltonian_steps=3, refresh=True),
}


@dataclass(frozen=True)
class Case:
    """One model and one sampler."""

    n_experts: int
    n_layers: int
    scan: str
    prior: Prior = FIXED
    row_weights: tuple[float, ...] = (1.0, 1.0, 1.0)
    n_sweeps: int = 3
    step: float = 0.25

    @property
    def name(self) -> str:
        """Short description of the case."""
        model = {(False, False): "softplus", (True, False): "sum", (False, True): "stack", (True, True): "sum-stack"}
        kind = model[self.n_experts > 1, self.n_layers > 1]
        extras = ("" if self.prior == FIXED else " learned") + ("" if set(self.row_weights) == {1.0} else " weighted")
        return f"{kind} K={self.n_experts} T={self.n_layers} {self.scan}{extras}"


def draw_labels(case, state, rng):
    """Draw labels given the parameters; a row of weight w is positive with the odds of its tempered likelihood."""
    # The model by its definition; the sampler's own functions are not asked.
    activation = np.ones((case.n_experts, len(DESIGN)))
    for layer in range(case.n_layers):
        activation = np.log1p(activation * np.exp(state.coefficients[:, layer] @ DESIGN.T))
    positive = -np.expm1(-(np.exp(state.log_weights) @ activation))
    if set(case.row_weights) == {1.0}:
        return rng.random(len(DESIGN)) < positive, 1.0
    # A tempered likelihood is not a probability: p^w + (1 - p)^w is the weight that makes the pair an exact draw.
    weights = np.array(case.row_weights)
    up, down = positive**weights, (1.0 - positive) ** weights
    return rng.random(len(DESIGN)) * (up + down) < up, float(np.prod((up + down) / 2.0 ** np.maximum(1 - weights, 0)))


def exact_draw(case, rng):
    """Draw parameters and labels from their joint law."""
    while True:
        state = prior_state(case.n_experts, case.n_layers, DESIGN.shape[1], case.prior, rng)
        labels, acceptance = draw_labels(case, state, rng)
        if rng.random() < acceptance:
            return state, labels


def variables(state, labels, counts):
    """Return the compared quantities, on scales without heavy tails."""
    positive = [state.mass, state.concentration, *state.precisions.reshape(-1), *state.precision_rates.reshape(-1)]
    logs = np.log(np.maximum(positive, 1e-30))
    weights = np.clip(state.log_weights, -12.0, None)
    latent = np.log1p(np.minimum(counts, 1e6)).reshape(-1)
    return np.concatenate([logs, weights, np.arcsinh(state.coefficients).reshape(-1), labels.astype(float), latent])


def joint_draw(case, streams, replicate, rng):
    """Draw parameters, labels and latent counts from their joint law; return them with the blocks of the rows."""
    state, labels = exact_draw(case, rng)
    rows = InMemoryDataset(DESIGN, np.ones(2), labels, np.array(case.row_weights))
    blocks = SerialBlocks([LatentBlock(block, index) for index, block in enumerate(rows.split())])
    blocks.broadcast(LatentBlock.prepare, state.coefficients)
    # Counts given the parameters, from the stream of a sweep that never comes.
    counts = blocks.map(LatentBlock.draw_counts, SweepStreams(streams, 0, replicate, 999), state.log_weights)[0]
    return state, labels, counts, blocks


def fresh_draw(case, streams, replicate, rng):
    """Variables of an exact draw."""
    state, labels, counts, _ = joint_draw(case, streams, replicate, rng)
    return variables(state, labels, counts)


def tuned(case):
    """The tuning of a chain after burn-in: a metric whose scales differ by layer and column."""
    squares = np.geomspace(2.0, 0.5, case.n_layers * DESIGN.shape[1] + 1)
    return Tuning(np.log(case.step), squares=squares, n_squares=1)


def swept_draw(case, streams, replicate, rng):
    """Variables of an exact draw after a few sweeps.

    The collapsed scan draws its counts again in every sweep, given parameters that the sweep then changes; they are
    compared as drawn given the end state. The paper's scan keeps them as part of its state, and ends with them.
    """
    state, labels, _, blocks = joint_draw(case, streams, replicate, rng)
    moves, tuning = SCANS[case.scan], tuned(case)
    for number in range(case.n_sweeps):
        sweep(state, blocks, case.prior, SweepStreams(streams, 0, replicate, number), moves, tuning)
        check_state(state)
    if moves.scan == "paper":
        counts = blocks.map(LatentBlock.level_counts)[0]
    else:
        counts = blocks.map(LatentBlock.draw_counts, SweepStreams(streams, 0, replicate, 998), state.log_weights)[0]
    return variables(state, labels, counts)


def sample(case, n_replicates, seed):
    """Return variables of fresh exact draws (twice as many) and of swept ones."""
    rng = np.random.default_rng([seed, 1])
    streams = Streams([seed, 3])
    fresh = np.array([fresh_draw(case, streams, replicate, rng) for replicate in range(2 * n_replicates)])
    rng = np.random.default_rng([seed, 2])
    streams = Streams([seed, 4])
    swept = np.array([swept_draw(case, streams, replicate, rng) for replicate in range(n_replicates)])
    varies = np.ptp(fresh, axis=0) > 0.0  # fixed rates do not
    return fresh[:, varies], swept[:, varies]


def pvalues(fresh, swept):
    """P-values of all statistics."""
    center, scale = fresh.mean(axis=0), fresh.std(axis=0)
    fresh, swept = (fresh - center) / scale, (swept - center) / scale
    found = [stats.ks_2samp(a, b, method="asymp").pvalue for a, b in zip(fresh.T, swept.T, strict=True)]
    first, second = np.triu_indices(fresh.shape[1])
    found += [_mean_pvalue(a, b) for a, b in zip(fresh.T, swept.T, strict=True)]
    found += [
        _mean_pvalue(fresh[:, left] * fresh[:, right], swept[:, left] * swept[:, right])
        for left, right in zip(first, second, strict=True)
    ]
    if not np.isfinite(found).all():
        raise ValueError("a statistic has no p-value")
    return np.array(found)


def _mean_pvalue(a, b):
    z = (a.mean() - b.mean()) / np.sqrt(a.var() / len(a) + b.var() / len(b))
    return 2.0 * stats.norm.sf(abs(z))


def bonferroni(case, n_replicates, seed):
    """Corrected p-value of a case, and the number of statistics behind it."""
    found = pvalues(*sample(case, n_replicates, seed))
    return min(1.0, found.min() * len(found)), len(found)


def cases():
    """The four models, one to three layers, every sampler; learned rates and weights besides."""
    listed = [
        Case(n_experts, n_layers, scan)
        for n_experts in (1, 2)
        for n_layers in (1, 2, 3)
        for scan in SCANS
        if not (n_experts == 1 and scan == "collapsed+refresh")
    ]
    listed += [Case(2, 2, scan, prior=LEARNED) for scan in SCANS]
    weighted = (2.0, 0.4, 1.7)
    return listed + [Case(2, 2, scan, row_weights=weighted) for scan in SCANS if "paper" not in scan]


def _run(arguments):
    case, n_replicates, seed = arguments
    start = time.perf_counter()
    pvalue, n_statistics = bonferroni(case, n_replicates, seed)
    return case.name, n_replicates, n_statistics, pvalue, time.perf_counter() - start


def main():
    """Run all cases not yet in the results file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=100_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=20261115)
    parser.add_argument("--out", type=Path, default=Path("joint_distribution.csv"))
    options = parser.parse_args()
    done = set()
    if options.out.exists():
        with options.out.open() as file:
            done = {row[0] for row in csv.reader(file)}
    jobs = [(case, options.replicates, options.seed + i) for i, case in enumerate(cases()) if case.name not in done]
    with ProcessPoolExecutor(options.processes) as pool, options.out.open("a", newline="") as file:
        writer = csv.writer(file)
        if not done:
            writer.writerow(["case", "replicates", "statistics", "bonferroni_p", "seconds"])
        for row in pool.map(_run, jobs):
            writer.writerow([*row[:3], f"{row[3]:.3g}", f"{row[4]:.0f}"])
            file.flush()
            print(f"{row[0]:45s} {row[2]:4d} statistics  p = {row[3]:.3g}   {row[4]:.0f} s", flush=True)
            if row[3] < LEVEL:
                print("   REJECTED", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
