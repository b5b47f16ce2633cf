"""The figures of the paper: the fits each of them needs, its drawing, and the run of all of them."""

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from softpolytope._format import format_duration
from softpolytope.datasets import VARIABLE
from softpolytope.exceptions import ReproductionError
from softpolytope.paper._jobs import Job, Report, run_with_reports
from softpolytope.paper.figures import _polya_gamma
from softpolytope.paper.figures._drawing import describe_chain, draw_best, draw_posterior, draw_weights, save_figure
from softpolytope.paper.figures._models import FigureModel, FigureProtocol, fit_and_save, load_fitted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Kind = Literal["best", "posterior", "weights", "polya_gamma"]


@dataclass(frozen=True, slots=True)
class PaperFigure:
    """A figure of the paper."""

    number: int  # in the paper
    name: str
    kind: Kind
    models: tuple[FigureModel, ...]
    title: str

    @property
    def needs_benchmarks(self) -> bool:
        """Whether its rows come from files that are not part of the package."""
        return any(model.is_benchmark for model in self.models)

    @property
    def needed_jobs(self) -> set[str]:
        """Names of the jobs whose files it is drawn from."""
        return {_polya_gamma.NAME} if self.kind == "polya_gamma" else {model.name for model in self.models}

    def draw(self, protocol: FigureProtocol, folder: Path) -> "Figure":
        """Return the matplotlib figure, drawn from the files in `folder`."""
        title = f"Figure {self.number}: {self.title}"
        if self.kind == "polya_gamma":
            return _polya_gamma.draw_polya_gamma(title, protocol.seed, protocol.n_polya_gamma, folder)
        fitted = {}
        for model in self.models:
            classifier = load_fitted(model, protocol, folder)
            if classifier is None:
                raise FileNotFoundError(f"There is no model {model.path(folder)} of this protocol.")
            fitted[model.data] = classifier
        if self.kind == "weights":
            return draw_weights(title, fitted)
        (model,) = self.models
        draw = draw_best if self.kind == "best" else draw_posterior
        classifier = fitted[model.data]
        return draw(f"{title} ({describe_chain(classifier)})", model, classifier, model.rows(protocol))


# Seconds on one core, as measured for docs/results/figures.md. They affect only the order of the fits and the estimate
# of the time left.
_TWO_DIMENSIONAL = (
    (1, "circle_sum", FigureModel("circle", "sum", 1, 4.0), "sum-softplus regression, circle"),
    (3, "circle_stack", FigureModel("circle", "stack", 20, 14.0), "stack-softplus regression, circle"),
    (5, "circle_sum_stack", FigureModel("circle", "sum_stack", 20, 45.0), "sum-stack-softplus regression, circle"),
    (7, "banana", FigureModel("banana", "sum_stack", 20, 60.0), "sum-stack-softplus regression, banana"),
    (12, "xor", FigureModel("xor", "sum_stack", 20, 30.0), "sum-stack-softplus regression, XOR"),
    (14, "double_moon", FigureModel("double_moon", "sum_stack", 20, 95.0),
     "sum-stack-softplus regression, double moon"),
)  # fmt: skip
# Seconds of a sum, and of a sum of stacks.
_SETS = {
    "banana": (5.0, 22.0),
    "breast_cancer": (3.0, 10.0),
    "titanic": (2.0, 5.0),
    "waveform": (7.0, 23.0),
    "german": (11.0, 35.0),
    "image": (21.0, 90.0),
    "ijcnn1": (45.0, 85.0),
    "a9a": (45.0, 95.0),
}


def all_figures() -> list[PaperFigure]:
    """Return the figures of the paper in its order."""
    sums = tuple(FigureModel(name, "sum", 1, seconds) for name, (seconds, _) in _SETS.items())
    stacks = tuple(FigureModel(name, "sum_stack", 5, seconds) for name, (_, seconds) in _SETS.items())
    figures = [
        PaperFigure(9, "weights_sum", "weights", sums, "weights of the experts, sum-softplus regression"),
        PaperFigure(10, "weights_sum_stack", "weights", stacks,
                    "weights of the experts, sum-stack-softplus regression, T = 5"),
        PaperFigure(11, "polya_gamma", "polya_gamma", (), "draws of PG(0.9, 2) by sums of gammas"),
    ]  # fmt: skip
    for number, name, model, title in _TWO_DIMENSIONAL:
        figures.append(PaperFigure(number, name, "best", (model,), f"{title}, best draw"))
        figures.append(PaperFigure(number + 1, f"{name}_posterior", "posterior", (model,), f"{title}, posterior"))
    return sorted(figures, key=lambda figure: figure.number)


def select_figures(names: Sequence[str] | None) -> list[PaperFigure]:
    """Return the figures whose number, or the beginning of whose name, is among `names`; all if it is None."""
    figures = all_figures()
    if names is None:
        return figures
    selected = []
    for name in names:
        found = [item for item in figures if name == str(item.number) or (name and item.name.startswith(name))]
        if not found:
            known = ", ".join(f"{item.number} {item.name}" for item in figures)
            raise ReproductionError(f"There is no figure {name!r}. Choose from {known}.")
        selected += found
    return [figure for figure in figures if figure in selected]


def missing_jobs(figures: Iterable[PaperFigure], protocol: FigureProtocol, folder: Path) -> list[Job]:
    """Return the jobs that the figures need and no earlier run has finished, longest first."""
    jobs = {}
    for figure in figures:
        for model in figure.models:
            if model.name not in jobs and load_fitted(model, protocol, folder) is None:
                jobs[model.name] = Job(model.name, model.expected_seconds, fit_and_save, (model, protocol, folder))
        if figure.kind == "polya_gamma":
            arguments = (protocol.seed, protocol.n_polya_gamma, folder)
            if _polya_gamma.load_histograms(*arguments) is None:
                seconds = _polya_gamma.EXPECTED_SECONDS
                jobs[_polya_gamma.NAME] = Job(_polya_gamma.NAME, seconds, _polya_gamma.draw_and_save, arguments)
    return sorted(jobs.values(), key=lambda job: -job.expected_seconds)


def reproduce_figures(
    folder: Path,
    names: Sequence[str] | None = None,
    protocol: FigureProtocol | None = None,
    *,
    n_processes: int = 2,
    report: Report = print,
) -> None:
    """Draw figures of the paper.

    Fitted models are stored next to the pictures: a second call draws without fitting, and resumes an interrupted run.

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
        for job in run_with_reports(jobs, n_processes, report):
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
        path = folder / f"figure{figure.number:02d}_{figure.name}.png"
        save_figure(figure.draw(protocol, folder), path)
        report(f"  {path}")
    return waiting


def _remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of a run that was killed while writing."""
    for suffix in ("png", "npz", "softpolytope"):
        for path in folder.glob(f".*.{suffix}.????????????????"):
            path.unlink(missing_ok=True)
