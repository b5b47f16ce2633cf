"""Checkpoints of a search."""

import numpy as np
import pytest
from optimize.searches import SETTINGS, assert_same, ring, stop_after

from softpolytope.data._dataset import InMemoryDataset
from softpolytope.exceptions import CheckpointError
from softpolytope.optimize._fit import find_modes
from softpolytope.optimize._mode import LogPosterior
from softpolytope.parallel import RunOptions
from softpolytope.parallel._checkpoint import CheckpointPlan


def test_finished_optimizations_are_not_repeated(tmp_path, monkeypatch):
    """A stopped search continues after its finished optimizations, to the same modes; other searches reject them."""
    data = InMemoryDataset.from_arrays(*ring())
    expected = find_modes(data, SETTINGS, 0, (0, 1))
    calls = []
    maximize = LogPosterior.maximize
    monkeypatch.setattr(LogPosterior, "maximize", lambda *given: calls.append(0) or maximize(*given))
    plan = CheckpointPlan(tmp_path)
    stopped = find_modes(data, SETTINGS, 0, (0, 1), RunOptions(1, stop_after(8), plan, "one"))
    assert not stopped.is_complete
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["modes.npz"]
    with np.load(tmp_path / "one" / "modes.npz") as saved:
        n_kept = len(saved["names"])
    assert 8 <= n_kept <= len(calls)
    calls.clear()
    reports = []
    assert_same(find_modes(data, SETTINGS, 0, (0, 1), RunOptions(2, reports.append, plan, "one")), expected)
    assert len(calls) == len(reports) - n_kept > 0
    calls.clear()
    assert_same(find_modes(data, SETTINGS, 0, (0, 1), RunOptions(1, None, plan, "one")), expected)
    assert not calls
    with pytest.raises(CheckpointError, match="other data, settings, start or seed"):
        find_modes(data, SETTINGS, 1, (0, 1), RunOptions(1, None, plan, "one"))


def test_continued_searches_have_their_own_files(tmp_path):
    """A search and those that continue from its modes share a checkpoint folder, but not their optimizations."""
    data = InMemoryDataset.from_arrays(*ring())
    options = RunOptions(1, None, CheckpointPlan(tmp_path))
    first = find_modes(data, SETTINGS, 0, (0, 1), options)
    expected = find_modes(data, SETTINGS, 0, (0, 1), start=first)
    for _ in range(2):
        assert_same(find_modes(data, SETTINGS, 0, (0, 1), options, first), expected)
    again = find_modes(data, SETTINGS, 0, (0, 1), start=expected)
    assert_same(find_modes(data, SETTINGS, 0, (0, 1), options, expected), again)
    assert len(list(tmp_path.glob("on-from-*"))) == 2
