"""A few hundred of what `benchmarks/fuzz_tables.py` tries by the hundred thousand."""

import pytest

from benchmarks.fuzz_tables import fuzz


@pytest.mark.slow
def test_mutated_tables(tmp_path):
    """No traceback, whatever a file holds; some are refused, some are read."""
    counts = fuzz(300, 20261116, tmp_path)
    assert sum(counts.values()) == 300
    for answer in ("predicted", "refused"):
        assert sum(count for (_, kind), count in counts.items() if kind == answer) > 30
