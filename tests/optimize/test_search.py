"""Restarts: what they hold out, the rate they choose, and that only seed and data determine the modes."""

import numpy as np
import pytest
from optimize.searches import SETTINGS, assert_same, ring
from scipy import sparse

from softpolytope.data._dataset import InMemoryDataset
from softpolytope.model._prior import Prior
from softpolytope.optimize import _search as search
from softpolytope.optimize._fit import DEFAULT_PRIOR, find_modes
from softpolytope.optimize._mode import ModeSettings
from softpolytope.parallel import RunOptions


def test_threads_order_and_storage_change_nothing():
    """The bits depend on the seed, and neither on threads nor on the order or storage of the rows."""
    design, labels = ring()
    expected = find_modes(InMemoryDataset.from_arrays(design, labels), SETTINGS, 0, (0, 1))
    order = np.random.default_rng(1).permutation(len(labels))
    shuffled = InMemoryDataset.from_arrays(design[order], labels[order])
    for n_threads in (1, 2, 16):
        assert_same(find_modes(shuffled, SETTINGS, 0, (0, 1), RunOptions(n_threads)), expected)
    thin = InMemoryDataset.from_arrays(sparse.csr_array(design), labels)
    assert_same(find_modes(thin, SETTINGS, 0, (0, 1)), expected)
    other = find_modes(shuffled, SETTINGS, 1, (0, 1))
    assert other.modes[0][0].log_likelihood != expected.modes[0][0].log_likelihood


def test_blocks_on_threads_change_nothing():
    """If there are more threads than restarts, several evaluate the blocks of a restart, to the same bits."""
    design, labels = ring(300)
    data = InMemoryDataset.from_arrays(design, labels, block_rows=32)
    settings = ModeSettings(4, 1, DEFAULT_PRIOR, n_restarts=1)
    assert_same(find_modes(data, settings, 0, (0,), RunOptions(1)), find_modes(data, settings, 0, (0,), RunOptions(4)))


def test_weights_are_repeats():
    """Repeated rows and weighted rows give the same bits."""
    design, labels = ring(80)
    copies = np.random.default_rng(2).integers(1, 4, len(labels))
    weighted = InMemoryDataset.from_arrays(design, labels, copies.astype(float))
    repeated = InMemoryDataset.from_arrays(np.repeat(design, copies, axis=0), np.repeat(labels, copies))
    assert_same(find_modes(weighted, SETTINGS, 0, (0, 1)), find_modes(repeated, SETTINGS, 0, (0, 1)))


def test_the_precision_rate_follows_the_data(rng):
    """The prior chosen is loose where the boundary is sharp, and tight where the labels are noise."""
    design, labels = ring(300)
    sharp = find_modes(InMemoryDataset.from_arrays(design, labels), SETTINGS, 0, (0, 1))
    noise = find_modes(InMemoryDataset.from_arrays(design, rng.random(len(labels)) < 0.5), SETTINGS, 0, (0, 1))
    assert sharp.precision_rates.min() > noise.precision_rates.max()
    assert min(noise.held_out_loss.values()) < 0.72 < max(noise.held_out_loss.values())
    for result in (sharp, noise):
        assert set(result.precision_rates.ravel().tolist()) <= set(result.held_out_loss)
    given = find_modes(
        InMemoryDataset.from_arrays(design, labels), ModeSettings(6, 2, Prior(precision_rate=2.0), 2), 0, (0,)
    )
    assert given.precision_rates.tolist() == [[2.0, 2.0]]
    assert given.held_out_loss == {}


def test_samples_that_grow_end_with_all_rows(monkeypatch):
    """A search that begins with a tenth of the rows fits all of them nearly as well as one that uses them at once."""
    design, labels = ring(1200)
    data = InMemoryDataset.from_arrays(design, labels)
    whole = find_modes(data, SETTINGS, 0, (0, 1), RunOptions(2))
    monkeypatch.setattr(search, "MAX_FIRST_ROWS", 120)
    seen = []
    grown = find_modes(data, SETTINGS, 0, (0, 1), RunOptions(2, lambda progress: seen.append(progress.n_in_all)))
    assert set(seen) == {len(search.RATE_GRID) + 2}
    assert_same(grown, find_modes(data, SETTINGS, 0, (0, 1)))
    best = [max(found.log_likelihood for found in result.modes[0]) for result in (whole, grown)]
    null = len(labels) * np.log(0.5)
    assert best[1] > 0.9 * best[0] + 0.1 * null


def test_a_handful_of_rows():
    """Fewer rows than folds, or a single label, work."""
    design = np.column_stack([np.ones(3), [0.0, 1.0, 2.0]])
    for labels in ([False, True, True], [True, True, True]):
        data = InMemoryDataset.from_arrays(design, np.array(labels))
        result = find_modes(data, SETTINGS, 0, (0, 1))
        assert np.isfinite([found.log_likelihood for modes in result.modes for found in modes]).all()
        assert np.isfinite(list(result.held_out_loss.values())).all()


def test_the_other_labeling_alone():
    """Labeling 1 alone is a fit of the opposite labels."""
    design, labels = ring()
    data = InMemoryDataset.from_arrays(design, labels)
    alone = find_modes(data, SETTINGS, 0, (1,))
    flipped = find_modes(data.flipped(), SETTINGS, 0, (0,))
    for result in (alone, flipped):
        assert min(result.held_out_loss.values()) < 0.6  # if labels were confused, it would be above log 2


@pytest.mark.slow
def test_growth_ends_when_it_helps_no_more(monkeypatch):
    """Samples stop growing once a single hyperplane is learned; without a minimum gain they grow to the end."""
    rng = np.random.default_rng(0)
    design = np.column_stack([np.ones(6000), rng.standard_normal((6000, 2))])
    labels = rng.random(6000) < 1.0 / (1.0 + np.exp(-design[:, 1]))
    monkeypatch.setattr(search, "MAX_FIRST_ROWS", 300)
    reports = []
    find_modes(InMemoryDataset.from_arrays(design, labels), SETTINGS, 0, (0, 1), RunOptions(callback=reports.append))
    assert max(item.n_done for item in reports) < reports[0].n_in_all
    monkeypatch.setattr(search, "MIN_GAIN", -np.inf)
    reports.clear()
    find_modes(InMemoryDataset.from_arrays(design, labels), SETTINGS, 0, (0, 1), RunOptions(callback=reports.append))
    assert max(item.n_done for item in reports) == reports[0].n_in_all
