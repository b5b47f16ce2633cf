"""Models side by side, as arrays of the compiled code."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from softpolytope._typing import IndexArray
from softpolytope.optimize._basis import Basis, FloatArray32
from softpolytope.optimize._kernels.minibatch import PADDING, ModelGroup
from softpolytope.optimize._minibatch_rows import FloatRows, MemberKey
from softpolytope.optimize._mode import LogPosterior, Mode

# Coefficients side by side in one call: with their gradients and averages they stay in the second cache.
MAX_GROUP_NUMBERS = 40_000
# Log weight of the experts that fill up a group; they have no weight.
_NO_WEIGHT = -100.0


@dataclass(frozen=True, slots=True)
class Member:
    """A model to train."""

    key: MemberKey
    precision_rate: float
    start: Mode


@dataclass(frozen=True, slots=True)
class Target:
    """The log posterior of the members, and the basis in which their rows are."""

    log_posterior: LogPosterior
    basis: Basis

    def prior_numbers(self) -> tuple[float, float, float, bool]:
        """Return the power of the prior, the shape and concentration of the weights, and whether these are trained."""
        prior = self.log_posterior.prior
        return (
            2.0 * prior.precision_shape + 1.0,
            prior.mass_shape / prior.mass_rate / self.log_posterior.max_experts,
            prior.concentration_shape / prior.concentration_rate,
            self.log_posterior.fit_weights,
        )


class Group:
    """Some members side by side; a group is trained by one thread at a time."""

    def __init__(self, members: Sequence[Member], columns: IndexArray, target: Target) -> None:
        """Use some columns, which are neighbors, of the member weights of the rows."""
        self._members, self._target = members, target
        self._columns = slice(int(columns[0]), int(columns[-1]) + 1)
        sizes = [len(member.start.log_weights) for member in members]
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        n_experts = -(-int(self._starts[-1]) // PADDING) * PADDING
        n_layers, n_columns = members[0].start.coefficients.shape[1:]
        self._coefficients = np.zeros((n_columns, n_layers, n_experts), dtype=np.float32)
        self._log_weights = np.full(n_experts, _NO_WEIGHT, dtype=np.float32)
        prior_scale = np.ones((n_layers, n_experts), dtype=np.float32)
        basis = target.basis
        for member, experts in zip(members, self._experts(), strict=True):
            self._coefficients[:, :, experts] = basis.to_basis(member.start.coefficients).transpose(2, 1, 0)
            self._log_weights[experts] = member.start.log_weights
            prior_scale[:, experts] = 2.0 * member.precision_rate
        self._kernel = ModelGroup(
            self._starts,
            np.array([member.key.labeling for member in members], dtype=np.uint8),
            self._coefficients,
            self._log_weights,
            prior_scale,
            (basis.unit**-2).astype(np.float32),
            np.zeros((4, *self._coefficients.shape), dtype=np.float32),
            np.zeros((4, n_experts), dtype=np.float32),
            None if basis.matrix is None else np.ascontiguousarray(basis.matrix, dtype=np.float32),
        )

    def _experts(self) -> list[slice]:
        """Return the experts of each member."""
        return [slice(int(first), int(last)) for first, last in zip(self._starts[:-1], self._starts[1:], strict=True)]

    def train(self, rows: FloatRows, batches: IndexArray, steps: FloatArray32) -> None:
        """Make one step of Adam for each batch of the rows."""
        weights = rows.member_weights[:, self._columns]
        self._kernel.train(*rows.arrays(), rows.labels, weights, batches, steps, self._target.prior_numbers())

    def rates(self, rows: FloatRows) -> FloatArray32:
        """Return the Poisson rates (rows, members) in single precision."""
        out = np.empty((rows.n_rows, len(self._members)), dtype=np.float32)
        self._kernel.fill_rates(*rows.arrays(), out)
        return out

    def modes(self) -> list[Mode]:
        """Return the modes reached, for the original columns."""
        modes = []
        for experts in self._experts():
            own = self._coefficients[:, :, experts].transpose(2, 1, 0).astype(np.float64)
            coefficients = np.ascontiguousarray(self._target.basis.to_original(own))
            modes.append(Mode(coefficients, self._log_weights[experts].astype(np.float64)))
        return modes


def make_groups(members: Sequence[Member], target: Target, n_threads: int) -> list[Group]:
    """Divide members into groups that fit into the cache, and that keep all threads busy if there are enough members.

    No member's result depends on the division.
    """
    n_numbers = sum(member.start.coefficients.size for member in members)
    n_groups = -(-n_numbers // MAX_GROUP_NUMBERS)
    n_groups = min(-(-n_groups // n_threads) * n_threads, len(members))
    parts = np.array_split(np.arange(len(members)), n_groups)
    return [Group([members[index] for index in part], part, target) for part in parts]
