"""svmlight files: labels, omitted zeros, and errors with their line."""

import pytest

from softpolytope.exceptions import TableError
from softpolytope.tabular import open_table
from softpolytope.tabular.readers import _svmlight


def test_svmlight(tmp_path, monkeypatch):
    """What is not written is zero; comments and qid are skipped; the label is a column."""
    path = tmp_path / "a.svm"
    path.write_text("+1 1:0.5 3:2 # note\n\n-1 qid:4 2:-1e2\n+1\n")
    table = open_table(path)
    assert table.columns == ("label", "1", "2", "3")
    (chunk,) = table.chunks()
    assert chunk.numbers("1").tolist() == [0.5, 0.0, 0.0]
    assert chunk.numbers("2").tolist() == [0.0, -100.0, 0.0]
    assert chunk.numbers("7").tolist() == [0.0, 0.0, 0.0]
    assert chunk.texts("label") == ["+1", "-1", "+1"]
    assert chunk.locate(1).endswith("line 3")
    monkeypatch.setattr(_svmlight, "CELLS", 2)
    assert [part.n_rows for part in table.chunks()] == [1, 1, 1]
    for line, message in [
        ("1 a:2", "line 1: 'a:2' is not of the form index:number"),
        ("1 1:nan", "not of the form"),
        ("1 1:2 1:3", "index 1 occurs twice"),
        ("1 20000:1", "index 20000 is above 10000"),
    ]:
        path.write_text(line)
        with pytest.raises(TableError, match=message):
            list(open_table(path).chunks())
    path.write_text("# nothing\n")
    with pytest.raises(TableError, match="no rows with values"):
        _ = open_table(path).columns
