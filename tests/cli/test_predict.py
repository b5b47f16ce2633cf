"""`softpolytope predict`: rows in, classes and probabilities out, whatever the size of the file."""

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from tables import HEADER, customers, fitted, write_csv

from softpolytope import SoftplusClassifier
from softpolytope.cli import main
from softpolytope.tabular import _csv


@pytest.fixture
def files(tmp_path):
    """A model and a table."""
    fitted().save(tmp_path / "model.softpolytope")
    return str(tmp_path / "model.softpolytope"), write_csv(tmp_path / "data.csv", customers())


def predict(*arguments):
    """Run the command."""
    return main(["predict", *map(str, arguments)])


def test_output_is_what_the_model_says(files, tmp_path, capsys):
    """Classes, probabilities to the last digit, kept columns; to a file or standard output, as CSV or JSON lines."""
    model, table = files
    assert predict(model, table, "--proba", "--keep", "id,when", "-o", tmp_path / "out.csv") == 0
    with (tmp_path / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["id", "when", "prediction", "P(no)", "P(yes)"]
    assert [row["id"] for row in rows] == [row[0] for row in customers()]
    chances = np.array([[float(row["P(no)"]), float(row["P(yes)"])] for row in rows])
    assert np.array_equal(chances, fitted().predict_proba(table))
    assert [row["prediction"] for row in rows] == fitted().predict(table).tolist()
    capsys.readouterr()
    assert predict(model, table) == 0
    assert capsys.readouterr().out.split() == ["prediction", *fitted().predict(table)]
    assert predict(model, table, "--json", "--proba") == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [[line["probabilities"]["no"], line["probabilities"]["yes"]] for line in lines] == chances.tolist()


def test_chunks_give_what_the_whole_gives(files, tmp_path, monkeypatch):
    """A file in forty parts, byte for byte."""
    model, table = files
    assert predict(model, table, "--proba", "-o", tmp_path / "whole.csv") == 0
    monkeypatch.setattr(_csv, "CELLS", 3 * len(HEADER))
    assert predict(model, table, "--proba", "-o", tmp_path / "parts.csv") == 0
    assert (tmp_path / "parts.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_what_training_did_not_have(files, tmp_path, capsys):
    """Unknown categories are noted; columns may lack, be more, be in another order; holes are filled."""
    model, _ = files
    table = tmp_path / "new.csv"
    table.write_text("extra,colour,children,income,age\n1,pink,,,\n2,red,1,20,30\n3,violet,0,1,2\n")
    assert predict(model, table) == 0
    printed = capsys.readouterr()
    assert len(printed.out.split()) == 4
    assert "note: 2 rows have values of 'colour' that training did not have ('pink' at " in printed.err
    table.write_text("colour,children\nred,1\n")
    assert predict(model, table) == 2
    assert "lacks the columns age, income, which the model needs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("age,income,colour,children\n1,2,red,3\nold,2,red,3\n", "line 3, column 'age': 'old' is no finite number"),
        ("age,income,colour,children\n1,inf,red,3\n", "column 'income': 'inf' is no finite number"),
        ("", "is empty"),
    ],
)
def test_nothing_is_left_of_a_failure(files, tmp_path, capsys, content, message):
    """An error names file, line and column; what was there before stays as it was."""
    model, _ = files
    table, out = tmp_path / "bad.csv", tmp_path / "out.csv"
    table.write_text(content)
    out.write_text("old")
    assert predict(model, table, "-o", out) == 2
    assert message in capsys.readouterr().err
    assert out.read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"bad.csv", "out.csv", "data.csv", "model.softpolytope"}


def test_models_that_are_none(files, tmp_path, capsys):
    """A table, a folder, nothing; no rows are no error."""
    model, table = files
    assert predict(table, table) == 2
    assert "damaged or no softpolytope model" in capsys.readouterr().err
    assert predict(tmp_path, table) == 2
    assert "is a folder" in capsys.readouterr().err
    assert predict(tmp_path / "none", table) == 2
    assert "No such file" in capsys.readouterr().err
    table.write_text(",".join(HEADER) + "\n")
    assert predict(model, table) == 0
    assert capsys.readouterr().out == "prediction\n"


def test_plain_classifiers_predict_too(tmp_path, capsys):
    """Files that Python wrote: columns x0, x1, ... or the names of the data frame."""
    SoftplusClassifier(inference="map").fit([[0.0, 1.0], [2.0, 0.0]] * 9, [0, 1] * 9).save(tmp_path / "m")
    (tmp_path / "d.csv").write_text("x1,x0\n0,2\n1,0\n")
    assert predict(tmp_path / "m", tmp_path / "d.csv") == 0
    assert capsys.readouterr().out.split() == ["prediction", "1", "0"]


@pytest.mark.slow
def test_letters_that_the_terminal_has_not(files, tmp_path):
    """They are written as their codes."""
    table = tmp_path / "t\u00e4ble.csv"
    table.write_text("age,income,colour,children\n1,2,gr\u00fcn,3\n", encoding="utf-8")
    command = [sys.executable, "-m", "softpolytope.cli", "predict", files[0], str(table), "--keep", "colour"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)  # noqa: S603
    assert run.stdout.splitlines()[1].startswith("gr\\xfcn,")
    assert "t\\xe4ble.csv, line 2" in run.stderr


@pytest.mark.slow
def test_a_broken_pipe_is_no_traceback(files):
    """As in `softpolytope predict ... | head`."""
    model, table = files
    table.write_text(",".join(HEADER) + "\n" + "x,30,20,red,2024-01-01,1,no\n" * 30_000)
    command = [sys.executable, "-m", "softpolytope.cli", "predict", model, str(table), "--proba"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # noqa: S603
    assert run.stdout.readline() == "prediction,P(no),P(yes)\n"
    run.stdout.close()
    told = run.stderr.read()
    run.stderr.close()
    assert run.wait(60) == 2
    assert "Traceback" not in told
    assert told.startswith("softpolytope: what read the output closed it")
