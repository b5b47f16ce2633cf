"""Fingerprints of training rows: rows are recognized, new ones are not, and nothing else is kept."""

import numpy as np
import pytest
from scipy import sparse

from softpolytope.model import _training_rows as training_rows
from softpolytope.model._training_rows import TrainingRows, row_hashes


def test_rows_are_recognized_in_whatever_form(rng):
    """Dense or sparse, in another order, with another zero, in Fortran's order."""
    X = rng.normal(size=(500, 7)) * (rng.random((500, 7)) < 0.5)
    known = TrainingRows.from_rows(X)
    for again in (X[::-1], np.asfortranarray(X), sparse.csr_array(X), np.where(X == 0.0, -0.0, X)):
        assert known.recognize(again).all()
    assert not known.recognize(X[:, ::-1][np.count_nonzero(X, axis=1) > 2]).any()
    changed = X.copy()
    changed[:, 3] += 1e-3
    assert not known.recognize(changed).any()
    assert known.checksum == TrainingRows.from_rows(sparse.csr_array(X[::-1])).checksum


@pytest.mark.parametrize("scale", [1.0, 1e200, 1e-200, 1e9])
def test_rows_are_recognized_after_a_text_file(scale, rng):
    """Numbers that are the last bit off, as some readers of text leave them, and in single precision."""
    X = rng.normal(size=(2000, 5)) * scale
    known = TrainingRows.from_rows(X)
    assert known.recognize(np.nextafter(X, np.inf)).mean() > 0.999
    assert known.recognize(np.nextafter(X, -np.inf)).mean() > 0.999
    if scale == 1.0:
        single = X.astype(np.float32)
        short = np.array([[float(str(value)) for value in row] for row in single])
        assert not np.array_equal(short, single)
        assert TrainingRows.from_rows(single).recognize(short).all()
        assert known.recognize(single).mean() > 0.999


def test_rows_without_weight_are_not_trained_on(rng):
    """They are left out."""
    X = rng.normal(size=(10, 2))
    known = TrainingRows.from_rows(X, np.repeat([1.0, 0.0], 5))
    assert known.recognize(X).tolist() == [True] * 5 + [False] * 5
    assert known.n_rows == 5


def test_many_rows_leave_a_share_of_their_hashes(rng, monkeypatch):
    """At most so many, and an even share of the rows; batches leave the same fingerprint as all rows at once."""
    monkeypatch.setattr(training_rows, "MAX_HASHES", 500)
    X = rng.normal(size=(3000, 3))
    known = TrainingRows.from_rows(X)
    assert 100 < len(known.hashes) <= 500
    is_looked_up = known.is_covered(row_hashes(X))
    assert np.array_equal(known.recognize(X), is_looked_up)
    assert is_looked_up.mean() == pytest.approx(0.5**known.n_halvings, abs=5 * np.sqrt(0.125 * 0.875 / 3000))
    batches = TrainingRows.from_rows(X[:100])
    for start in range(100, 3000, 100):
        batches = batches.with_batch(TrainingRows.from_rows(X[start : start + 100]))
    assert np.array_equal(batches.hashes, known.hashes)
    assert (batches.n_rows, batches.checksum, batches.n_halvings) == (3000, known.checksum, known.n_halvings)


def test_batches_know_which_rows_are_repeated(rng):
    """Within a batch and between two."""
    X = rng.normal(size=(6, 2))
    both = TrainingRows.from_rows(X[[0, 0, 1, 2]]).with_batch(TrainingRows.from_rows(X[[2, 3, 4]]))
    whole = TrainingRows.from_rows(X[[0, 0, 1, 2, 2, 3, 4]])
    assert np.array_equal(both.hashes, whole.hashes)
    assert np.array_equal(both.is_repeated, whole.is_repeated)
    assert both.is_repeated.sum() == 2


def test_a_fit_that_goes_on_recognizes_both_lots(rng):
    """And the rows that are in both do not count as rows that look alike."""
    X = rng.normal(size=(300, 2))
    after = TrainingRows.from_rows(X[:200]).with_later_fit(TrainingRows.from_rows(X[50:]))
    assert after.recognize(X).all()
    assert after.n_rows == 250
    assert after.match_probability == pytest.approx(TrainingRows.from_rows(X[50:]).match_probability, abs=1e-6)
    assert TrainingRows.from_rows(X[:200]).with_batch(TrainingRows.from_rows(X[50:])).match_probability > 0.3


def test_the_chance_of_equal_rows_covers_what_happens(rng):
    """Good's estimate with its margin is above the share of new rows that look like training rows, and not far."""
    for n_values, n_columns in ((2, 4), (10, 3), (10, 4), (30, 4), (1000, 4)):
        rows = rng.integers(0, n_values, size=(3000, n_columns)).astype(float)
        known = TrainingRows.from_rows(rows[:1000])
        share = known.recognize(rows[1000:]).mean()
        assert known.match_probability == pytest.approx(share, abs=0.1)
        assert share <= known.max_match_probability <= share + 0.2


def test_hashes_are_spread_evenly():
    """Chi-square of 256 cells by the highest bits that are kept, at a level of 1e-6; the numbers themselves fail it."""
    X = np.column_stack([np.arange(100_000.0), np.ones(100_000)])
    cells = np.bincount(row_hashes(X) >> np.uint64(56), minlength=256)
    expected = len(X) / 256
    limit = 255 + 6 * np.sqrt(2 * 255)
    assert ((cells - expected) ** 2 / expected).sum() < limit
    plain = np.bincount((X[:, 0].view(np.uint64) >> np.uint64(45) & np.uint64(255)).astype(np.intp), minlength=256)
    assert ((plain - expected) ** 2 / expected).sum() > limit
