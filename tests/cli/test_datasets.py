"""`softpolytope datasets`: lists, paths and CSV files."""

import csv
import json

import numpy as np
import pytest

from softpolytope.cli import main
from softpolytope.datasets import make_circle


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
    assert "there is no file image.npz" in capsys.readouterr().err
    assert main(["datasets", "make", "banana", "--partition", "2", *home]) == 2
    assert main(["datasets", "make", "banana", "--samples", "2", *home]) == 2
    with pytest.raises(SystemExit) as stop:
        main(["datasets", "make", "apple"])
    assert stop.value.code == 2
