"""Measure the cost of checkpoints: the time of small fits with them over the time without.

    python benchmarks/checkpoints.py [--fsync SECONDS] [--repeats N]

Fits with and without checkpoints alternate, and the fastest of each are compared, because other work may run on the
machine. `--fsync` delays every wait for the disk by a minimum, like a slow disk.
"""

import argparse
import os
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from sklearn.datasets import make_moons

from softpolytope import SumStackSoftplusClassifier

FITS: dict[str, dict[str, Any]] = {
    "map": {"inference": "map"},
    "map, 60 experts": {"inference": "map", "max_experts": 60},
    "gibbs": {"inference": "gibbs", "n_sweeps": 100, "n_chains": 4},
    "gibbs, paper's scan": {"inference": "gibbs", "scan": "paper", "start": "random", "n_sweeps": 50, "n_chains": 4},
}


class Syncs:
    """Counts calls of os.fsync, and makes them slower."""

    def __init__(self, seconds: float) -> None:
        self.n_calls, self._seconds, self._sync = 0, seconds, os.fsync

    def __call__(self, file: int) -> None:
        """Wait for the disk."""
        self.n_calls += 1
        start = time.perf_counter()
        self._sync(file)
        time.sleep(max(0.0, self._seconds - (time.perf_counter() - start)))


def seconds_of(settings: dict[str, Any], folder: Path | None) -> float:
    """Run one fit and return its seconds."""
    X, y = make_moons(500, noise=0.25, random_state=0)
    start = time.perf_counter()
    SumStackSoftplusClassifier(random_state=0, n_jobs=1, checkpoint=folder, **settings).fit(X, y)
    return time.perf_counter() - start


def measure(settings: dict[str, Any], n_repeats: int, syncs: Syncs) -> tuple[float, float, int, int]:
    """Return the fewest seconds without and with checkpoints, and files and disk waits of the last fit."""
    without, within = [], []
    for _ in range(n_repeats):
        without.append(seconds_of(settings, None))
        # In the current folder, because a system's temporary one may be in memory.
        with tempfile.TemporaryDirectory(dir=".") as folder:
            syncs.n_calls = 0
            within.append(seconds_of(settings, Path(folder)))
            n_files = sum(path.is_file() for path in Path(folder).rglob("*"))
    return min(without), min(within), n_files, syncs.n_calls


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fsync", type=float, default=0.0, help="seconds that a wait for the disk takes at least")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    syncs = Syncs(options.fsync)
    os.fsync = syncs  # type: ignore[assignment]
    print(f"{'fit':22s}{'without, s':>12s}{'with, s':>10s}{'ratio':>8s}{'files':>7s}{'fsyncs':>8s}")
    for name, settings in FITS.items():
        without, within, n_files, n_syncs = measure(settings, options.repeats, syncs)
        print(f"{name:22s}{without:12.2f}{within:10.2f}{within / without:8.2f}{n_files:7d}{n_syncs:8d}", flush=True)


if __name__ == "__main__":
    main()
