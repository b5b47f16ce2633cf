"""Runs the cells that are missing, and writes the page."""

import argparse
import sys
import time
from collections.abc import Collection, Sequence
from importlib.util import find_spec
from pathlib import Path

from reproduction.archive import differing, read_archive, unpack
from reproduction.cells import Kept, data_hash, failure_file, kept, run_and_keep
from reproduction.costs import expected_seconds
from reproduction.page import write_page
from reproduction.plan import BY_KEY, LARGE, METHODS, N_LARGE_TRIALS, N_PARTITIONS, SMALL, Cell, Method, cells
from reproduction.softplus import SoftplusProtocol
from softpolytope._format import format_duration as duration
from softpolytope.cli._errors import FINE, NEGATIVE, CommandError
from softpolytope.cli._output import check_output
from softpolytope.datasets.benchmark import n_partitions
from softpolytope.paper._jobs import Job, TimeLeft, run_jobs

QUICK = SoftplusProtocol(n_sweeps=100, n_draws=10)
QUICK_SETS = ("banana", "titanic")
NEEDED = ("fastrvm", "numba", "matplotlib")


def run(options: argparse.Namespace) -> int:
    """Run what is missing, two fits at a time, and write the page of all there is."""
    _check_packages()
    sets, methods = _chosen_sets(options), _chosen_methods(options.methods)
    _check_data(sets, options.data_home, 1 if options.quick else N_PARTITIONS)
    protocol = QUICK if options.quick else SoftplusProtocol()
    folder = options.out / ("quick" if options.quick else "cells")
    known, checked = (read_archive(path) if path else {} for path in (options.known, options.check))
    folder.mkdir(parents=True, exist_ok=True)
    page = options.page or (folder if options.quick else options.out) / "reproduction.md"
    _check_page(page, options.check)
    unpack(known, protocol, folder)
    hashes = {name: data_hash(name, options.data_home) for name in sets}
    if options.known is not None:
        _check_archive(page, options.known, known.keys() - _all_kept(protocol, folder, hashes).keys())
    wanted = cells(sets, methods, 1 if options.quick else N_PARTITIONS, options.trials)
    failures = _run_missing(wanted, protocol, options, folder)
    found = _all_kept(protocol, folder, hashes)
    write_page(list(found.values()), protocol, page)
    print(page)
    has_changed = options.check is not None and _tell_differences(found, checked, options.check)
    for path in failures:
        print(f"a fit failed: {path} has the reason. The same command tries it again.", file=sys.stderr)
    return NEGATIVE if failures or has_changed else FINE


def _tell_differences(found: dict[Cell, Kept], checked: dict[Cell, Kept], path: Path) -> bool:
    """Compare with an earlier run; returns whether anything differs, or there is nothing to compare."""
    n_shared, told = differing(found, checked)
    print(f"{n_shared} fits are in {path} too; {n_shared - len(told)} of them have the same numbers.")
    for line in told:
        print(f"differs: {line}", file=sys.stderr)
    return bool(told) or n_shared == 0


def _run_missing(
    wanted: Sequence[Cell], protocol: SoftplusProtocol, options: argparse.Namespace, folder: Path
) -> list[Path]:
    """Run what is not there; returns the files that tell of failures."""
    missing = [
        cell for cell in wanted if kept(cell, protocol, folder, data_hash(cell.set_name, options.data_home)) is None
    ]
    # Small sets first, which have most of the paper's numbers; of each kind the longest first, so that no process ends
    # with an hour's work while the other has none.
    jobs = sorted(
        (
            Job(cell.name, expected_seconds(cell, protocol), run_and_keep, (cell, protocol, options.data_home, folder))
            for cell in missing
        ),
        key=lambda job: (job.arguments[0].set_name in LARGE, -job.expected_seconds),
    )
    seconds = sum(job.expected_seconds for job in jobs) / options.jobs
    rest = f", about {duration(seconds)}" if jobs else ""
    print(
        f"{len(wanted)} cells, {len(wanted) - len(missing)} of them there, {options.jobs} at a time{rest}.", flush=True
    )
    time_left = TimeLeft(jobs, options.jobs)
    start = time.monotonic()
    try:
        for n_done, finished in enumerate(run_jobs(jobs, options.jobs), start=1):
            job, seconds = finished.job, finished.seconds
            left = time_left.after(job, seconds)
            rest = f"; about {duration(left)} left" if n_done < len(jobs) else ""
            end = "failed after " if failure_file(job.arguments[0], folder).is_file() else ""
            print(f"[{n_done}/{len(jobs)}] {job.name}: {end}{seconds:.1f} s{rest}", flush=True)
    except KeyboardInterrupt:
        print("\nThe same command again goes on from here.")
        raise
    if jobs:
        print(f"{len(jobs)} cells in {duration(time.monotonic() - start)}.")
    return [path for cell in missing if (path := failure_file(cell, folder)).is_file()]


def _all_kept(protocol: SoftplusProtocol, folder: Path, hashes: dict[str, str]) -> dict[Cell, Kept]:
    """All that is in the folder, of this run and of earlier ones; of the sets of this run, what is of the same data."""
    every = cells((*SMALL, *LARGE), METHODS, N_PARTITIONS, N_LARGE_TRIALS)
    found = {cell: kept(cell, protocol, folder, hashes.get(cell.set_name)) for cell in every}
    return {cell: item for cell, item in found.items() if item is not None}


def _chosen_sets(options: argparse.Namespace) -> tuple[str, ...]:
    known = (*SMALL, *LARGE)
    if options.sets is None:
        return QUICK_SETS if options.quick else known
    for name in options.sets:
        if name not in known:
            raise CommandError(f"--sets takes {', '.join(known)}; got {name}.")
    return tuple(name for name in known if name in options.sets)


def _chosen_methods(keys: list[str] | None) -> tuple[Method, ...]:
    for key in keys or ():
        if key not in BY_KEY:
            raise CommandError(f"--methods takes {', '.join(BY_KEY)}; got {key}.")
    return tuple(method for method in METHODS if keys is None or method.key in keys)


def _check_data(sets: Sequence[str], data_home: Path | None, n_needed: int) -> None:
    """Raise now, not after hours, if there is no file of a set, or it has too few partitions or is no such file."""
    for name in sets:
        try:
            n_known = n_partitions(name, data_home)
        except (FileNotFoundError, ValueError) as error:
            raise CommandError(str(error)) from None
        if name in SMALL and n_known < n_needed:
            raise CommandError(f"{name} has {n_known} partitions in its file; the tables need {n_needed}.")


def _check_page(page: Path, checked: Path | None) -> None:
    """Raise now if the page, or what goes beside it, cannot be written, or is what a run is compared with."""
    if page.suffix != ".md":
        raise CommandError(f"--page takes a file of Markdown, .md; got {page}.")
    page.parent.mkdir(parents=True, exist_ok=True)
    for suffix in (".md", ".csv", ".jsonl"):
        check_output(page.with_suffix(suffix), checked, option="--page")


def _check_archive(page: Path, known: Path, lost: Collection[Cell]) -> None:
    """Raise if the page would take the place of an archive that has fits which the page has not."""
    archive = page.with_suffix(".jsonl")
    if lost and archive.exists() and archive.samefile(known):
        name = min(cell.name for cell in lost)
        raise CommandError(
            f"{known} has {len(lost)} fits of other settings or data, {name} among them, and would lose them. "
            f"Name another page than {page} (--page)."
        )


def _check_packages() -> None:
    for module in NEEDED:
        if find_spec(module) is None:
            raise CommandError(f'the baselines need {module}. Run pip install "softpolytope[benchmarks]".')
