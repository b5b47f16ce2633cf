"""Modes: the log posterior, where optimizations end, and the removal of inactive experts."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from softpolytope.data._dataset import InMemoryDataset
from softpolytope.data._row_block import RowBlock
from softpolytope.model import _log_posterior as plain
from softpolytope.model._prior import Prior
from softpolytope.optimize._mode import LogPosterior, Mode, StoppingRule, column_unit, pruned
from softpolytope.parallel._blocks import SerialBlocks

PRIOR = Prior(mass_shape=2.0, mass_rate=1.0, precision_shape=0.7, precision_rate=0.4)


def make_rows(rng, n_rows=300, n_columns=4, *, is_sparse=False):
    """Return weighted rows of a ring around the origin, in blocks of 64."""
    design = np.column_stack([np.ones(n_rows), rng.standard_normal((n_rows, n_columns - 1))])
    labels = (design[:, 1:] ** 2).sum(axis=1) > 2.0
    weights = rng.uniform(0.2, 3.0, n_rows)
    return InMemoryDataset.from_arrays(sparse.csr_array(design) if is_sparse else design, labels, weights, 64)


def make_blocks(rows):
    """Return blocks on this thread."""
    return SerialBlocks([RowBlock(block) for block in rows.split()])


def make_target(log_posterior, mode, blocks):
    """Return the log posterior of blocks as a function of a mode's flat array."""
    return log_posterior.target(mode, lambda *position: blocks.sum(RowBlock.gradient, *position), 0.4)


def make_log_posterior(rows, prior=PRIOR, n_experts=5, *, fit_weights=True):
    """Return the log posterior of some rows."""
    return LogPosterior(prior, n_experts, fit_weights, column_unit(rows.root_mean_square()))


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("n_layers", [1, 3])
def test_target_is_the_log_posterior(rng, n_layers, is_sparse):
    """Value and gradient over blocks are those of the plain functions, and agree with finite differences."""
    rows = make_rows(rng, is_sparse=is_sparse)
    log_posterior = make_log_posterior(rows)
    mode = log_posterior.random_start(n_layers, rng)
    target = make_target(log_posterior, mode, make_blocks(rows))
    value, gradient = target.value_and_gradient(mode.position())
    observations = plain.Observations(rows.design, rows.labels, rows.row_weights)
    prior = plain.CollapsedPrior(2.0, 1.0, 0.7, 0.4)
    expected = plain.log_posterior(observations, prior, mode.coefficients, mode.log_weights)
    assert value == pytest.approx(expected.value, rel=1e-12)
    assert gradient == pytest.approx(
        np.concatenate([expected.coefficients.reshape(-1), expected.log_weights]), rel=1e-9, abs=1e-9
    )
    direction = rng.standard_normal(len(gradient))
    step = 1e-5
    ends = [target.value_and_gradient(mode.position() + sign * step * direction)[0] for sign in (1, -1)]
    assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(gradient @ direction, rel=1e-6)


def test_an_optimization_ends_at_a_stationary_point(rng):
    """It ends higher than it began, with a zero gradient; control: an optimization of two steps does not."""
    rows = make_rows(rng)
    log_posterior, blocks = make_log_posterior(rows), make_blocks(rows)
    start = log_posterior.random_start(2, rng)
    values, largest = [], []
    for rule in (StoppingRule(2, 1e-15), StoppingRule(3000, 1e-15)):
        reached = log_posterior.maximize(start, blocks, 0.4, rule)
        value, gradient = make_target(log_posterior, reached, blocks).value_and_gradient(reached.position())
        values.append(value)
        largest.append(np.abs(gradient).max())
    assert values[1] > values[0] > make_target(log_posterior, start, blocks).value_and_gradient(start.position())[0]
    assert largest[1] < 1e-3 < largest[0]


@pytest.mark.parametrize("penalty", [0.3, 20.0])
def test_one_expert_of_weight_one_is_logistic_regression(rng, penalty):
    """With a prior that is Gaussian up to 1e-9, coefficients agree to 1e-6; control: another penalty."""
    n_rows = 400
    design = np.column_stack([np.ones(n_rows), rng.standard_normal((n_rows, 3))])
    labels = rng.random(n_rows) < 1.0 / (1.0 + np.exp(-design @ [0.5, 1.0, -2.0, 0.0]))
    rows = InMemoryDataset.from_arrays(design, labels)
    # Shape a and rate a / penalty: precision `penalty` with a relative spread of a^-1/2.
    prior = Prior(precision_shape=1e9, precision_rate=1e9 / penalty)
    log_posterior = make_log_posterior(rows, prior, n_experts=1, fit_weights=False)
    found = log_posterior.maximize(
        log_posterior.random_start(1, rng), make_blocks(rows), 1e9 / penalty, StoppingRule(500, 1e-15)
    )
    assert found.log_weights == 0.0

    def reference(strength):
        model = LogisticRegression(C=1.0 / strength, fit_intercept=False, tol=1e-12, max_iter=10000)
        return model.fit(design, labels).coef_[0]

    assert found.coefficients[0, 0] == pytest.approx(reference(penalty), abs=1e-6)
    assert found.coefficients[0, 0] != pytest.approx(reference(1.01 * penalty), abs=1e-6)


def test_optimizations_do_not_depend_on_the_units_of_columns(rng):
    """Columns a million times larger, with a prior that moves with them, end at the same likelihood."""
    rows = make_rows(rng)
    large = InMemoryDataset.from_arrays(rows.design * [1.0, 1e6, 1e6, 1e6], rows.labels, rows.row_weights, 64)
    values = []
    for data in (rows, large):
        # A flat prior, because it is the same for all columns.
        log_posterior = make_log_posterior(data, Prior(precision_shape=1e-3, precision_rate=1.0), 3)
        reached = log_posterior.maximize(
            log_posterior.random_start(1, np.random.default_rng(3)), make_blocks(data), 1e3, StoppingRule(60, 1e-15)
        )
        values.append(pruned(reached, make_blocks(data))[1])
    assert values[1] == pytest.approx(values[0], rel=0.05)


def test_inactive_experts_are_removed(rng):
    """Experts that add nothing are removed, at a verified cost; experts that matter stay."""
    rows = make_rows(rng)
    blocks, log_posterior = make_blocks(rows), make_log_posterior(rows, n_experts=3)
    reached = log_posterior.maximize(log_posterior.random_start(1, rng), blocks, 100.0, StoppingRule(500, 1e-15))
    left, value = pruned(reached, blocks)
    n_left = len(left.log_weights)
    assert n_left >= 2
    assert value == pytest.approx(plain_log_likelihood(rows, left), rel=1e-12)
    assert plain_log_likelihood(rows, reached) - value <= 1e-3
    for expert in range(n_left):
        assert value - plain_log_likelihood(rows, left.without(np.arange(n_left) == expert)) > 1e-3
    order = [0, *range(n_left, n_left + 3), *range(1, n_left)]
    padded = Mode(
        np.concatenate([left.coefficients, rng.standard_normal((3, 1, 4))])[order],
        np.concatenate([left.log_weights, [-30.0, -40.0, -35.0]])[order],
    )
    again, same_value = pruned(padded, blocks)
    assert np.array_equal(again.position(), left.position())
    assert same_value == value
    alone = Mode(left.coefficients[:1], np.array([-700.0]))
    assert len(pruned(alone, blocks)[0].log_weights) == 1


def plain_log_likelihood(rows, mode):
    """Return the log likelihood of a mode by the plain function."""
    observations = plain.Observations(rows.design, rows.labels, rows.row_weights)
    return plain.log_likelihood(observations, mode.coefficients, mode.log_weights).value
