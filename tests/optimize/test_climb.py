"""Climbs, modes and what is left out of them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from softpolytope.data._dataset import TrainingData
from softpolytope.data._row_block import RowBlock
from softpolytope.model._log_posterior import CollapsedPrior, Observations, log_likelihood, log_posterior
from softpolytope.model._prior import Prior
from softpolytope.optimize._lbfgs import StoppingRule
from softpolytope.optimize._mode import LogPosterior, Mode, column_units, pruned
from softpolytope.parallel._blocks import SerialBlocks

PRIOR = Prior(mass_shape=2.0, mass_rate=1.0, precision_shape=0.7, precision_rate=0.4)


def rows_of(rng, n_rows=300, n_columns=4, *, is_sparse=False):
    """Rows of a ring around the origin, with weights, in blocks of 64."""
    design = np.column_stack([np.ones(n_rows), rng.standard_normal((n_rows, n_columns - 1))])
    labels = (design[:, 1:] ** 2).sum(axis=1) > 2.0
    weights = rng.uniform(0.2, 3.0, n_rows)
    return TrainingData.from_arrays(sparse.csr_array(design) if is_sparse else design, labels, weights, 64)


def blocks_of(rows):
    """Blocks on this thread."""
    return SerialBlocks([RowBlock(block) for block in rows.blocks()])


def target_of(landscape, mode, blocks):
    """The log posterior of blocks, as a function of a mode's flat array."""
    return landscape.target(mode, lambda *position: blocks.sum(RowBlock.gradient, *position), 0.4)


def landscape_of(rows, prior=PRIOR, n_experts=5, *, fit_weights=True):
    """What is climbed."""
    return LogPosterior(prior, n_experts, fit_weights, column_units(rows))


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("n_layers", [1, 3])
def test_target_is_the_log_posterior(rng, n_layers, is_sparse):
    """Over blocks, value and gradient are those of the plain functions, and the gradient is the value's."""
    rows = rows_of(rng, is_sparse=is_sparse)
    landscape = landscape_of(rows)
    mode = landscape.random_start(n_layers, rng)
    target = target_of(landscape, mode, blocks_of(rows))
    value, slope = target.value_and_gradient(mode.position())
    observations = Observations(rows.design, rows.labels, rows.row_weights)
    expected = log_posterior(observations, CollapsedPrior(2.0, 1.0, 0.7, 0.4), mode.coefficients, mode.log_weights)
    assert value == pytest.approx(expected.value, rel=1e-12)
    assert slope == pytest.approx(
        np.concatenate([expected.coefficients.reshape(-1), expected.log_weights]), rel=1e-9, abs=1e-9
    )
    direction = rng.standard_normal(len(slope))
    step = 1e-5
    ends = [target.value_and_gradient(mode.position() + sign * step * direction)[0] for sign in (1, -1)]
    assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(slope @ direction, rel=1e-6)


def test_a_climb_ends_at_a_stationary_point(rng):
    """Higher than it began, and level; a climb of two steps is not."""
    rows = rows_of(rng)
    landscape, blocks = landscape_of(rows), blocks_of(rows)
    start = landscape.random_start(2, rng)
    values, slopes = [], []
    for effort in (StoppingRule(2, 1e-15), StoppingRule(3000, 1e-15)):
        reached = landscape.climbed(start, blocks, 0.4, effort)
        value, slope = target_of(landscape, reached, blocks).value_and_gradient(reached.position())
        values.append(value)
        slopes.append(np.abs(slope).max())
    assert values[1] > values[0] > target_of(landscape, start, blocks).value_and_gradient(start.position())[0]
    assert slopes[1] < 1e-3 < slopes[0]


@pytest.mark.parametrize("penalty", [0.3, 20.0])
def test_one_expert_of_weight_one_is_logistic_regression(rng, penalty):
    """With a prior that is Gaussian up to 1e-9, coefficients agree to 1e-6; of another penalty they do not."""
    n_rows = 400
    design = np.column_stack([np.ones(n_rows), rng.standard_normal((n_rows, 3))])
    labels = rng.random(n_rows) < 1.0 / (1.0 + np.exp(-design @ [0.5, 1.0, -2.0, 0.0]))
    rows = TrainingData.from_arrays(design, labels)
    # Shape a and rate a / penalty: precision `penalty` with a relative spread of a^-1/2.
    prior = Prior(precision_shape=1e9, precision_rate=1e9 / penalty)
    landscape = landscape_of(rows, prior, n_experts=1, fit_weights=False)
    found = landscape.climbed(landscape.random_start(1, rng), blocks_of(rows), 1e9 / penalty, StoppingRule(500, 1e-15))
    assert found.log_weights == 0.0

    def reference(strength):
        model = LogisticRegression(C=1.0 / strength, fit_intercept=False, tol=1e-12, max_iter=10000)
        return model.fit(design, labels).coef_[0]

    assert found.coefficients[0, 0] == pytest.approx(reference(penalty), abs=1e-6)
    assert found.coefficients[0, 0] != pytest.approx(reference(1.01 * penalty), abs=1e-6)


def test_climbs_do_not_depend_on_the_units_of_columns(rng):
    """Columns a million times larger, with a prior that moves with them, end at the same likelihood."""
    rows = rows_of(rng)
    large = TrainingData.from_arrays(rows.design * [1.0, 1e6, 1e6, 1e6], rows.labels, rows.row_weights, 64)
    values = []
    for data in (rows, large):
        # A flat prior, because it is the same for all columns.
        landscape = landscape_of(data, Prior(precision_shape=1e-3, precision_rate=1.0), 3)
        reached = landscape.climbed(
            landscape.random_start(1, np.random.default_rng(3)), blocks_of(data), 1e3, StoppingRule(60, 1e-15)
        )
        values.append(pruned(reached, blocks_of(data))[1])
    assert values[1] == pytest.approx(values[0], rel=0.05)


def test_idle_experts_are_left_out(rng):
    """Those that add nothing go, at a verified cost; those that matter stay, also where all of them do."""
    rows = rows_of(rng)
    blocks, landscape = blocks_of(rows), landscape_of(rows, n_experts=3)
    reached = landscape.climbed(landscape.random_start(1, rng), blocks, 100.0, StoppingRule(500, 1e-15))
    left, value = pruned(reached, blocks)
    n_left = len(left.log_weights)
    assert n_left >= 2
    assert value == pytest.approx(log_likelihood_of(rows, left), rel=1e-12)
    assert log_likelihood_of(rows, reached) - value <= 1e-3
    for expert in range(n_left):
        assert value - log_likelihood_of(rows, left.without(np.arange(n_left) == expert)) > 1e-3
    order = [0, *range(n_left, n_left + 3), *range(1, n_left)]
    idle = Mode(
        np.concatenate([left.coefficients, rng.standard_normal((3, 1, 4))])[order],
        np.concatenate([left.log_weights, [-30.0, -40.0, -35.0]])[order],
    )
    again, same_value = pruned(idle, blocks)
    assert np.array_equal(again.position(), left.position())
    assert same_value == value
    alone = Mode(left.coefficients[:1], np.array([-700.0]))
    assert len(pruned(alone, blocks)[0].log_weights) == 1


def log_likelihood_of(rows, mode):
    """By the plain function."""
    observations = Observations(rows.design, rows.labels, rows.row_weights)
    return log_likelihood(observations, mode.coefficients, mode.log_weights).value
