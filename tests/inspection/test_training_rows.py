"""Comparison of rows with those that a model was trained on."""

import numpy as np
import pytest
from model_fixtures import FIXTURES
from sklearn.datasets import make_moons

from softpolytope import SoftplusClassifier, load_model
from softpolytope.inspection._training_rows import find_overlap, overlap_with_training
from softpolytope.model import _training_rows as training_rows
from softpolytope.model._training_rows import TrainingRows

FEW = {"inference": "map", "n_restarts": 1, "random_state": 0}


def drawn(kind, n_rows, rng):
    """Draw rows that are nearly all distinct, partly alike, or of few distinct values."""
    if kind == "numbers":
        return rng.normal(size=(n_rows, 3))
    if kind == "mixed":
        return np.column_stack([rng.integers(0, 60, n_rows), rng.integers(0, 8, n_rows), rng.integers(0, 4, n_rows)])
    return rng.integers(0, 2, size=(n_rows, 5)).astype(float)


@pytest.mark.parametrize("kind", ["numbers", "mixed", "binary"])
def test_new_rows_raise_no_alarm(kind, rng):
    """With 300 sets of new rows at level 1e-4 each, one alarm has a probability of 3 %, two of less than 5e-4."""
    known = TrainingRows.from_rows(drawn(kind, 800, rng))
    alarms = [
        find_overlap(known, drawn(kind, size, rng)).has_training_rows for size in (5, 50, 800) for _ in range(100)
    ]
    assert sum(alarms) <= 1


@pytest.mark.parametrize(("kind", "share"), [("numbers", 1.0), ("numbers", 0.2), ("mixed", 1.0), ("mixed", 0.5)])
def test_training_rows_are_found(kind, share, rng):
    """All or some of them are found, also if new rows often look alike; the estimated share is close."""
    rows = drawn(kind, 800, rng)
    n_old = int(300 * share)
    asked = np.concatenate([rows[:n_old], drawn(kind, 300 - n_old, rng)])
    found = find_overlap(TrainingRows.from_rows(rows), asked)
    assert found.has_training_rows
    assert found.share == pytest.approx(share, abs=0.2 if kind == "mixed" else 0.01)
    assert found.is_whole == (share == 1.0)
    if kind == "numbers":
        assert found.is_known.tolist() == [True] * n_old + [False] * (300 - n_old)


def test_the_whole_table_is_found_however_few_its_values(rng):
    """The checksum finds it in any order; without one of its rows it cannot be told from new rows."""
    rows = drawn("binary", 400, rng)
    known = TrainingRows.from_rows(rows)
    assert find_overlap(known, rows[::-1]).is_whole
    assert not find_overlap(known, rows[1:]).has_training_rows


def test_training_rows_are_found_where_hashes_are_a_share(rng, monkeypatch):
    """It is then unknown which rows they are, but their number is estimated."""
    monkeypatch.setattr(training_rows, "MAX_HASHES", 1000)
    rows = drawn("numbers", 8000, rng)
    found = find_overlap(TrainingRows.from_rows(rows), np.concatenate([rows[:600], drawn("numbers", 600, rng)]))
    assert found.is_known is None
    assert found.share == pytest.approx(0.5, abs=0.2)
    assert found.in_words().startswith("About ")


def test_models_know_their_rows(tmp_path):
    """Rows are known after fit, batches, a warm start and a file; rows of weight zero are new."""
    X, y = make_moons(300, noise=0.2, random_state=0)
    weights = np.repeat([1.0, 0.0], [100, 50])
    model = SoftplusClassifier(**FEW, warm_start=True).fit(X[:150], y[:150], sample_weight=weights)
    assert overlap_with_training(model, X).n_known == 100
    model.partial_fit(X[150:200], y[150:200])
    assert overlap_with_training(model, X).n_known == 150
    model.save(tmp_path / "m")
    assert overlap_with_training(load_model(tmp_path / "m"), X).n_known == 150
    model.save(tmp_path / "m", fingerprint=False)
    assert overlap_with_training(load_model(tmp_path / "m"), X) is None
    warm = SoftplusClassifier(**FEW, warm_start=True).fit(X[:150], y[:150]).fit(X[100:250], y[100:250])
    assert overlap_with_training(warm, X).n_known == 250
    cold = warm.set_params(warm_start=False).fit(X[:60], y[:60])
    assert overlap_with_training(cold, X).n_known == 60


def test_models_without_a_fingerprint(tmp_path):
    """Files of earlier versions and fits out of core have none; further batches do not change that."""
    X, y = make_moons(300, noise=0.2, random_state=0)
    assert overlap_with_training(load_model(FIXTURES / "map.softpolytope"), X) is None
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    model = SoftplusClassifier(**FEW).fit(tmp_path / "X.npy", np.load(tmp_path / "y.npy", mmap_mode="r"))
    assert overlap_with_training(model, X) is None
    model.partial_fit(X, y)
    assert overlap_with_training(model, X) is None


def test_a_failed_batch_changes_nothing():
    """A batch that raises changes neither the model nor the rows it knows."""
    X, y = make_moons(300, noise=0.2, random_state=0)
    model = SoftplusClassifier(**FEW).fit(X[:150], y[:150])
    with pytest.raises(ValueError, match="not one of the classes"):
        model.partial_fit(X[150:], y[150:] + 5)
    assert overlap_with_training(model, X).n_known == 150
