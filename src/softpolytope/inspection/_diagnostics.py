"""Convergence diagnostics of chains: rank-normalized split R-hat and effective sample sizes (Vehtari et al. 2021).

Experts have no identity across draws, so only quantities that do not depend on their order are diagnosed: the
log-likelihood, probabilities at given rows and the number of experts with counts.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from softpolytope._typing import FloatArray
from softpolytope.model import FittedModel, RegressionPosterior

# Chains disagree above this. Vehtari et al. recommend 1.01 for four chains of a thousand draws; for two chains of 50
# draws, the number kept by default, R-hat exceeds that more often than not, however well they mix.
MAX_R_HAT = 1.05
# Largest fraction of fits with perfectly mixing chains that get a warning.
FALSE_ALARMS = 0.01
# Prefix of the names of probabilities at training rows; all other quantities are recorded at every sweep.
PROBABILITY = "probability at training row"
# Quantiles are unreliable below this many effective draws.
MIN_EFFECTIVE = 50
# R-hat and ESS use halves of chains, with at least two draws each.
MIN_DRAWS = 4


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Diagnostics of the draws of one quantity."""

    name: str
    r_hat: float  # near 1 if the chains agree
    bulk_ess: float  # effective draws for means
    tail_ess: float  # effective draws for the 5 % and 95 % quantiles
    odd_chains: tuple[int, ...]  # chains without one of which the others would agree

    @property
    def is_fine(self) -> bool:
        """Return whether the chains agree."""
        return self.r_hat <= MAX_R_HAT


def diagnose(quantities: Mapping[str, ArrayLike]) -> list[Diagnosis]:
    """Diagnose quantities given as arrays (chains, draws).

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.inspection import diagnose
    >>> draws = np.random.default_rng(0).normal(size=(4, 500))
    >>> draws[2] += 5.0
    >>> diagnose({"log-likelihood": draws})[0].odd_chains
    (2,)
    """
    found = []
    for name, values in quantities.items():
        draws = _validate_draws(name, values)
        found.append(Diagnosis(name, r_hat(draws), bulk_ess(draws), tail_ess(draws), odd_chains(draws)))
    return found


def in_words(diagnoses: list[Diagnosis]) -> list[str]:
    """Describe each problem in one plain sentence; return an empty list if there is none."""
    sentences = []
    for item in diagnoses:
        if not item.is_fine:
            which = ""
            if item.odd_chains:
                numbers = ", ".join(str(chain) for chain in item.odd_chains)
                which = f"; without chain {numbers} the others would agree"
            sentences.append(
                f"The chains disagree about the {item.name} (R-hat {item.r_hat:.2f}{which}): they have found different "
                "modes. Run more sweeps, or more chains, before trusting intervals."
            )
        elif min(item.bulk_ess, item.tail_ess) < MIN_EFFECTIVE:
            worth = f"{min(item.bulk_ess, item.tail_ess):.0f}"
            sentences.append(
                f"The draws of the {item.name} are worth only {worth} independent draws. "
                "Run more sweeps before relying on its quantiles."
            )
    return sentences


def disagreement(diagnoses: list[Diagnosis], n_chains: int, n_draws: int) -> str | None:
    """Return a warning if the chains, with `n_draws` kept draws each, disagree about the probabilities they predict.

    Users act on probabilities, but few draws of them are kept, and one of many rows may have a large R-hat by chance.
    It counts if it is larger than chance explains, or if the chains also disagree about a quantity that is recorded at
    every sweep: the log-likelihood or the number of experts.
    """
    rows = [item for item in diagnoses if item.name.startswith(PROBABILITY)]
    if not rows:
        return None
    is_confirmed = any(not item.is_fine for item in diagnoses if item not in rows)
    by_chance = MAX_R_HAT if is_confirmed else largest_by_chance(n_chains, n_draws, len(rows))
    worst = max(item.r_hat for item in rows)
    if worst <= max(MAX_R_HAT, by_chance):
        return None
    n_bad = sum(not item.is_fine for item in rows)
    return (
        f"The chains disagree about the probabilities they predict: R-hat is up to {worst:.2f}, and above "
        f"{MAX_R_HAT} at {n_bad} of the {len(rows)} probabilities compared. Run more sweeps (n_sweeps) before "
        "relying on probabilities and intervals; diagnostics() has all values."
    )


def largest_by_chance(n_chains: int, n_draws: int, n_quantities: int) -> float:
    """Return the R-hat that independent draws of any of n quantities exceed with probability `FALSE_ALARMS` at most.

    With m halves of chains of n draws, R-hat^2 = (n - 1 + F) / n, where F has an F law with m - 1 and m (n - 1) degrees
    of freedom: exactly for normal draws, nearly for ranks. R-hat is computed twice, for location and for spread.
    """
    n_halves, length = 2 * n_chains, n_draws // 2
    ratio = stats.f.isf(FALSE_ALARMS / (2 * n_quantities), n_halves - 1, n_halves * (length - 1))
    return float(np.sqrt((length - 1 + ratio) / length))


def n_draws_needed(level: float) -> int:
    """Return the smallest number of draws whose range covers another one with probability `level`, (n - 1) / (n + 1).

    Examples
    --------
    >>> from softpolytope.inspection import n_draws_needed
    >>> n_draws_needed(0.89)
    18
    """
    return math.ceil((1.0 + level) / (1.0 - level))


def _validate_draws(name: str, values: ArrayLike) -> FloatArray:
    """Return draws as an array (chains, draws); raise unless all are finite."""
    draws = np.asarray(values, dtype=np.float64)
    if draws.ndim != 2 or draws.shape[1] < MIN_DRAWS:
        raise ValueError(f"{name} must have shape (chains, draws) with at least {MIN_DRAWS} draws; got {draws.shape}.")
    if not np.isfinite(draws).all():
        raise ValueError(f"{name} contains NaN or infinite draws.")
    return draws


