"""Runs the fits that are missing, and writes the page of all there are."""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from softpolytope._files import check_writable
from softpolytope._format import format_duration
from softpolytope.datasets import n_partitions
from softpolytope.exceptions import ReproductionError, UnwritablePathError
from softpolytope.paper._jobs import Job, Report, run_with_reports
from softpolytope.paper._protocol import TableProtocol
from softpolytope.paper.tables._fits import expected_seconds
from softpolytope.paper.tables._measure import failure_path, fit_and_store
from softpolytope.paper.tables._page import write_page
from softpolytope.paper.tables._plan import BY_KEY, N_PARTITIONS, SETS, SMALL, PlannedFit, plan_fits
from softpolytope.paper.tables._results import (
    Archive,
    ArchiveComparison,
    compare_archives,
    data_hash,
    load_fit,
    read_archive,
    unpack_archive,
)

QUICK = TableProtocol(n_sweeps=100, n_draws=10)
QUICK_SETS = ("banana", "titanic")
REQUIRED_PACKAGES = ("fastrvm", "numba", "matplotlib")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRequest:
    """A run of the tables.

    Parameters
    ----------
    folder : Path
        Folder for the results and, by default, the page.
    data_home : Path, optional
        Folder of the benchmark sets; by default the one that the environment variable SOFTPOLYTOPE_DATA names.
    sets : sequence of str, optional
        Names of sets; by default all eight, or banana and titanic if `is_quick`.
    methods : sequence of str, optional
        Keys of methods, such as "svm" or "ss5"; by default all.
    is_quick : bool
        Whether to run one partition with short chains, which takes a minute.
    n_processes : int
        Fits at a time.
    n_large_trials : int
        Seeds on ijcnn1 and a9a; the paper has 5, which take hours each.
    known : Path, optional
        Archive of an earlier run (.jsonl), whose fits are not run again.
    check : Path, optional
        Archive of an earlier run to compare this one with.
    page : Path, optional
        The page to write (.md); by default reproduction.md in the folder.
    """

    folder: Path
    data_home: Path | None = None
    sets: Sequence[str] | None = None
    methods: Sequence[str] | None = None
    is_quick: bool = False
    n_processes: int = 2
    n_large_trials: int = 1
    known: Path | None = None
    check: Path | None = None
    page: Path | None = None

    @property
    def n_partitions(self) -> int:
        """Partitions of each small set."""
        return 1 if self.is_quick else N_PARTITIONS

    @property
    def fit_folder(self) -> Path:
        """Folder of the fits' files."""
        return self.folder / ("quick" if self.is_quick else "cells")

    @property
    def page_path(self) -> Path:
        """The page to write."""
        return self.page or (self.fit_folder if self.is_quick else self.folder) / "reproduction.md"


@dataclass(frozen=True, slots=True)
class TableOutcome:
    """The page written, the files with tracebacks of failed fits, and the comparison that was requested."""

    page: Path
    failures: list[Path]
    comparison: ArchiveComparison | None

    @property
    def is_success(self) -> bool:
        """Whether no fit failed and the comparison, if any, found no difference."""
        return not self.failures and (self.comparison is None or self.comparison.is_equal)


def reproduce_tables(request: TableRequest, report: Report = print) -> TableOutcome:
    """Run the fits of the paper's tables that are not stored yet, and write the page of all that are.

    Every finished fit is a file in the folder: a second call resumes an interrupted run, repeats failed fits, and
    changes nothing else. `report` is called with each line of progress.
    """
    _check_packages()
    sets = _select("sets", request.sets or (QUICK_SETS if request.is_quick else SETS), SETS)
    methods = [BY_KEY[key] for key in _select("methods", request.methods or BY_KEY, BY_KEY)]
    _check_data(sets, request)
    protocol = QUICK if request.is_quick else TableProtocol()
    folder, page = request.fit_folder, request.page_path
    known, checked = (read_archive(path) if path else {} for path in (request.known, request.check))
    folder.mkdir(parents=True, exist_ok=True)
    _check_page(page, request.check)
    unpack_archive(known, protocol, folder)
    hashes = {name: data_hash(name, request.data_home) for name in sets}
    if request.known is not None:
        _check_known(page, request.known, known.keys() - _stored_fits(protocol, folder, hashes).keys())
    wanted = plan_fits(sets, methods, request.n_partitions, request.n_large_trials)
    failures = _run_missing(wanted, protocol, request, report)
    found = _stored_fits(protocol, folder, hashes)
    write_page(list(found.values()), protocol, page)
    return TableOutcome(page, failures, compare_archives(found, checked) if request.check else None)


