"""svmlight files: labels, omitted zeros, and errors with their line."""

import numpy as np
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


WORDS = [
    "1:0.5", "2:-3", "3:1e2", "10:7", "0:4", "1:nan", "2:1_0", "+3:1", "-1:2", "qid:3", "4:", ":5", "5:\u0661", "2:inf",
]  # fmt: skip
LABELS = ["1", "-1", "+1", "0", "spam", "1.0", "1,2"]


def test_both_readers_read_the_same(tmp_path, rng, monkeypatch):
    """Rows, labels, lines and errors of 400 random files, by scikit-learn and by the reader of lines."""
    path = tmp_path / "a.svm"
    n_plain = n_errors = 0
    true_parse = _svmlight._parse_plain

    def read():
        try:
            table = open_table(path)
            return [
                (table.columns, list(chunk.lines), *(chunk.cells(name) for name in table.columns))
                for chunk in table.chunks()
            ]
        except TableError as error:
            return str(error)

    for _ in range(400):
        words, labels = (rng.choice(found, int(rng.integers(1, 5))) for found in (WORDS, LABELS))
        lines = []
        for _ in range(int(rng.integers(1, 6))):
            cells = sorted(rng.choice(words, int(rng.integers(0, 3)), replace=rng.random() < 0.1 or len(words) < 2))
            note = " # note" if rng.random() < 0.1 else ""
            lines.append("" if rng.random() < 0.1 else " ".join([str(rng.choice(labels)), *cells]) + note)
        path.write_text("\n".join(lines), encoding="utf-8")
        with monkeypatch.context() as patch:
            patch.setattr(_svmlight, "_parse_plain", lambda *_: None)
            expected = read()
        assert read() == expected, lines
        n_plain += true_parse(path.read_bytes().splitlines(keepends=True), 0) is not None
        n_errors += isinstance(expected, str)
    assert min(n_plain, n_errors, 400 - n_errors) > 40


def test_blocks_are_the_whole(tmp_path, monkeypatch):
    """Small blocks hold the rows of one large block, with their lines."""
    path = tmp_path / "a.svm"
    path.write_text("".join(f"{number % 2} 1:{number} {2 + number % 3}:1\n\n" for number in range(50)))
    (whole,) = open_table(path).chunks()
    monkeypatch.setattr(_svmlight, "BLOCK_BYTES", 30)
    parts = list(open_table(path).chunks())
    assert len(parts) > 10
    for name in ("1", "2", "3", "4"):
        assert np.array_equal(np.concatenate([part.numbers(name) for part in parts]), whole.numbers(name))
    assert [line for part in parts for line in part.lines] == list(range(1, 100, 2)) == list(whole.lines)
