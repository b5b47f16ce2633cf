"""The collapsed posterior and its gradient."""

import numpy as np
import pytest
from scipy import sparse

from softpolytope.model import _softplus as softplus
from softpolytope.model._log_posterior import CollapsedPrior, Observations, log_likelihood, log_posterior, log_prior

PRIOR = CollapsedPrior(mass=1.7, concentration=0.6, precision_shape=0.8, precision_rate=0.3)


def problem(rng, n_experts=3, n_layers=2, scale=1.0, n_samples=40):
    """Random observations and parameters."""
    design = np.column_stack([np.ones(n_samples), rng.normal(size=(n_samples, 3))])
    rows = Observations(design, rng.random(n_samples) < 0.4, rng.uniform(0.5, 2.0, n_samples))
    return rows, scale * rng.normal(size=(n_experts, n_layers, 4)), rng.normal(size=n_experts)


def complex_log_posterior(rows, prior, coefficients, log_weights):
    """The same function by the textbook formulas, for complex parameters of moderate size."""
    activation = np.ones((len(log_weights), len(rows.labels)), dtype=complex)
    for layer in range(coefficients.shape[1]):
        activation = np.log(1 + activation * np.exp(coefficients[:, layer] @ rows.design.T))
    rate = np.exp(log_weights) @ activation
    value = (rows.row_weights * np.where(rows.labels, np.log(1 - np.exp(-rate)), -rate)).sum()
    value -= (prior.precision_shape + 0.5) * np.log(1 + coefficients**2 / (2 * prior.precision_rate)).sum()
    return value + (prior.mass / len(log_weights) * log_weights - prior.concentration * np.exp(log_weights)).sum()


@pytest.mark.parametrize("n_layers", [1, 2, 3, 5])
@pytest.mark.parametrize("n_experts", [1, 4])
def test_gradient_is_the_complex_step(n_experts, n_layers, rng):
    """Value and gradient agree with a complex step through the plain formulas to 1e-10."""
    rows, coefficients, log_weights = problem(rng, n_experts, n_layers)
    ours = log_posterior(rows, PRIOR, coefficients, log_weights)
    assert ours.value == pytest.approx(complex_log_posterior(rows, PRIOR, coefficients, log_weights).real, rel=1e-12)
    step = 1e-30
    for index in np.ndindex(coefficients.shape):
        moved = coefficients.astype(complex)
        moved[index] += 1j * step
        slope = complex_log_posterior(rows, PRIOR, moved, log_weights).imag / step
        assert ours.coefficients[index] == pytest.approx(slope, rel=1e-10, abs=1e-10)
    for expert in range(n_experts):
        moved = log_weights.astype(complex)
        moved[expert] += 1j * step
        slope = complex_log_posterior(rows, PRIOR, coefficients, moved).imag / step
        assert ours.log_weights[expert] == pytest.approx(slope, rel=1e-10, abs=1e-10)


def test_gradient_in_the_tails(rng):
    """With x'beta in the hundreds, where the plain formulas overflow, central differences agree to 1e-6."""
    rows, coefficients, log_weights = problem(rng, scale=120.0)
    ours = log_posterior(rows, PRIOR, coefficients, log_weights)
    assert np.isfinite(ours.value)
    for index in np.ndindex(coefficients.shape):
        step = 1e-5
        values = []
        for sign in (1, -1):
            moved = coefficients.copy()
            moved[index] += sign * step
            values.append(log_posterior(rows, PRIOR, moved, log_weights).value)
        slope = (values[0] - values[1]) / (2 * step)
        assert ours.coefficients[index] == pytest.approx(slope, rel=1e-6, abs=1e-6 * abs(ours.value) ** 0.5)


