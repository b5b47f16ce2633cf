"""Sources that are no table, and the formats of files."""

import pytest

from softpolytope.exceptions import TableError
from softpolytope.tabular import open_table


def test_what_is_no_file(tmp_path):
    """Folders, nothing at all, unknown endings, and pipes, which cannot be read twice."""
    with pytest.raises(TableError, match="is a folder"):
        open_table(tmp_path)
    with pytest.raises(TableError, match=r"cannot be read: No such file"):
        open_table(tmp_path / "none.csv")
    (tmp_path / "a.xlsx").write_text("a\n1\n")
    with pytest.raises(TableError, match=r"none of the suffixes \.csv"):
        open_table(tmp_path / "a.xlsx")
    assert open_table(tmp_path / "a.xlsx", file_format="csv").columns == ("a",)
    with pytest.raises(TableError, match="is not a regular file"):
        open_table("/dev/null", file_format="csv")
