"""A few hundred of what `benchmarks/fuzz_tables.py` tries by the hundred thousand."""

import pytest

from benchmarks.fuzz_tables import fuzz, fuzz_frames


@pytest.mark.slow
def test_mutated_tables(tmp_path):
    """No traceback, whatever a file holds; some are refused, some are read."""
    counts = fuzz(300, 20261116, tmp_path)
    assert sum(counts.values()) == 300
    for answer in ("predicted", "refused"):
        assert sum(count for (_, kind), count in counts.items() if kind == answer) > 30


@pytest.mark.slow
def test_random_frames():
    """All libraries agree, on encoded rows as on refusals; there are both."""
    for library in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(library)
    counts = fuzz_frames(400, 20261120)
    assert counts["encoded"] + counts["refused"] == 400
    assert min(counts.values()) > 0
