"""The compiled minibatches against their plain twin, the kernel in double precision, and themselves."""

from dataclasses import replace

import numpy as np
import pytest
from optimize.minibatches import PlainAdam, make_group, make_members, make_rows, make_target

from softpolytope.data import RowBlock
from softpolytope.optimize._kernels import minibatch as _minibatch
from softpolytope.optimize._minibatch import adam_steps, cut_batches

VERSIONS = (0, 1, 2)


def raw_group(rng, n_columns, n_layers, sizes, version=2):
    """A compiled group with its arrays."""
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    n_experts = -(-starts[-1] // _minibatch.PADDING) * _minibatch.PADDING
    coefficients = np.zeros((n_columns, n_layers, n_experts), dtype=np.float32)
    coefficients[:, :, : starts[-1]] = rng.standard_normal((n_columns, n_layers, starts[-1])) / np.sqrt(n_columns)
    log_weights = np.full(n_experts, -100.0, dtype=np.float32)
    log_weights[: starts[-1]] = rng.normal(-2.0, 1.0, starts[-1])
    averages = np.zeros((4, n_columns, n_layers, n_experts), dtype=np.float32)
    weight_averages = np.zeros((4, n_experts), dtype=np.float32)
    group = _minibatch.ModelGroup(
        starts,
        np.zeros(len(sizes), dtype=np.uint8),
        coefficients,
        log_weights,
        np.ones((n_layers, n_experts), dtype=np.float32),
        np.ones(n_columns, dtype=np.float32),
        averages,
        weight_averages,
    )
    return group if group.use_version(version) == version else None, coefficients, log_weights, averages[0]


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_gradient_agrees_with_double_precision(rng, is_sparse, scale):
    """The gradient of a batch has the error of single precision: 2e-7 of the largest entry for usual predictors."""
    data = make_rows(rng, 128, 12, is_sparse=is_sparse)
    group, coefficients, log_weights, gradient = raw_group(rng, 12, 3, [20])
    coefficients *= scale
    values, indices, indptr = data.design, None, None
    if is_sparse:
        values, indices, indptr = data.design.data, data.design.indices, data.design.indptr
        data = replace(data, design=data.design.copy())
        data.design.data = values.astype(np.float32).astype(float)
    else:
        data = replace(data, design=values.astype(np.float32).astype(float))
    data = replace(data, row_weights=data.row_weights.astype(np.float32).astype(float))
    weights = data.row_weights.astype(np.float32)[:, None]
    group.add_gradient(values.astype(np.float32).reshape(-1), indices, indptr, data.labels.astype(np.uint8), weights)
    ours = gradient[:, :, :20].transpose(2, 1, 0)
    double = RowBlock(data).gradient(
        np.ascontiguousarray(coefficients[:, :, :20].transpose(2, 1, 0), dtype=float), log_weights[:20].astype(float)
    )
    expected = double[1 : 1 + ours.size].reshape(ours.shape)
    assert np.abs(ours - expected).max() < (4e-7 if scale == 1.0 else 2e-6) * np.abs(expected).max()
    assert not gradient[:, :, 20:].any()


@pytest.mark.parametrize("is_sparse", [False, True])
def test_registers_change_no_bit(rng, is_sparse):
    """Plain, AVX2 and AVX-512 code give the same bits; a change of one coefficient is seen."""
    data = make_rows(rng, 77, 11, is_sparse=is_sparse)
    design = data.design
    parts = (design.data, design.indices, design.indptr) if is_sparse else (design.reshape(-1), None, None)
    rows = (parts[0].astype(np.float32), *parts[1:])
    weights = rng.exponential(size=(77, 3)).astype(np.float32)
    bounds, results = np.array([0, 30, 77]), {}
    steps = adam_steps(0.1, np.array([0.2, 0.6]), 0, np.array([30.0, 47.0]), 77.0)
    seed = int(rng.integers(2**32))
    for version in VERSIONS:
        group, coefficients, log_weights, _ = raw_group(np.random.default_rng(seed), 11, 3, [7, 20, 8], version)
        if group is None:
            continue
        group.train(*rows, data.labels.astype(np.uint8), weights, bounds, steps, (2.0, 0.1, 1.0, True))
        results[version] = coefficients.tobytes() + log_weights.tobytes()
        coefficients[0, 0, 0] = np.nextafter(coefficients[0, 0, 0], np.float32(np.inf))
        assert coefficients.tobytes() + log_weights.tobytes() != results[version]
    assert len(set(results.values())) == 1


@pytest.mark.parametrize("is_rotated", [False, True])
def test_training_follows_the_plain_twin(rng, is_rotated):
    """Ten steps of three members of different sizes end where double precision does."""
    data = make_rows(rng, 320)
    members, target = make_members(rng, 6), make_target(data, is_rotated=is_rotated)
    group, rows = make_group(data, members, target)
    bounds = cut_batches(rows.n_rows, 32)
    steps = adam_steps(0.1, bounds[1:] / rows.n_rows, 40, np.add.reduceat(rows.row_weights, bounds[:-1]), 320.0)
    group.train(rows, bounds, steps)
    for number, (member, mode) in enumerate(zip(members, group.modes(), strict=True)):
        plain = PlainAdam(member, target)
        for step, first, last in zip(steps.astype(float), bounds[:-1], bounds[1:], strict=True):
            batch = rows.take(slice(int(first), int(last)))
            plain.step(batch, batch.member_weights[:, number].astype(float), step)
        moved = target.basis.to_original(plain.theta)
        assert np.abs(moved - member.start.coefficients).max() > 0.02  # the steps have an effect
        # A coefficient whose gradient is near zero may move by another part of a step.
        assert np.median(np.abs(mode.coefficients - moved)) < 1e-6
        assert np.abs(mode.coefficients - moved).max() < 2e-3
        assert mode.log_weights == pytest.approx(plain.log_weights, abs=1e-4)


def test_sparse_rows_give_the_bits_of_dense_ones(rng):
    """Zeros that are left out change nothing."""
    seed = int(rng.integers(2**32))
    modes = []
    for is_sparse in (False, True):
        own = np.random.default_rng(seed)
        data = make_rows(own, is_sparse=is_sparse)
        members = make_members(own, 6)
        group, rows = make_group(data, members, make_target(data))
        bounds = cut_batches(rows.n_rows, 40)
        weights = np.add.reduceat(rows.row_weights, bounds[:-1])
        group.train(rows, bounds, adam_steps(0.1, bounds[1:] / rows.n_rows, 0, weights, data.total_weight))
        modes.append(group.modes())
    for dense, thin in zip(*modes, strict=True):
        assert np.array_equal(dense.position(), thin.position())


def test_members_do_not_depend_on_their_neighbors(rng):
    """A member alone ends where it ends beside others."""
    data = make_rows(rng)
    members, target = make_members(rng, 6), make_target(data)
    group, rows = make_group(data, members, target)
    bounds = cut_batches(rows.n_rows, 64)
    weights = np.add.reduceat(rows.row_weights, bounds[:-1])
    steps = adam_steps(0.1, bounds[1:] / rows.n_rows, 0, weights, data.total_weight)
    group.train(rows, bounds, steps)
    for member, mode in zip(members, group.modes(), strict=True):
        alone, rows = make_group(data, [member], target)
        alone.train(rows, bounds, steps)
        assert np.array_equal(alone.modes()[0].position(), mode.position())


def test_extreme_predictors_stay_finite(rng):
    """Predictors far beyond the clamp give finite rates and gradients."""
    group, coefficients, _, gradient = raw_group(rng, 4, 3, [5])
    coefficients[:] *= 1e4
    X = rng.standard_normal((50, 4)).astype(np.float32)
    labels = (rng.random(50) < 0.5).astype(np.uint8)
    group.add_gradient(X.reshape(-1), None, None, labels, np.ones((50, 1), dtype=np.float32))
    assert np.isfinite(gradient).all()
    out = np.empty((50, 1), dtype=np.float32)
    group.fill_rates(X.reshape(-1), None, None, out)
    assert np.isfinite(out).all()


def test_batches_beyond_the_rows_are_refused(rng):
    """The compiled code does not read past the end."""
    group = raw_group(rng, 4, 1, [5])[0]
    X, labels = np.zeros(40, dtype=np.float32), np.zeros(10, dtype=np.uint8)
    steps = np.zeros((1, 4), dtype=np.float32)
    with pytest.raises(ValueError, match="after the last row"):
        group.train(
            X, None, None, labels, np.ones((10, 1), dtype=np.float32), np.array([0, 11]), steps, (2.0, 0.1, 1.0, True)
        )
