"""Draws from the prior of a fitted model, as a posterior without data."""

import numpy as np
from numpy.random import Generator

from softpolytope._typing import FloatArray
from softpolytope.data import ColumnTransform
from softpolytope.model import (
    Design,
    Draws,
    FittedModel,
    FittedPrior,
    LabelingPosterior,
    Posterior,
    RegressionPosterior,
)

# Coefficients of smaller precisions would overflow.
MIN_PRECISION = 1e-200


def sample_prior(model: FittedModel, rows: Design, n_draws: int, rng: Generator) -> FloatArray:
    """Return the probabilities of rows under draws from the prior, as `Posterior.class_probability_draws` does.

    The draws of both labelings form one mixture, in equal shares.
    """
    n_labelings = len(model.posterior.regressions[0].labelings)
    if n_draws < n_labelings:
        raise ValueError(f"n_draws must be at least {n_labelings}, one for each labeling; got {n_draws}.")
    shares = [n_draws - n_draws // 2, n_draws // 2] if n_labelings == 2 else [n_draws]
    return prior_posterior(model, shares, rng).class_probability_draws(rows, model.n_threads)


def prior_posterior(model: FittedModel, n_draws: list[int], rng: Generator) -> Posterior:
    """Return a posterior whose draws, `n_draws` by labeling, are those of the prior."""
    if not model.priors:
        raise ValueError(
            "This model does not know its prior, because its file was written by an earlier version. Fit it again."
        )
    n_layers = model.labelings[0].best.coefficients.shape[1]
    return Posterior(
        tuple(
            RegressionPosterior(tuple(_as_labeling(draw_prior(prior, n_layers, number, rng)) for number in n_draws))
            for prior in model.priors
        )
    )


def draw_prior(fitted: FittedPrior, n_layers: int, n_draws: int, rng: Generator) -> Draws:
    """Draw weights and coefficients, in the user's units, from the prior of one labeling.

    Modes have the mass and the concentration of the prior's means, and a precision rate drawn from those of the
    restarts.
    """
    law, n_experts = fitted.prior, fitted.max_experts
    transform, shape = ColumnTransform(fitted.center, fitted.scale), (n_experts, n_layers, len(fitted.center))
    parts = []
    for _ in range(n_draws):
        if fitted.mode_rates is not None:
            rates = np.full(shape[:2], rng.choice(fitted.mode_rates))
        elif law.precision_rate == "learned":
            rates = rng.standard_exponential(shape[:2])
        else:
            rates = np.full(shape[:2], law.precision_rate)
        precisions = np.maximum(rng.standard_gamma(law.precision_shape, shape) / rates[..., None], MIN_PRECISION)
        coefficients = transform.to_original(rng.standard_normal(shape) / np.sqrt(precisions))
        parts.append((coefficients, _draw_weights(fitted, rng), np.ones(n_experts, dtype=bool), 0.0))
    return Draws.from_parts(parts)


def _draw_weights(fitted: FittedPrior, rng: Generator) -> FloatArray:
    """Draw r_k ~ Gamma(mass / K, rate concentration); weights that are not fitted are one."""
    law, n_experts = fitted.prior, fitted.max_experts
    if not fitted.fit_weight:
        return np.ones(n_experts)
    mass, concentration = law.mass_shape / law.mass_rate, law.concentration_shape / law.concentration_rate
    if fitted.mode_rates is None:
        mass = float(rng.standard_gamma(law.mass_shape) / law.mass_rate)
        concentration = float(rng.standard_gamma(law.concentration_shape) / law.concentration_rate)
    return np.asarray(rng.standard_gamma(mass / n_experts, n_experts) / concentration)


def _as_labeling(draws: Draws) -> LabelingPosterior:
    """Return draws as those of one chain that has recorded nothing."""
    nothing = np.zeros((1, len(draws)))
    return LabelingPosterior(draws, draws[0], 1, nothing, nothing, nothing)
