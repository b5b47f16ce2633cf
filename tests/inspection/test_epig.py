"""Rows whose labels tell most about the labels of all rows."""

import itertools

import numpy as np
import pytest

from softpolytope.inspection import _uncertainty as uncertainty
from softpolytope.inspection._bald import select_bald
from softpolytope.inspection._epig import select_epig


def by_class(probabilities):
    """Probabilities of both classes from those of one."""
    return np.stack([1.0 - probabilities, probabilities], axis=-1)


def contingency(draws, row, target):
    """Pearson's phi^2 of the labels of two rows, from their joint law, cell by cell."""
    total = 0.0
    for k, c in itertools.product(range(draws.shape[2]), repeat=2):
        joint = np.mean(draws[:, row, k] * draws[:, target, c])
        alone = draws[:, row, k].mean() * draws[:, target, c].mean()
        total += (joint - alone) ** 2 / alone
    return total


def conditioned_choice(draws, n):
    """The greedy choice with the covariance matrix of all probabilities, conditioned as that of a Gaussian vector."""
    n_draws, n_rows, n_classes = draws.shape
    flat = draws.reshape(n_draws, -1)
    mean = flat.mean(axis=0)
    covariance = np.cov(flat.T, bias=True)
    places = np.arange(n_rows * n_classes).reshape(n_rows, n_classes)[:, 1:]
    chosen = []
    for _ in range(n):
        scores, gains = [], []
        for row in range(n_rows):
            cells = places[row]
            laws = flat[:, cells]
            noise = np.diag(laws.mean(axis=0)) - laws.T @ laws / n_draws
            own = noise + covariance[np.ix_(cells, cells)]
            gains.append(covariance[:, cells] @ np.linalg.solve(own, covariance[cells]))
            scores.append(-np.inf if row in chosen else (np.diag(gains[-1]) / mean).sum())
        chosen.append(int(np.argmax(scores)))
        covariance = covariance - gains[chosen[-1]]
    return chosen


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_first_row_has_the_largest_contingency(n_classes, rng):
    """The contingency is summed over all rows, its own included."""
    for _ in range(10):
        draws = rng.dirichlet(np.full(n_classes, 0.5), (6, 8))
        sums = [sum(contingency(draws, row, target) for target in range(8)) for row in range(8)]
        assert select_epig(draws).tolist() == [np.argmax(sums)]


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_next_rows_are_those_of_plain_conditioning(n_classes, rng):
    """The whole covariance matrix gives the same rows for ten sets of draws; without conditioning they often differ."""
    n_other = 0
    for _ in range(10):
        draws = rng.dirichlet(np.full(n_classes, 0.5), (9, 8))
        expected = conditioned_choice(draws, 5)
        assert select_epig(draws, 5).tolist() == expected
        sums = [sum(contingency(draws, row, target) for target in range(8)) for row in range(8)]
        n_other += np.argsort(sums)[::-1][:5].tolist() != expected
    assert n_other > 3


def test_half_the_contingency_is_the_information(rng):
    """Half of phi^2 is the mutual information of nearly independent labels, to one per cent."""
    draws = by_class(0.4 + 0.1 * rng.random((20, 2)))
    joint = np.einsum("dk,dc->kc", draws[:, 0], draws[:, 1]) / 20
    alone = np.outer(*draws.mean(axis=0))
    information = (joint * np.log(joint / alone)).sum()
    assert contingency(draws, 0, 1) / 2.0 == pytest.approx(information, rel=0.01)


def test_an_isolated_row_is_not_selected(rng):
    """Its own label is the least certain, but tells nothing about others."""
    common = rng.random(40) < 0.5
    draws = np.column_stack([np.where(rng.random(40) < 0.5, 0.99, 0.01), *[np.where(common, 0.8, 0.2)] * 20])
    assert select_bald(draws).tolist() == [0]
    assert select_epig(draws).tolist() == [1]


def test_copies_are_not_all_chosen():
    """After one of ten copies, a row of another kind tells more than a second copy, though about fewer rows."""
    sides = np.array(list(itertools.product([0.02, 0.98], [0.1, 0.9])))
    draws = np.repeat(sides, [10, 4], axis=1)
    assert select_epig(draws, 2).tolist() == [0, 10]


