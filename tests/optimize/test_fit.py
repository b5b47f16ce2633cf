"""Runs of a search: continued, reported, stopped and interrupted."""

import signal
import threading

import numpy as np
import pytest
from optimize.searches import SETTINGS, ring, stop_after

from softpolytope.data._dataset import InMemoryDataset
from softpolytope.optimize import _search as search
from softpolytope.optimize._fit import DEFAULT_PRIOR, find_modes
from softpolytope.optimize._mode import ModeSettings
from softpolytope.parallel import RunOptions


def test_a_search_continues_from_modes():
    """A search continues from an earlier result, at its rates; a result that does not match is rejected."""
    design, labels = ring()
    data = InMemoryDataset.from_arrays(design, labels)
    first = find_modes(data, SETTINGS, 0, (0, 1))
    again = find_modes(data, SETTINGS, 0, (0, 1), start=first)
    assert np.array_equal(again.precision_rates, first.precision_rates)
    for one, other in zip(first.modes[0], again.modes[0], strict=True):
        assert other.log_likelihood >= one.log_likelihood - 0.5
        assert not np.array_equal(one.mode.position(), other.mode.position())
    with pytest.raises(ValueError, match="different number of restarts"):
        find_modes(data, ModeSettings(6, 3, DEFAULT_PRIOR, 3), 0, (0, 1), start=first)


def test_progress_and_early_stop():
    """Progress reaches the number announced; a callback that returns True ends the search with usable modes."""
    design, labels = ring()
    data = InMemoryDataset.from_arrays(design, labels)
    reports = []
    find_modes(data, SETTINGS, 0, (0, 1), RunOptions(callback=reports.append))
    assert {(item.labeling, item.chain) for item in reports} == {(side, n) for side in (0, 1) for n in range(3)}
    assert max(item.n_done for item in reports) == reports[0].n_in_all == len(search.RATE_GRID) + 1
    assert all(1 <= item.n_active <= 6 and item.unit == "optimizations" for item in reports)
    for n_calls in (1, 8):
        result = find_modes(data, SETTINGS, 0, (0, 1), RunOptions(callback=stop_after(n_calls)))
        assert not result.is_complete
        assert not result.is_interrupted
        assert [len(modes) for modes in result.modes] == [3, 3]
        assert np.isfinite([found.log_likelihood for found in result.modes[0]]).all()


def test_interrupt_ends_the_search():
    """Ctrl-C during an optimization leaves a result."""
    design, labels = ring(400)
    data = InMemoryDataset.from_arrays(design, labels)

    def interrupt(progress):
        if progress.n_done == 1 and progress.labeling == progress.chain == 0:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    result = find_modes(data, SETTINGS, 0, (0, 1), RunOptions(2, interrupt))
    assert not result.is_complete
    assert result.is_interrupted
    assert np.isfinite(result.modes[1][0].log_likelihood)
