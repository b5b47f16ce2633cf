"""The figure of the Polya-Gamma sampler: histograms of a long truncated sum and of short ones."""

import io
from pathlib import Path
from typing import Any

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.cli._figures.panels import six_panels, write_whole
from softpolytope.distributions import polya_gamma

SHAPE, TILT = 0.9, 2.0
MANY_TERMS = 1000
FEW_TERMS = (1, 2, 4)
EDGES = np.linspace(0.0, 1.0, 101)
# The long sum takes this many draws at a time.
CHUNK = 20_000
FILE_NAME = "polya_gamma.npz"
SECONDS = 55.0  # on one core, about


def kept_histograms(seed: int, n_draws: int, folder: Path) -> FloatArray | None:
    """Counts (1 + few, bins) of an earlier run with the same seed and number of draws."""
    path = folder / FILE_NAME
    if not path.is_file():
        return None
    with np.load(path) as file:
        is_same = int(file["seed"]) == seed and int(file["n_draws"]) == n_draws
        return np.asarray(file["counts"], dtype=np.float64) if is_same else None


def draw_and_keep(seed: int, n_draws: int, folder: Path) -> None:
    """Draw and count; the file appears when it is complete."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((1 + len(FEW_TERMS), len(EDGES) - 1))
    for row, terms in enumerate((MANY_TERMS, *FEW_TERMS)):
        for start in range(0, n_draws, CHUNK):
            draws = polya_gamma(SHAPE, TILT, rng, size=min(CHUNK, n_draws - start), terms=terms)
            counts[row] += np.histogram(draws, EDGES)[0]
    buffer = io.BytesIO()
    np.savez(buffer, counts=counts, seed=seed, n_draws=n_draws)
    write_whole(folder / FILE_NAME, buffer.getvalue())


def draw_polya_gamma(title: str, seed: int, n_draws: int, folder: Path) -> Any:
    """Panels (a) to (f): for 1, 2 and 4 terms both histograms, and how much they differ."""
    counts = kept_histograms(seed, n_draws, folder)
    if counts is None:
        raise FileNotFoundError(f"there is no {FILE_NAME} in {folder}; let the command make it.")
    figure, axes = six_panels(title)
    shares = counts / n_draws
    centres = 0.5 * (EDGES[1:] + EDGES[:-1])
    # Of the difference between two independent shares p of n draws: within two of these there is nothing to see.
    noise = 2.0 * np.sqrt(2.0 * shares[0] * (1.0 - shares[0]) / n_draws)
    for column, terms in enumerate(FEW_TERMS):
        upper, lower = axes[:, column]
        few = "1 term" if terms == 1 else f"{terms} terms"
        upper.step(centres, shares[0], where="mid", color="#D55E00", label=f"{MANY_TERMS:,} terms")
        upper.step(centres, shares[1 + column], where="mid", color="#0072B2", linestyle="--", label=few)
        upper.set(title=f"({'ace'[column]}) histograms", ylabel="share of the draws")
        upper.legend(frameon=False)
        lower.fill_between(centres, -noise, noise, color="lightgrey", label="two standard errors")
        lower.plot(centres, shares[1 + column] - shares[0], color="#0072B2", label="difference")
        lower.set(title=f"({'bdf'[column]}) difference", xlabel="x", ylabel="share of the draws")
        lower.legend(frameon=False)
    return figure