def test_two_classes_are_two_of_several(rng):
    """The same rows are selected for one probability, for two in either order, and with a third, impossible class."""
    draws = rng.beta(0.5, 0.5, (12, 30))
    both = by_class(draws)
    three = np.concatenate([np.zeros((12, 30, 1)), both], axis=2)
    expected = select_epig(draws, 12)
    for other in (both, both[:, :, ::-1], three, three[:, :, ::-1]):
        assert np.array_equal(select_epig(other, 12), expected)


def test_chunks_change_nothing(rng, monkeypatch):
    """The same rows are selected if rows are processed one at a time."""
    draws = rng.beta(0.5, 0.5, (12, 30))
    rows = select_epig(draws, 8)
    monkeypatch.setattr(uncertainty, "MAX_NUMBERS_AT_ONCE", 1)
    assert np.array_equal(select_epig(draws, 8), rows)


def test_ties_go_by_the_order_of_rows(rng):
    """Rows that tell nothing, because draws agree or are certain, and rows that tell the same keep their order."""
    assert select_epig(np.full((4, 6), 0.3), 6).tolist() == [0, 1, 2, 3, 4, 5]
    assert select_epig(np.tile([0.0, 1.0, 1.0], (4, 1)), 3).tolist() == [0, 1, 2]
    assert select_epig(np.repeat(rng.random((5, 1)), 27, axis=1), 8).tolist() == list(range(8))


def test_sure_draws_tell_all_at_once():
    """A label that identifies the draw leaves nothing to learn: the remaining rows keep their order."""
    draws = np.array([[0.3, 0.0, 0.9, 0.2], [0.4, 1.0, 0.1, 0.6]])
    assert select_epig(draws, 4).tolist() == [1, 0, 2, 3]


def test_tiny_probabilities(rng):
    """Probabilities of 1e-12 and of 1 - 1e-12 keep their precision among others."""
    draws = rng.random((8, 1))
    tiny = np.column_stack([0.5 + 0.0 * draws, 1e-12 * draws, 1.0 - 1e-12 * draws])
    assert select_epig(tiny, 1).tolist() in ([1], [2])
    assert sorted(select_epig(tiny, 3).tolist()) == [0, 1, 2]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e-200, 1e-310, 5e-324])
def test_probabilities_below_the_smallest_number(size, rng):
    """A row whose variance has no inverse tells nothing, and does not affect the choice of others."""
    draws = rng.random((8, 6))
    without = select_epig(draws[:, [0, 1, 3, 4, 5]], 5)
    draws[:, 2] *= size
    assert select_epig(draws, 6).tolist() == [*np.array([0, 1, 3, 4, 5])[without].tolist(), 2]


@pytest.mark.parametrize("rest", [0.0, 1e-17, 1e-14])
def test_sure_draws_give_each_row_once(rest, rng):
    """No row is selected twice, even when only rounding of either sign is left."""
    for _ in range(10):
        draws = np.where(rng.random((8, 30)) < 0.5, 1.0 - rest, rest)
        assert sorted(select_epig(draws, 30).tolist()) == list(range(30))


@pytest.mark.parametrize(
    ("probabilities", "n", "message"),
    [
        ([0.1, 0.2], 1, r"got shape \(2,\)"),
        ([[0.1, np.nan], [0.2, 0.3]], 1, "got nan at draw 0, row 1"),
        ([[[0.5, 0.4]]], 1, "sum to 1; got 0.9"),
        ([[0.1, 0.2]], 3, "n must be an integer from 1 to 2"),
        ([[0.1, 0.2]], 0, "n must be an integer from 1 to 2"),
        ([[0.1, 0.2]], 1.0, "n must be an integer from 1 to 2"),
    ],
)
def test_bad_input_is_refused(probabilities, n, message):
    """Both criteria refuse the same input."""
    for function in (select_epig, select_bald):
        with pytest.raises(ValueError, match=message):
            function(probabilities, n)
