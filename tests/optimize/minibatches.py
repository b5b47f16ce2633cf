"""Rows, models and a plain twin of the compiled minibatches, for several test files."""

import numpy as np
from scipy import sparse

from softpolytope.data import InMemoryDataset
from softpolytope.distributions import Streams
from softpolytope.optimize._basis import Basis
from softpolytope.optimize._fit import DEFAULT_PRIOR
from softpolytope.optimize._minibatch_rows import FloatRows, MemberKey
from softpolytope.optimize._mode import LogPosterior, Mode
from softpolytope.optimize._model_group import Group, Member, Target

SIZES = (5, 3, 9)  # experts of three members; the group is padded
N_LAYERS = 2


def make_rows(rng, n_rows=300, n_columns=6, *, is_sparse=False):
    """Return rows with an intercept, some zeros, labels and unequal weights."""
    X = rng.standard_normal((n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.6)
    X[:, 0] = 1.0
    labels = rng.random(n_rows) < 0.4
    return InMemoryDataset.from_arrays(sparse.csr_array(X) if is_sparse else X, labels, rng.uniform(0.5, 2.0, n_rows))


def make_members(rng, n_columns, sizes=SIZES):
    """Return members of different sizes, labelings and rates."""
    members = []
    for number, size in enumerate(sizes):
        mode = Mode(rng.standard_normal((size, N_LAYERS, n_columns)) / np.sqrt(n_columns), rng.normal(-1.0, 0.5, size))
        members.append(Member(MemberKey(number % 2, number), 0.5 + number, mode))
    return members


def make_target(data, *, is_rotated=False):
    """Return the target of some rows, in uncorrelated columns or in the given ones."""
    basis = Basis.from_dataset(data) if is_rotated else Basis(np.ones(data.n_columns), None)
    return Target(LogPosterior(DEFAULT_PRIOR, max_experts=10, fit_weights=True, column_unit=basis.unit), basis)


def make_group(data, members, target):
    """Return a group and its rows, with random weights."""
    rows = FloatRows.from_dataset(data, target.basis)
    rows = rows.with_members(Streams(3), [member.key for member in members], data.block_rows)
    return Group(members, np.arange(len(members)), target), rows


class PlainAdam:
    """Adam on the mean log posterior per row of one member, in double precision and NumPy alone."""

    def __init__(self, member, target):
        self._member, self._target = member, target
        self.theta = target.basis.to_basis(member.start.coefficients)
        self.log_weights = member.start.log_weights.copy()
        self._averages = [np.zeros_like(part) for part in (*[self.theta] * 2, *[self.log_weights] * 2)]

    def gradient(self, X, labels, weights):
        """Return the gradient of the log likelihood by coefficients (experts, layers, columns) and log weights."""
        activation, slopes = np.ones((len(X), len(self.theta))), []
        for layer in range(self.theta.shape[1]):
            odds = activation * np.exp(X @ self.theta[:, layer].T)
            activation = np.log1p(odds)
            slopes.append(odds / ((1.0 + odds) * activation))
        terms = activation * np.exp(self.log_weights)
        rate = terms.sum(axis=1)
        is_event = labels != bool(self._member.key.labeling)
        flow = terms * (np.where(is_event, 1.0 / np.expm1(rate), -1.0) * weights)[:, None]
        result, by_weight = np.empty_like(self.theta), flow.sum(axis=0)
        for layer in reversed(range(self.theta.shape[1])):
            flow = flow * slopes[layer]
            result[:, layer] = flow.T @ X
        return result, by_weight

    def step(self, rows, weights, step):
        """Make a step; `step` has the numbers of one step of the compiled code."""
        size, root, inverse_batch, inverse_total = step
        power, shape, concentration, _ = self._target.prior_numbers()
        X, labels = np.asarray(rows.design, dtype=float), rows.labels.astype(bool)
        by_theta, by_weight = self.gradient(X, labels, weights)
        beta = self._target.basis.to_original(self.theta)
        prior = -power * beta / (2.0 * self._member.precision_rate + beta**2)
        basis = self._target.basis
        prior = prior * basis.unit if basis.matrix is None else prior @ basis.matrix
        gradients = (
            by_theta * inverse_batch + prior * inverse_total,
            by_weight * inverse_batch + (shape - concentration * np.exp(self.log_weights)) * inverse_total,
        )
        for number, gradient in enumerate(gradients):
            mean, square = self._averages[2 * number : 2 * number + 2]
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient**2 - square)
            moved = (self.theta, self.log_weights)[number]
            moved += size * mean / (np.sqrt(square) * root + 1e-8)