def r_hat(draws: FloatArray) -> float:
    """Return the rank-normalized split R-hat, the larger of those for location and spread."""
    halves = _split(draws)
    folded = np.abs(halves - np.median(halves))
    return max(_plain_r_hat(_rank_normalized(halves)), _plain_r_hat(_rank_normalized(folded)))


def bulk_ess(draws: FloatArray) -> float:
    """Return the effective number of draws of all chains for the center of the distribution."""
    return _ess(_rank_normalized(_split(draws)))


def tail_ess(draws: FloatArray) -> float:
    """Return the effective number of draws for the 5 % and 95 % quantiles, the smaller of the two."""
    halves = _split(draws)
    return min(_ess((halves <= np.quantile(halves, level)).astype(np.float64)) for level in (0.05, 0.95))


def odd_chains(draws: FloatArray) -> tuple[int, ...]:
    """Return the chains without one of which the others agree, if all together do not."""
    if len(draws) < 3 or r_hat(draws) <= MAX_R_HAT:
        return ()
    without = [r_hat(np.delete(draws, chain, axis=0)) for chain in range(len(draws))]
    return tuple(chain for chain, value in enumerate(without) if value <= MAX_R_HAT)


def _split(draws: FloatArray) -> FloatArray:
    """Return the halves of chains as chains; the middle draw of an odd number is left out."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _rank_normalized(draws: FloatArray) -> FloatArray:
    """Return the normal quantiles of the ranks of all draws; ties get their mean rank."""
    ranks = stats.rankdata(draws, axis=None).reshape(draws.shape)
    return np.asarray(stats.norm.ppf((ranks - 0.375) / (draws.size + 0.25)))


def _plain_r_hat(draws: FloatArray) -> float:
    n_draws = draws.shape[1]
    within = float(draws.var(axis=1, ddof=1).mean())
    between = float(draws.mean(axis=1).var(ddof=1))
    if within == 0.0:  # all chains constant: they agree if it is the same constant
        return 1.0 if between == 0.0 else np.inf
    return float(np.sqrt((n_draws - 1) / n_draws + between / within))


def _ess(draws: FloatArray) -> float:
    """Return the effective number of draws by Geyer's initial monotone sequence over all chains."""
    n_chains, n_draws = draws.shape
    covariance = _autocovariance(draws)
    within = float(covariance[:, 0].mean()) * n_draws / (n_draws - 1)
    total = within * (n_draws - 1) / n_draws
    if n_chains > 1:
        total += float(draws.mean(axis=1).var(ddof=1))
    if total == 0.0:
        return float(draws.size)
    correlation = 1.0 - (within - covariance.mean(axis=0)) / total
    correlation[0] = 1.0
    pairs = correlation[: n_draws // 2 * 2].reshape(-1, 2).sum(axis=1)
    is_negative = pairs < 0.0
    n_pairs = int(np.argmax(is_negative)) if is_negative.any() else len(pairs)
    time = -1.0 + 2.0 * float(np.minimum.accumulate(pairs[:n_pairs]).sum())
    if n_pairs < len(pairs):  # half of the pair that stopped the sum may still count
        time += max(0.0, float(correlation[2 * n_pairs]))
    # The ESS of antithetic chains may exceed their length, but is bounded.
    return float(draws.size / max(time, 1.0 / np.log10(draws.size)))


def _autocovariance(draws: FloatArray) -> FloatArray:
    """Return the autocovariance of each chain at every lag, divided by the length, by the fast Fourier transform."""
    n_draws = draws.shape[1]
    deviations = draws - draws.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(deviations, 2 * n_draws, axis=1)
    squared = spectrum.real**2 + spectrum.imag**2
    return np.asarray(np.fft.irfft(squared, 2 * n_draws, axis=1)[:, :n_draws] / n_draws)


def diagnose_model(model: FittedModel) -> list[Diagnosis]:
    """Diagnose the log-likelihood, number of experts and probabilities at training rows of a model with chains."""
    model.check_has_chains("diagnostics")
    quantities: dict[str, FloatArray] = {}
    regressions = model.posterior.regressions
    for index, (regression, probes) in enumerate(zip(regressions, model.probe_probabilities, strict=True)):
        prefix = "" if len(regressions) == 1 else f" of class {model.classes.tolist()[index]!r}"
        for number, labeling in enumerate(regression.labelings):
            suffix = prefix if len(regression.labelings) == 1 else f"{prefix}, labeling {number}"
            quantities[f"log-likelihood{suffix}"] = labeling.log_likelihood[:, model.n_burn_in :]
            quantities[f"number of experts{suffix}"] = labeling.n_active[:, model.n_burn_in :]
        quantities |= _probe_quantities(regression, probes, prefix)
    return diagnose({name: draws for name, draws in quantities.items() if draws.shape[1] >= MIN_DRAWS})


def _probe_quantities(regression: RegressionPosterior, probes: FloatArray, suffix: str) -> dict[str, FloatArray]:
    """Return the probabilities at training rows, (chains, draws) each, of each labeling: its chains are comparable."""
    first = regression.labelings[0]
    # Files of earlier versions have averages of both labelings, draw by draw, which are diagnosed as one labeling.
    n_sides = len(probes) // len(first.draws)
    sides = probes.reshape(n_sides, first.n_chains, len(first.draws) // first.n_chains, probes.shape[1])
    names = [suffix] if n_sides == 1 else [f"{suffix}, labeling {number}" for number in range(n_sides)]
    return {
        f"{PROBABILITY} {probe}{name}": side[:, :, probe]
        for probe in range(probes.shape[1])
        for name, side in zip(names, sides, strict=True)
    }
