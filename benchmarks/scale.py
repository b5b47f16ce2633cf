"""Measure time, bytes and memory of a sweep for rows in partitions, in one process and on Dask workers.

    python benchmarks/scale.py                        all parts, into docs/results/scale.csv; about half an hour
    python benchmarks/scale.py overhead workers       some parts; measured rows are not measured again
    python benchmarks/scale.py rows --most-rows 1e6   fewer rows
    python benchmarks/scale.py --table                print the tables of docs/results/scale.md from the CSV file

Twenty columns, a boundary in two of them, K = 20 experts, T = 3 layers (part rows: 5 and 2), rows in files. Each
measurement runs in its own process, so that a peak of memory is its own; workers are processes with one thread each.
A sweep here is a fixed sequence of calls, with eleven gradients in the collapsed scan; the number in a chain varies.
Besides wall-clock time, which other work on the machine lengthens, processor time is recorded, that of workers and
scheduler included.
"""

import argparse
import csv
import os
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from softpolytope.data import DataSummary, InMemoryDataset, PartitionedRows, open_source
from softpolytope.distributions import Streams, SweepStreams
from softpolytope.gibbs import ChainSettings, Moves, Schedule
from softpolytope.gibbs._block_factory import LatentBlockFactory
from softpolytope.gibbs._hamiltonian import Tuning
from softpolytope.gibbs._latent_block import LatentBlock
from softpolytope.gibbs._state import initial_state
from softpolytope.gibbs._sweep import sweep
from softpolytope.model import Prior
from softpolytope.parallel import BlockThreads, open_partition_store, parse_bytes

N_COLUMNS, N_EXPERTS, N_LAYERS = 20, 20, 3
RESULTS = Path(__file__).parent.parent / "docs" / "results" / "scale.csv"
FIELDS = ("part", "rows", "scan", "home", "cores", "max_memory", "seconds", "cpu", "peak", "bytes")
PART_ROWS = 1_000_000


def written(folder, n_rows):
    """Write files with rows and labels, if missing."""
    path = Path(folder) / f"X{n_rows}.npy"
    if not path.exists():
        temporary = path.with_suffix(".part")
        X = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.float64, shape=(n_rows, N_COLUMNS))
        y = np.empty(n_rows, dtype=bool)
        for start in range(0, n_rows, PART_ROWS):
            rng = np.random.default_rng([n_rows, start])
            rows = slice(start, min(start + PART_ROWS, n_rows))
            X[rows] = rng.standard_normal((rows.stop - rows.start, N_COLUMNS))
            chance = 1.0 / (1.0 + np.exp(-4.0 * (1.0 - X[rows, 0] ** 2 - X[rows, 1] ** 2)))
            y[rows] = rng.random(rows.stop - rows.start) < chance
        X.flush()
        del X
        np.save(path.with_name(f"y{n_rows}.npy"), y)
        temporary.rename(path)
    return [np.load(path.with_name(f"{name}{n_rows}.npy"), mmap_mode="r") for name in "Xy"]


class Clock:
    """Record times of sweeps and the bytes sent through the loopback interface so far."""

    def __init__(self):
        self.client = None
        self.times, self.moved, self.cpu = [time.perf_counter()], [loopback_bytes()], []

    def __call__(self):
        """Called after every sweep."""
        workers = self.client.run(time.process_time).values() if self.client is not None else ()
        self.cpu.append(time.process_time() + sum(workers))
        self.times.append(time.perf_counter())
        self.moved.append(loopback_bytes())

    def result(self):
        """Return wall-clock and processor seconds per sweep, peak memory, and bytes moved per sweep."""
        return self.seconds(), statistics.median(np.diff(self.cpu)), peak(), self.bytes_moved()

    def seconds(self):
        """Median time of a sweep; the first, in which rows are loaded, is not counted."""
        return statistics.median(np.diff(self.times)[1:])

    def bytes_moved(self):
        """Median bytes of a sweep; zero without workers, as the interface then carries other traffic."""
        return int(statistics.median(np.diff(self.moved)[1:])) if self.client is not None else 0


