"""The softplus functions against 400-digit arithmetic."""

import numpy as np
import pytest
from mpmath import mp, mpf

from softpolytope.model import _softplus as model

TOLERANCE = 1e-13


def exact(predictor, weights):
    """Log q at every expert and layer, lambda, log lambda and log P(y = 1) of one sample, from plain doubles."""
    rate, log_activations = mpf(0), []
    for expert, weight in zip(predictor, weights, strict=True):
        activation = mpf(1)
        for value in expert:
            activation = mp.log1p(activation * mp.exp(mpf(float(value))))
            log_activations.append(mp.log(activation))
        rate += mpf(float(weight)) * activation
    log_positive = mp.log1p(-mp.exp(-rate)) if rate > 1 else mp.log(-mp.expm1(-rate))
    return log_activations, rate, mp.log(rate), log_positive


def relative_error(ours, truth):
    """|ours / truth - 1|, for numbers a double can hold."""
    if abs(truth) < mpf("1e-300"):
        return 0.0 if abs(ours) < 1e-299 else np.inf
    return float(abs(mpf(float(ours)) / truth - 1))


def predictors(kind, rng):
    """Linear predictors (experts, layers, samples) of one of three kinds, with |x'beta| up to 1e4."""
    shape = (int(rng.integers(1, 4)), int(rng.integers(1, 21)), 3)
    if kind == "every scale":
        return 10.0 ** rng.uniform(-3, 4, shape) * rng.choice([-1, 1], shape)
    if kind == "huge":
        return rng.uniform(-1e4, 1e4, shape)
    predictor = rng.normal(0, 3, shape)
    predictor[:, -1] += rng.uniform(0, 700)
    return predictor


@pytest.mark.parametrize("kind", ["every scale", "huge", pytest.param("moderate", marks=pytest.mark.slow)])
def test_logarithms_are_right_to_thirteen_digits(kind, rng):
    """Log q, log lambda, log P(y=0) and log P(y=1) have relative errors below 1e-13, for T up to 20.

    log q goes through 0 where q = 1; there the layers below decide to 16 decimals what is left, so
    within 0.01 of 0 the bound is on the absolute error, 1e-15.
    """
    with mp.workdps(400):
        for _ in range(60):
            predictor = predictors(kind, rng)
            weights = 10.0 ** rng.uniform(-3, 2, len(predictor))
            activations = model.log_activations(predictor)[:, 1:]
            ours = np.stack(
                [
                    -model.log_negative_probability(predictor, weights),
                    model.log_poisson_rate(predictor, weights),
                    model.log_positive_probability(predictor, weights),
                ]
            )
            assert not np.isnan(ours).any()
            for sample in range(predictor.shape[2]):
                log_q, *truths = exact(predictor[:, :, sample], weights)
                for value, truth in zip(activations[:, :, sample].reshape(-1), log_q, strict=True):
                    assert abs(mpf(float(value)) - truth) < TOLERANCE * max(abs(truth), 0.01)
                for value, truth in zip(ours[:, sample], truths, strict=True):
                    assert relative_error(value, truth) < TOLERANCE


def test_plain_doubles_would_fail():
    """Control: without the second double, a layer that returns from -1e4 loses the thirteen digits."""
    predictor = np.array([[[2.3], [-9999.7], [9998.1]]])
    with mp.workdps(400):
        truth = exact(predictor[:, :, 0], [1.0])[0][-1]
    naive = 0.0
    for value in predictor[0, :, 0]:
        naive = float(model.log_softplus(value + naive))
    assert relative_error(naive, truth) > TOLERANCE
    assert relative_error(model.log_activations(predictor)[0, -1, 0], truth) < 1e-15


def test_log_softplus_alone():
    """Log softplus has a relative error below 1e-15 everywhere, its zero at log(e - 1) included."""
    zero = float(np.log(np.e - 1))
    z = np.concatenate(
        [np.linspace(-60, 60, 2001), zero + np.geomspace(1e-16, 1, 60), zero - np.geomspace(1e-16, 1, 60), [-1e4, 1e4]]
    )
    with mp.workdps(60):
        truths = [mp.log(mp.log1p(mp.exp(mpf(value)))) for value in z]
    errors = [relative_error(ours, truth) for ours, truth in zip(model.log_softplus(z), truths, strict=True)]
    assert max(errors) < 1e-15


