"""Parquet files: types of columns, and numbers with many digits."""

from decimal import Decimal

import pytest

from softpolytope.exceptions import TableError
from softpolytope.tabular import open_table


def read(path, **options):
    """All chunks of a file."""
    return list(open_table(path, **options).chunks())


LONG = [1234567890123456789, 1234567890123456788, -(2**63), 7]


def test_parquet(tmp_path, monkeypatch):
    """Numbers, text, truth values, categories and dates; nothing nested; no file of another kind."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    table = pa.table(
        {
            "n": pa.array([1, None, 3]),
            "t": pa.array(["x", None, "y"]).dictionary_encode(),
            "b": [True, False, None],
            "d": pa.array([0, 1, None], pa.date32()),
        }
    )
    parquet.write_table(table, path)
    (chunk,) = read(path)
    assert chunk.numbers("n").tolist()[::2] == [1.0, 3.0]
    assert chunk.texts("t") == ["x", "", "y"]
    assert chunk.texts("b") == ["True", "False", ""]
    assert chunk.texts("d") == ["1970-01-01", "1970-01-02", ""]
    assert chunk.locate(2).endswith("a.parquet, row 2")
    parquet.write_table(pa.table({"l": [[1], [2]]}), path)
    with pytest.raises(TableError, match=r"column 'l' is of type List"):
        open_table(path)
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(TableError, match="damaged or not a Parquet file"):
        open_table(path)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install softpolytope\[cli\]"):
        open_table(path)


def test_long_numbers_keep_their_digits_in_parquet(tmp_path):
    """Whole numbers, also where some are missing, and decimals; short ones are written as ever."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    decimals = ["12345678901234567.89", "1.10", "3.00"]
    columns = {
        "n": pa.array([LONG[0], None, 3]),
        "u": pa.array([2**64 - 1, 1, None], pa.uint64()),
        "d": pa.array(map(Decimal, decimals), pa.decimal128(19, 2)),
        "s": pa.array([1, None, 3]),
    }
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    (chunk,) = read(tmp_path / "a.parquet")
    assert chunk.texts("n") == ["1234567890123456789", "", "3"]
    assert chunk.texts("u") == ["18446744073709551615", "1", ""]
    assert chunk.texts("d") == ["12345678901234567.89", "1.1", "3"]
    assert chunk.texts("s") == ["1", "", "3"]
    assert chunk.select([0]).cells("n") == ["1234567890123456789"]
    assert chunk.numbers("n").tolist()[::2] == [float(LONG[0]), 3.0]