def loopback_bytes():
    """Return the bytes sent through the loopback interface."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    return int(next(line for line in lines if line.strip().startswith("lo:")).split()[1])


def measured(folder, case, n_sweeps):
    """Run a chain and return its measurements."""
    X, y = written(folder, case["rows"])
    size = (5, 2) if case["part"] == "rows" else (N_EXPERTS, N_LAYERS)
    settings = ChainSettings(*size, Prior(), Moves.of(case["scan"]), Schedule())
    clock = Clock()
    if case["home"] == "threads in memory":
        design = np.column_stack([np.ones(len(X)), X])
        data = InMemoryDataset.from_arrays(design, np.asarray(y))
        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(int(case["cores"])) as pool:
            sweeps(
                data.blocks(LatentBlockFactory(settings), BlockThreads(pool, int(case["cores"]))),
                settings,
                n_sweeps,
                clock,
            )
        return clock.result()
    limit = parse_bytes(case["max_memory"]) if case["max_memory"] else None
    source = open_source(X, y, None, has_client=case["home"] == "dask", is_limited=True)
    with (
        threadpool_limits(1, user_api="blas"),
        cluster_of(case) as clock.client,
        open_partition_store(source, clock.client, limit, int(case["cores"])) as store,
    ):
        sweeps(data_of(store).blocks(LatentBlockFactory(settings)), settings, n_sweeps, clock)
    return clock.result()


def sweeps(blocks, settings, n_sweeps, clock):
    """Make the calls of several sweeps, all from the same state."""
    state = initial_state(settings.max_experts, settings.n_layers, N_COLUMNS + 1, settings.prior)
    state.coefficients = 0.3 * np.random.default_rng(0).standard_normal(state.coefficients.shape)
    every = np.arange(state.n_experts, dtype=np.intc)
    blocks.broadcast(LatentBlock.prepare, state.coefficients)
    for number in range(n_sweeps):
        name = SweepStreams(Streams(0), 0, 0, number)
        if settings.moves.scan == "paper":
            blocks.replicate()
            sweep(state.copy(), blocks, settings.prior, name, settings.moves, Tuning())
        else:
            blocks.mark_replay_point(LatentBlock.prepare, state.coefficients)
            blocks.broadcast(LatentBlock.hold, np.zeros(state.n_experts, dtype=bool), state.log_weights)
            for _ in range(11):
                blocks.sum(LatentBlock.gradient, state.coefficients, state.log_weights)
            blocks.broadcast(LatentBlock.update, every, state.coefficients)
            blocks.sum(LatentBlock.draw_top_counts, name, state.log_weights)
            blocks.broadcast(LatentBlock.update, every[:4], state.coefficients[:4])
            blocks.sum(LatentBlock.activation_sums)
        blocks.sum(LatentBlock.log_likelihood, state.log_weights)
        clock()


def data_of(store):
    """Return the rows of a store as a fit uses them."""
    summary = DataSummary.from_store(store, None)
    rows = PartitionedRows(store, summary, summary.classes()[0], np.ones(2), 1)
    return rows.prepare(standardize=True).data


class cluster_of:  # noqa: N801  # used as a function
    """Start a cluster with one single-threaded worker per core, or none."""

    def __init__(self, case):
        self.n_workers = int(case["cores"]) if case["home"] == "dask" else 0

    def __enter__(self):
        if not self.n_workers:
            return None
        import distributed  # noqa: PLC0415  # not needed by the other parts

        self.cluster = distributed.LocalCluster(
            n_workers=self.n_workers, threads_per_worker=1, processes=True, dashboard_address=None
        )
        self.client = distributed.Client(self.cluster)
        return self.client

    def __exit__(self, *_):
        if self.n_workers:
            self.client.close()
            self.cluster.close()


def peak():
    """Return the peak memory of this process in bytes; getrusage would include the parent's."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def case(part, rows, **changes):
    """Return the measurements of a part."""
    given = {"part": part, "rows": int(rows), "scan": "collapsed", "home": "partitions", "cores": 2, "max_memory": ""}
    return given | changes


def cases(part, most_rows):
    """Return the measurements of a part, and the number of sweeps of each."""
    found = []
    for scan in ("collapsed", "paper"):
        if part == "overhead":
            homes = ("threads in memory", "partitions", "dask")
            found += [(case(part, 1e6, scan=scan, home=home), 4) for home in homes]
        elif part == "workers":
            found += [(case(part, 1e6, scan=scan, home="dask", cores=cores), 4) for cores in (1, 2)]
        elif part == "bytes":
            found += [(case(part, rows, scan=scan, home="dask"), 4) for rows in (1e5, 3e5, 1e6, 3e6)]
        elif part == "memory":
            found += [(case(part, 1e6, scan=scan, max_memory=limit), 3) for limit in ("500MB", "1GB", "2GB")]
    if part == "rows":
        sizes = [("4GB", rows) for rows in (1e5, 3e5, 1e6, 3e6, 1e7)] + [("1GB", rows) for rows in (1e6, 3e6, 1e7)]
        found = [(case(part, rows, max_memory=limit), 4) for limit, rows in sizes]
    return [(one, n_sweeps) for one, n_sweeps in found if one["rows"] <= most_rows]


def known():
    """Return the measured rows."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def key_of(row):
    """Return the values that identify a measurement."""
    return tuple(str(row[name]) for name in FIELDS[:6])


def run(parts, most_rows, folder):
    """Run the missing measurements."""
    done = {key_of(row) for row in known()}
    for part in parts:
        for one, n_sweeps in cases(part, most_rows):
            if key_of(one) in done:
                continue
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                seconds, cpu, most, moved = pool.submit(measured, folder, one, n_sweeps).result()
            row = one | {"seconds": f"{seconds:.4g}", "cpu": f"{cpu:.4g}", "peak": most, "bytes": moved}
            is_new = not RESULTS.exists()
            with RESULTS.open("a", newline="") as file:
                writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                if is_new:
                    writer.writeheader()
                writer.writerow(row)
            print(row, f"load {os.getloadavg()[0]:.1f}", flush=True)


def table():
    """Print the tables of docs/results/scale.md."""
    rows = known()
    for part in PARTS:
        print(
            f"\n| {part}: rows | scan | blocks | cores | max_memory | s per sweep | CPU s | peak, MB | MB per sweep |"
        )
        print("| --- " * 9 + "|")
        for row in rows:
            if row["part"] == part:
                shown = [row["rows"], row["scan"], row["home"], row["cores"], row["max_memory"]]
                shown += [row["seconds"], row["cpu"]]
                sizes = [f"{float(row[name]) / 1e6:.2f}" for name in ("peak", "bytes")]
                print("| " + " | ".join([*shown, *sizes]) + " |")


PARTS = ("overhead", "workers", "bytes", "memory", "rows")


def main():
    """Run the measurements, or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("parts", nargs="*", default=[])
    parser.add_argument("--most-rows", type=float, default=1e7)
    parser.add_argument("--folder", default=str(Path(tempfile.gettempdir()) / "softpolytope-scale"))
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    if given.table:
        table()
        return
    Path(given.folder).mkdir(exist_ok=True)
    run(given.parts or PARTS, given.most_rows, given.folder)


if __name__ == "__main__":
    main()