@pytest.mark.parametrize("value", [1e300, -1e300, 1e308, -1e308, 0.0, 5e-324])
def test_no_finite_input_gives_nan(value):
    """The ends of the double range give finite or infinite results, never NaN."""
    predictor = np.array([[[value], [-value], [value]]])
    for function in (
        model.poisson_rate,
        model.log_poisson_rate,
        model.positive_probability,
        model.log_positive_probability,
        model.log_negative_probability,
    ):
        assert not np.isnan(function(predictor, [1.0])).any()
    assert not np.isnan(model.log_activations(predictor)).any()


def test_one_layer_of_weight_one_is_logistic_regression():
    """K = T = r = 1 gives the logistic function."""
    z = np.linspace(-700, 700, 1401)
    predictor = z[None, None, :]
    ours = model.positive_probability(predictor, [1.0])
    logistic = np.where(z > 0, 1 / (1 + np.exp(-abs(z))), np.exp(-abs(z)) / (1 + np.exp(-abs(z))))
    assert ours == pytest.approx(logistic, rel=1e-14, abs=0)
    assert model.log_positive_probability(predictor, [1.0]) == pytest.approx(-np.logaddexp(0, -z), rel=1e-13)


def test_definitions_agree():
    """The four softplus functions are special cases of each other, and of the printed formula."""
    predictor = np.array([[[0.3, -2.0], [1.1, 0.4]], [[-0.7, 0.2], [0.5, 3.0]]])
    inner = np.log(1 + np.exp(predictor[:, 0]))
    stack = np.log(1 + np.exp(predictor[:, 1]) * inner)
    assert model.stack_softplus(predictor) == pytest.approx(stack, rel=1e-14)
    assert model.poisson_rate(predictor, [0.5, 2.0]) == pytest.approx(0.5 * stack[0] + 2 * stack[1], rel=1e-14)
    assert model.poisson_rate(predictor[:, :1], [0.5, 2.0]) == pytest.approx(0.5 * inner[0] + 2 * inner[1], rel=1e-14)
    assert model.softplus(predictor[:, 0]) == pytest.approx(inner, rel=1e-14)
    assert model.stack_softplus(predictor[:, :1]) == pytest.approx(inner, rel=1e-14)


def test_weights_of_zero():
    """An expert of weight 0 adds nothing; if all have it, the rate is 0 and the log -inf."""
    predictor = np.array([[[700.0]], [[0.0]]])
    assert model.poisson_rate(predictor, [0.0, 1.0]) == pytest.approx(np.log(2))
    assert model.poisson_rate(predictor, [0.0, 0.0]).tolist() == [0.0]
    assert model.log_poisson_rate(predictor, [0.0, 0.0]).tolist() == [-np.inf]
    assert model.positive_probability(predictor, [0.0, 0.0]).tolist() == [0.0]


@pytest.mark.parametrize(
    ("predictor", "weights", "message"),
    [
        (np.zeros((2, 3)), [1.0, 1.0], "n_experts, n_layers, n_samples"),
        (np.zeros((2, 1, 3)), [1.0], r"got shapes \(2, 1, 3\) and \(1,\)"),
        (np.full((1, 1, 1), np.nan), [1.0], "linear_predictor must be finite"),
        (np.zeros((1, 1, 1)), [-1.0], "expert_weights must be finite and >= 0"),
    ],
)
def test_bad_input_is_named(predictor, weights, message):
    """Wrong shapes, NaN and negative weights raise errors that say so."""
    with pytest.raises(ValueError, match=message):
        model.poisson_rate(predictor, weights)


def test_wrong_number_of_axes_is_named():
    """The functions of one expert and of one layer say what shape they need."""
    with pytest.raises(ValueError, match="n_layers, n_samples"):
        model.stack_softplus(np.zeros(3))
    with pytest.raises(ValueError, match="n_experts, n_layers, n_samples"):
        model.poisson_rate(np.zeros((2, 3)), [1.0, 1.0])