def _run_missing(
    wanted: Sequence[PlannedFit], protocol: TableProtocol, request: TableRequest, report: Report
) -> list[Path]:
    """Run the fits that are not stored; return the files with tracebacks of those that failed."""
    start, folder, home = time.monotonic(), request.fit_folder, request.data_home
    missing = [fit for fit in wanted if load_fit(fit, protocol, folder, data_hash(fit.set_name, home)) is None]
    # Small sets first, which have most of the paper's numbers; in each group the longest first, so that no process
    # runs an hour longer than the others.
    missing.sort(key=lambda fit: (fit.is_large, -expected_seconds(fit, protocol)))
    jobs = [
        Job(fit.name, expected_seconds(fit, protocol), fit_and_store, (fit, protocol, home, folder)) for fit in missing
    ]
    seconds = sum(job.expected_seconds for job in jobs) / request.n_processes
    rest = f"; {len(jobs)} to run, {request.n_processes} at a time, about {format_duration(seconds)}" if jobs else ""
    report(f"{len(wanted)} fits, {len(wanted) - len(missing)} of them stored{rest}.")
    for _ in run_with_reports(jobs, request.n_processes, report):
        pass
    if jobs:
        report(f"{len(jobs)} fits in {format_duration(time.monotonic() - start)}.")
    return [path for fit in missing if (path := failure_path(fit, folder)).is_file()]


def _stored_fits(protocol: TableProtocol, folder: Path, hashes: dict[str, str]) -> Archive:
    """Return all fits in the folder, those of the sets in `hashes` only if their data are the same."""
    found = {fit: load_fit(fit, protocol, folder, hashes.get(fit.set_name)) for fit in plan_fits()}
    return {fit: item for fit, item in found.items() if item is not None}


def _select(argument: str, names: Collection[str], known: Collection[str]) -> list[str]:
    """Return the names in the paper's order; raise if one is unknown."""
    for name in names:
        if name not in known:
            raise ReproductionError(f"{argument} must be among {', '.join(known)}; got {name!r}.")
    return [name for name in known if name in names]


def _check_packages() -> None:
    for name in REQUIRED_PACKAGES:
        if find_spec(name) is None:
            raise ImportError(f"The tables need the package {name}: pip install softpolytope[paper].")


def _check_data(sets: Sequence[str], request: TableRequest) -> None:
    """Raise before any fit if a set has no file, too few partitions or a damaged file."""
    for name in sets:
        try:
            n_known = n_partitions(name, request.data_home)
        except (FileNotFoundError, ValueError) as error:
            raise ReproductionError(str(error)) from None
        if name in SMALL and n_known < request.n_partitions:
            raise ReproductionError(
                f"The file of {name} has {n_known} partitions, but the tables need {request.n_partitions}."
            )


def _check_page(page: Path, checked: Path | None) -> None:
    """Raise before any fit if the page cannot be written, or one of its files is the archive to compare with."""
    if page.suffix != ".md":
        raise ReproductionError(f"page must be a Markdown file (.md); got {page}.")
    page.parent.mkdir(parents=True, exist_ok=True)
    for suffix in (".md", ".csv", ".jsonl"):
        try:
            check_writable(page.with_suffix(suffix), checked)
        except UnwritablePathError as error:
            raise ReproductionError(f"{error} Choose another page.") from None


def _check_known(page: Path, known: Path, lost: Collection[PlannedFit]) -> None:
    """Raise if the page would replace an archive that has fits which the page will not have."""
    archive = page.with_suffix(".jsonl")
    if lost and archive.exists() and archive.samefile(known):
        name = min(fit.name for fit in lost)
        raise ReproductionError(
            f"{known} has {len(lost)} fits with other settings or data, such as {name}, and would lose them. "
            f"Choose another page than {page}."
        )
