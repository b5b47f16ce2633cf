"""The figure of the Polya-Gamma sampler: histograms of a long truncated sum and of short ones."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softpolytope._files import atomic_write
from softpolytope._typing import FloatArray
from softpolytope.distributions import polya_gamma
from softpolytope.paper.figures._drawing import make_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHAPE, TILT = 0.9, 2.0
MANY_TERMS = 1000
FEW_TERMS = (1, 2, 4)
EDGES = np.linspace(0.0, 1.0, 101)
# Draws at a time, which bounds the memory of the long sum.
CHUNK = 20_000
NAME = "polya_gamma"
FILE_NAME = f"{NAME}.npz"
EXPECTED_SECONDS = 55.0  # on one core


def load_histograms(seed: int, n_draws: int, folder: Path) -> FloatArray | None:
    """Return counts (1 + few, bins) of an earlier run with the same seed and number of draws, or None."""
    path = folder / FILE_NAME
    if not path.is_file():
        return None
    with np.load(path) as file:
        is_same = int(file["seed"]) == seed and int(file["n_draws"]) == n_draws
        return np.asarray(file["counts"], dtype=np.float64) if is_same else None


def draw_and_save(seed: int, n_draws: int, folder: Path) -> None:
    """Draw from the truncated sums and write the counts of their histograms."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((1 + len(FEW_TERMS), len(EDGES) - 1))
    for row, terms in enumerate((MANY_TERMS, *FEW_TERMS)):
        for start in range(0, n_draws, CHUNK):
            draws = polya_gamma(SHAPE, TILT, rng, size=min(CHUNK, n_draws - start), terms=terms)
            counts[row] += np.histogram(draws, EDGES)[0]
    with atomic_write(folder / FILE_NAME) as file:
        np.savez(file, counts=counts, seed=seed, n_draws=n_draws)


def draw_polya_gamma(title: str, seed: int, n_draws: int, folder: Path) -> "Figure":
    """Draw panels (a) to (f): for 1, 2 and 4 terms, both histograms and their difference."""
    counts = load_histograms(seed, n_draws, folder)
    if counts is None:
        raise FileNotFoundError(f"There is no {FILE_NAME} in {folder} with seed {seed} and {n_draws} draws.")
    figure, axes = make_panels(title, 3)
    shares = counts / n_draws
    centers = 0.5 * (EDGES[1:] + EDGES[:-1])
    # Two standard errors of the difference between two independent shares p of n draws.
    noise = 2.0 * np.sqrt(2.0 * shares[0] * (1.0 - shares[0]) / n_draws)
    for column, terms in enumerate(FEW_TERMS):
        upper, lower = axes[0][column], axes[1][column]
        few = "1 term" if terms == 1 else f"{terms} terms"
        upper.step(centers, shares[0], where="mid", color="#D55E00", label=f"{MANY_TERMS:,} terms")
        upper.step(centers, shares[1 + column], where="mid", color="#0072B2", linestyle="--", label=few)
        upper.set(title=f"({'ace'[column]}) histograms", ylabel="share of the draws")
        upper.legend(frameon=False)
        lower.fill_between(centers, -noise, noise, color="lightgrey", label="two standard errors")
        lower.plot(centers, shares[1 + column] - shares[0], color="#0072B2", label="difference")
        lower.set(title=f"({'bdf'[column]}) difference", xlabel="x", ylabel="share of the draws")
        lower.legend(frameon=False)
    return figure
