"""Columns: numbers and codes of Arrow arrays and of sequences are the same."""

import numpy as np
import pytest

from softpolytope.tabular._columns import FIRST_CELLS, Codes, NumberColumn, TextColumn

STRANGE = [
    "1",
    " 2.5 ",
    "+3",
    "1e400",
    "-0",
    "1_0",
    "NaN",
    "nan",
    "NAN",
    "NA",
    "",
    "inf",
    "x",
    "0x1",
    "\u0661",
    "1e-400",
]


def test_arrow_and_sequences_agree(rng):
    """Numbers to the bit, cells and selections, whatever is among the first cells or only far behind them."""
    pa = pytest.importorskip("pyarrow")
    for number in range(300):
        few = rng.choice(STRANGE, int(rng.integers(1, 4))).tolist()
        first = ["0.1"] * (FIRST_CELLS + 5) if number % 2 else []
        texts = [*first, *rng.choice([*few, "2", "0.1"], 20).tolist()]
        column = TextColumn(texts)
        rows = np.arange(len(texts) - 7, len(texts))
        for kind in (pa.string(), pa.large_string()):
            array = pa.chunked_array([pa.array(texts[:9], kind), pa.array(texts[9:], kind)])
            other = TextColumn(array)
            assert other.numbers().tobytes() == column.numbers().tobytes(), texts[-20:]
            assert other.codes().to_list() == column.codes().to_list() == texts
            assert other.select(rows).codes().to_list() == texts[-7:]
            assert [other.cell(row) for row in rows.tolist()] == texts[-7:]
    assert TextColumn(pa.array(["a", None])).codes().to_list() == ["a", ""]


def test_codes_hold_only_texts_that_occur():
    """After a selection; a missing value is the empty text."""
    codes = Codes(np.array([2, 0, 2, 1]), ["a", "NA", "c"])
    assert codes.counts().tolist() == [1, 1, 2]
    some = codes.select(np.array([0, 2, 3]))
    assert (list(some.texts), some.to_list(), some.cell(2)) == (["NA", "c"], ["c", "c", "NA"], "NA")
    assert some.with_missing().to_list() == ["c", "c", ""]
    assert len(codes.select(np.array([], dtype=int)).texts) == 0


def test_numbers_as_categories():
    """Integers keep all digits, also beside missing ones; fractions are written as Python writes them."""
    long = NumberColumn(np.array([2**62 + 1, 0, 2**62]), "int", np.array([False, True, False]))
    assert long.codes().to_list() == [str(2**62 + 1), "", str(2**62)]
    assert np.isnan(long.numbers()).tolist() == [False, True, False]
    assert NumberColumn(np.array([2.0, np.nan, 0.1]), "float").codes().to_list() == ["2", "", "0.1"]
    assert NumberColumn(np.array([0.1], dtype=np.float32), "float").cell(0) == float(np.float32(0.1))