def test_one_expert_of_weight_one_is_logistic_regression(rng):
    """T = 1, r = 1: value and gradient are those of logistic regression to 1e-12."""
    rows, coefficients, _ = problem(rng, 1, 1, scale=3.0)
    z = rows.design @ coefficients[0, 0]
    probability = 1 / (1 + np.exp(-z))
    value = (rows.row_weights * np.where(rows.labels, -np.logaddexp(0, -z), -np.logaddexp(0, z))).sum()
    gradient = rows.design.T @ (rows.row_weights * (rows.labels - probability))
    ours = log_likelihood(rows, coefficients, np.zeros(1))
    assert ours.value == pytest.approx(value, rel=1e-12)
    assert ours.coefficients[0, 0] == pytest.approx(gradient, rel=1e-12, abs=1e-12)


def test_likelihood_is_that_of_the_probabilities(rng):
    """The value is the sum of the model's log probabilities, by the precise functions."""
    rows, coefficients, log_weights = problem(rng, scale=20.0)
    predictor = coefficients @ rows.design.T
    weights = np.exp(log_weights)
    positive = softplus.log_positive_probability(predictor, weights)
    negative = softplus.log_negative_probability(predictor, weights)
    expected = (rows.row_weights * np.where(rows.labels, positive, negative)).sum()
    assert log_likelihood(rows, coefficients, log_weights).value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("scale", [1e4, 1e8])
def test_extreme_parameters_stay_finite(scale, rng):
    """Coefficients of any size and weights that underflow give finite values and gradients."""
    rows, coefficients, _ = problem(rng, scale=scale)
    ours = log_posterior(rows, PRIOR, coefficients, np.array([-2000.0, 5.0, -1e4]))
    assert np.isfinite(ours.value)
    assert np.isfinite(ours.coefficients).all()
    assert np.isfinite(ours.log_weights).all()


def test_sparse_design_agrees_with_dense(rng):
    """A CSR design gives the dense result."""
    rows, coefficients, log_weights = problem(rng)
    design = np.where(abs(rows.design) > 0.5, rows.design, 0.0)
    dense = log_likelihood(Observations(design, rows.labels, rows.row_weights), coefficients, log_weights)
    thin = Observations(sparse.csr_array(design), rows.labels, rows.row_weights)
    ours = log_likelihood(thin, coefficients, log_weights)
    assert ours.value == pytest.approx(dense.value, rel=1e-13)
    assert ours.coefficients == pytest.approx(dense.coefficients, rel=1e-12, abs=1e-12)


def test_integer_weights_are_repeated_rows(rng):
    """A row of weight 2 counts as two rows."""
    rows, coefficients, log_weights = problem(rng)
    weights = rng.integers(1, 4, len(rows.labels))
    weighted = Observations(rows.design, rows.labels, weights.astype(float))
    repeated = Observations(
        np.repeat(rows.design, weights, axis=0), np.repeat(rows.labels, weights), np.ones(weights.sum())
    )
    ours = log_likelihood(weighted, coefficients, log_weights)
    expected = log_likelihood(repeated, coefficients, log_weights)
    assert ours.value == pytest.approx(expected.value, rel=1e-12)
    assert ours.coefficients == pytest.approx(expected.coefficients, rel=1e-11, abs=1e-11)


def test_rates_per_expert_and_layer(rng):
    """A rate for each expert and layer is used for that one's coefficients."""
    coefficients = rng.normal(size=(2, 3, 4))
    rates = rng.uniform(0.1, 2.0, (2, 3))
    ours = log_prior(CollapsedPrior(1.0, 1.0, 0.5, rates), coefficients, np.zeros(2))
    expected = -np.log(1 + coefficients**2 / (2 * rates[..., None])).sum() - 2.0
    assert ours.value == pytest.approx(expected, rel=1e-12)
    assert ours.coefficients == pytest.approx(-2 * coefficients / (2 * rates[..., None] + coefficients**2), rel=1e-12)


def test_maximum_exists_at_small_weights():
    """The Jacobian of log r keeps the prior bounded: it falls on both sides of log(mass / (K c))."""
    prior = CollapsedPrior(0.5, 2.0, 1.0, 1.0)
    values = [log_prior(prior, np.zeros((1, 1, 1)), np.array([x])).value for x in (-50.0, np.log(0.25), 3.0)]
    assert values[1] > values[0]
    assert values[1] > values[2]
