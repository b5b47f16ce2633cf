"""Fits what the figures need and draws each of them as soon as possible."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from softpolytope._format import format_duration
from softpolytope.datasets import VARIABLE
from softpolytope.paper._jobs import Report, run_reported
from softpolytope.paper.figures._catalog import PaperFigure, missing_jobs, select_figures
from softpolytope.paper.figures._drawing import save_figure
from softpolytope.paper.figures._models import FigureProtocol


def reproduce_figures(
    folder: Path,
    names: Sequence[str] | None = None,
    protocol: FigureProtocol | None = None,
    *,
    n_processes: int = 2,
    report: Report = print,
) -> None:
    """Draw figures of the paper.

    Fitted models are stored beside the pictures: a second call draws without fitting, and continues after a stop.

    Parameters
    ----------
    folder : Path
        Folder for pictures and models, created if needed.
    names : sequence of str, optional
        Numbers of figures, or beginnings of their names; by default all fifteen.
    protocol : FigureProtocol, optional
        Settings of the chains; by default the paper's.
    n_processes : int
        Fits at a time.
    report : callable
        Called with each line of progress.
    """
    protocol = protocol or FigureProtocol()
    start = time.monotonic()
    figures = _drop_without_data(select_figures(names), protocol.data_home, report)
    folder.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(folder)
    jobs = missing_jobs(figures, protocol, folder)
    if jobs:
        report(f"{len(jobs)} fits to run, {n_processes} at a time.")
    missing = {job.name for job in jobs}
    try:
        waiting = _draw_ready(figures, missing, protocol, folder, report)
        for job in run_reported(jobs, n_processes, report):
            missing.discard(job.name)
            waiting = _draw_ready(waiting, missing, protocol, folder, report)
    except KeyboardInterrupt:
        _remove_leftovers(folder)
        raise
    report(f"{len(figures)} figures in {folder}, {format_duration(time.monotonic() - start)}.")


def _drop_without_data(figures: list[PaperFigure], data_home: Path | None, report: Report) -> list[PaperFigure]:
    """Drop and report the figures of benchmark sets if no folder has been given for these."""
    if data_home is not None or os.environ.get(VARIABLE):
        return figures
    for figure in figures:
        if figure.needs_benchmarks:
            report(
                f"Figure {figure.number} ({figure.name}) is skipped: it needs benchmark sets, but data_home is not set."
            )
    return [figure for figure in figures if not figure.needs_benchmarks]


def _draw_ready(
    figures: list[PaperFigure], missing: set[str], protocol: FigureProtocol, folder: Path, report: Report
) -> list[PaperFigure]:
    """Draw the figures that need no missing job; return the others."""
    waiting = []
    for figure in figures:
        if missing & figure.needed_jobs:
            waiting.append(figure)
            continue
        path = folder / figure.file_name
        save_figure(figure.draw(protocol, folder), path)
        report(f"  {path}")
    return waiting


def _remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of a run that was killed while writing."""
    for suffix in ("png", "npz", "softpolytope"):
        for path in folder.glob(f".*.{suffix}.????????????????"):
            path.unlink(missing_ok=True)
