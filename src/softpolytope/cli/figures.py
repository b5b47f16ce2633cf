"""`softpolytope figures`: every figure of the paper, drawn anew."""

import argparse
import os
import sys
import time
from pathlib import Path

from softpolytope._format import format_duration as duration
from softpolytope.cli._figures.fits import Protocol
from softpolytope.cli._figures.jobs import jobs_for
from softpolytope.cli._figures.panels import remove_leftovers, save
from softpolytope.cli._figures.plan import Figure, chosen_figures
from softpolytope.datasets.benchmark import VARIABLE
from softpolytope.paper._jobs import Job, TimeLeft, run_jobs


def run(options: argparse.Namespace) -> int:
    """Fit what is missing, and draw each figure as soon as it can be."""
    try:
        figures = _with_data(chosen_figures(options.only), options.data_home)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    protocol = Protocol(
        seed=options.seed,
        sampler=options.sampler,
        n_sweeps=options.sweeps,
        n_draws=min(20, options.sweeps // 2),
        n_polya_gamma=options.polya_gamma_draws,
        data_home=options.data_home,
    )
    remove_leftovers(options.out)
    jobs = jobs_for(figures, protocol, options.out)
    try:
        _fit_and_draw(figures, jobs, protocol, options)
    except KeyboardInterrupt:
        remove_leftovers(options.out)
        print("\nThe same command again goes on from here.")
        raise
    return 0


def _with_data(figures: list[Figure], data_home: Path | None) -> list[Figure]:
    """Leave out, and say so, what needs files of which nobody said where they are."""
    if data_home is not None or os.environ.get(VARIABLE):
        return figures
    for figure in figures:
        if figure.needs_files:
            print(f"Figure {figure.number} ({figure.name}) is left out: it needs benchmark sets, see --data-home.")
    return [figure for figure in figures if not figure.needs_files]


def _fit_and_draw(figures: list[Figure], jobs: list[Job], protocol: Protocol, options: argparse.Namespace) -> None:
    start = time.monotonic()
    n_processes = max(1, options.jobs)
    if jobs:
        print(f"{len(jobs)} fits to make, {n_processes} at a time.", flush=True)
    missing = {job.name for job in jobs}
    waiting = _draw_ready(figures, missing, protocol, options.out)
    time_left = TimeLeft(jobs, n_processes)
    for finished in run_jobs(jobs, n_processes):
        job, seconds = finished.job, finished.seconds
        missing.discard(job.name)
        left = time_left.after(job, seconds)
        done = f"[{len(jobs) - len(missing)}/{len(jobs)}] {job.name}: {seconds:.0f} s"
        print(done + (f"; about {duration(left)} left" if missing else ""), flush=True)
        waiting = _draw_ready(waiting, missing, protocol, options.out)
    print(f"{len(figures)} figures in {options.out}, {duration(time.monotonic() - start)}.")


def _draw_ready(figures: list[Figure], missing: set[str], protocol: Protocol, folder: Path) -> list[Figure]:
    """Draw the figures that lack nothing; returns the others."""
    waiting = []
    for figure in figures:
        if missing & figure.needs:
            waiting.append(figure)
            continue
        save(figure.drawn(protocol, folder), folder / figure.file_name)
        print(f"  {folder / figure.file_name}", flush=True)
    return waiting
