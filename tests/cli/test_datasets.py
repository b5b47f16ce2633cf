"""`softpolytope datasets`: lists, paths and CSV files."""

import csv
import json

import numpy as np
import pytest

from softpolytope import datasets
from softpolytope.cli import main
from softpolytope.datasets import make_circle
from softpolytope.exceptions import ContentError


def test_list(capsys):
    """Generators with a line each, and the benchmark sets."""
    assert main(["datasets", "list"]) == 0
    assert "circle" in capsys.readouterr().out
    assert main(["datasets", "list", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert "banana" in document["benchmarks"]
    assert set(document["generators"]) == {"circle", "xor", "double_moon", "synthetic_waveform"}


def test_make_a_synthetic_set(tmp_path, capsys):
    """What Python makes, to the last digit; standard output without a file."""
    assert main(["datasets", "make", "circle", "--samples", "20", "--seed", "3", "-o", str(tmp_path / "c.csv")]) == 0
    with (tmp_path / "c.csv").open() as file:
        rows = list(csv.reader(file))
    X, y = make_circle(20, random_state=3)
    assert rows[0] == ["x0", "x1", "y"]
    assert np.array_equal(np.array(rows[1:], dtype=float), np.column_stack([X, y]))
    assert main(["datasets", "make", "xor", "--samples", "4"]) == 0
    assert capsys.readouterr().out.count("\n") == 5


def test_make_and_find_a_benchmark_set(tmp_path, capsys):
    """Rows of a partition; the path of the file; a negative answer where there is none."""
    X, y = np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1])
    np.savez(tmp_path / "banana.npz", X=X, y=y, train_index=[[0, 1], [2, 3]], test_index=[[2, 3], [0, 1]])
    home = ["--data-home", str(tmp_path)]
    assert main(["datasets", "make", "banana", "--partition", "1", "--part", "test", *home]) == 0
    assert capsys.readouterr().out == "x0,x1,y\n0.0,1.0,0\n2.0,3.0,1\n"
    assert main(["datasets", "path", "banana", *home]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "banana.npz")
    assert main(["datasets", "path", "image", *home]) == 1
    assert "There is no file image.npz" in capsys.readouterr().err
    assert main(["datasets", "make", "banana", "--partition", "2", *home]) == 2
    assert main(["datasets", "make", "banana", "--samples", "2", *home]) == 2
    with pytest.raises(SystemExit) as stop:
        main(["datasets", "make", "apple"])
    assert stop.value.code == 2


def test_options_of_the_other_kind_are_refused(tmp_path, capsys):
    """A generator has no test part, which would be the very rows of the other; a set has the rows it has."""
    X, y = np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1])
    np.savez(tmp_path / "banana.npz", X=X, y=y, train_index=[[0, 1]], test_index=[[2, 3]])
    for arguments, option in [
        (["circle", "--part", "test"], "--part"),
        (["circle", "--part", "train"], "--part"),
        (["xor", "--partition", "0"], "--partition"),
        (["banana", "--seed", "0", "--data-home", str(tmp_path)], "--seed"),
    ]:
        assert main(["datasets", "make", *arguments]) == 2
        assert f"softpolytope: {option} is for " in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 and no more", b"\x80\x04K\x01."])
def test_damaged_files_are_told(tmp_path, capsys, content):
    """In words of our own: NumPy would advise to load pickles."""
    path = tmp_path / "banana.npz"
    path.write_bytes(content)
    assert main(["datasets", "make", "banana", "--data-home", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert "banana.npz is damaged or is not a benchmark set. Remove it" in told
    assert "pickle" not in told
    assert path.read_bytes() == content


def test_a_set_is_not_overwritten_by_itself(tmp_path, capsys):
    """The file of the set is what is read."""
    path = tmp_path / "banana.npz"
    np.savez(path, X=np.eye(4), y=np.array([0, 1, 0, 1]), train_index=[[0, 1]], test_index=[[2, 3]])
    before = path.read_bytes()
    assert main(["datasets", "make", "banana", "--data-home", str(tmp_path), "-o", str(path)]) == 2
    assert "is a file that is read" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_downloads_of_other_content_are_told(monkeypatch, capsys):
    """Not as a traceback."""

    def other(*_):
        raise ContentError("banana is not the set it should be. Nothing was kept.")

    monkeypatch.setattr(datasets, "benchmark_path", other)
    assert main(["datasets", "path", "banana"]) == 2
    assert capsys.readouterr().err == "softpolytope: banana is not the set it should be. Nothing was kept.\n"
