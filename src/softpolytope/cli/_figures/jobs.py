"""What the figures need that takes time."""

from pathlib import Path

from softpolytope.cli._figures import polya_gamma
from softpolytope.cli._figures.fits import Protocol, fit_and_keep, kept_model
from softpolytope.cli._figures.plan import Figure
from softpolytope.paper._jobs import Job


def jobs_for(figures: list[Figure], protocol: Protocol, folder: Path) -> list[Job]:
    """What the figures need and an earlier run has not left, longest first."""
    jobs = {}
    for figure in figures:
        for fit in figure.fits:
            if fit.name not in jobs and kept_model(fit, protocol, folder) is None:
                jobs[fit.name] = Job(fit.name, fit.seconds, fit_and_keep, (fit, protocol, folder))
        if figure.kind == "polya_gamma":
            arguments = (protocol.seed, protocol.n_polya_gamma, folder)
            if polya_gamma.kept_histograms(*arguments) is None:
                jobs["polya_gamma"] = Job("polya_gamma", polya_gamma.SECONDS, polya_gamma.draw_and_keep, arguments)
    return sorted(jobs.values(), key=lambda job: -job.expected_seconds)
