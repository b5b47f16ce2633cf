"""`softpolytope predict`: rows in, classes and probabilities out, whatever the size of the file."""

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from tables import HEADER, customers, fitted, small_model, write_csv

from softpolytope import SoftplusClassifier
from softpolytope.cli import main
from softpolytope.tabular.readers import _csv


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
    probabilities = np.array([[float(row["P(no)"]), float(row["P(yes)"])] for row in rows])
    assert np.array_equal(probabilities, fitted().predict_proba(table))
    assert [row["prediction"] for row in rows] == fitted().predict(table).tolist()
    capsys.readouterr()
    assert predict(model, table) == 0
    assert capsys.readouterr().out.split() == ["prediction", *fitted().predict(table)]
    assert predict(model, table, "--json", "--proba") == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [[line["probabilities"]["no"], line["probabilities"]["yes"]] for line in lines] == probabilities.tolist()


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
    table.write_text("extra,color,children,income,age\n1,pink,,,\n2,red,1,20,30\n3,violet,0,1,2\n")
    assert predict(model, table) == 0
    printed = capsys.readouterr()
    assert len(printed.out.split()) == 4
    assert "note: 2 rows have values of 'color' that training did not have ('pink' at " in printed.err
    table.write_text("color,children\nred,1\n")
    assert predict(model, table) == 2
    assert "lacks the columns age, income, which the model needs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("age,income,color,children\n1,2,red,3\nold,2,red,3\n", "line 3, column 'age': 'old' is not a finite number"),
        ("age,income,color,children\n1,inf,red,3\n", "column 'income': 'inf' is not a finite number"),
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
    assert "damaged or not a softpolytope model" in capsys.readouterr().err
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


def test_kept_cells_are_those_of_the_file(files, tmp_path, capsys):
    """NA is a text, and empty is empty; quotes come back where they are needed."""
    model, _ = files
    table = tmp_path / "new.csv"
    table.write_text('country,note,age,income,color,children\nNA,"a, b",1,2,red,3\n,?,1,2,red,3\nnull,nan,1,2,red,3\n')
    assert predict(model, table, "--keep", "country", "--keep", "note") == 0
    lines = capsys.readouterr().out.splitlines()
    kept = [line.rpartition(",")[0] for line in lines]
    assert kept == ["country,note", 'NA,"a, b"', ",?", "null,nan"]


def test_kept_numbers_keep_their_digits(files, tmp_path, capsys):
    """Identifiers of Parquet files may have more digits than a double."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    cells = {"id": [1234567890123456789, None], "age": [1.0, 2.0], "income": [1.5, 2.5], "children": [1, 2]}
    parquet.write_table(pa.table({**cells, "color": ["red", "NA"]}), tmp_path / "d.parquet")
    assert predict(files[0], tmp_path / "d.parquet", "--keep", "id,color,income", "--json") == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["id"], line["color"], line["income"]) for line in lines] == [
        ("1234567890123456789", "red", "1.5"),
        ("", "NA", "2.5"),
    ]


@pytest.mark.parametrize("more", [["--json"], []])
@pytest.mark.parametrize("name", ["prediction", "probabilities"])
def test_kept_columns_do_not_hide_what_is_predicted(files, tmp_path, capsys, name, more):
    """Nor the reverse: such a name is refused before anything is written."""
    table = tmp_path / "new.csv"
    table.write_text(f"{name},age,income,color,children\nmine,1,2,red,3\n")
    assert predict(files[0], table, "--keep", name, "-o", tmp_path / "out", *more) == 2
    assert f"--keep {name}: this command writes a column of that name itself" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_probabilities_are_not_written_twice(files, tmp_path, capsys):
    """A column P(yes) of the table can be kept where none of that name is written."""
    table = tmp_path / "new.csv"
    table.write_text("P(yes),age,income,color,children\nmine,1,2,red,3\n")
    assert predict(files[0], table, "--keep", "P(yes)", "--proba") == 2
    assert "--keep P(yes): this command writes" in capsys.readouterr().err
    assert predict(files[0], table, "--keep", "P(yes)") == 0
    assert capsys.readouterr().out.startswith("P(yes),prediction\nmine,")


def test_no_input_is_overwritten(files, tmp_path, capsys):
    """Neither the table nor the model, under whatever name; both stay as they were."""
    model, table = files
    before = {path: path.read_bytes() for path in (tmp_path / "model.softpolytope", table)}
    (tmp_path / "link").symlink_to(table)
    os.link(table, tmp_path / "same")
    for out in (table, model, tmp_path / "link", tmp_path / "same", tmp_path / "." / "data.csv"):
        assert predict(model, table, "-o", out) == 2
        assert "is a file that is read, and would be overwritten" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in before} == before


def test_a_link_stays_a_link(files, tmp_path):
    """What it leads to is written, whether it was there or not."""
    model, table = files
    link, target = tmp_path / "link.csv", tmp_path / "folder" / "out.csv"
    target.parent.mkdir()
    link.symlink_to("folder/out.csv")
    for _ in range(2):
        assert predict(model, table, "-o", link) == 0
        assert link.is_symlink()
        assert target.read_text().startswith("prediction\n")
    assert [path.name for path in target.parent.iterdir()] == ["out.csv"]


def test_links_that_lead_nowhere(files, tmp_path, capsys):
    """To themselves, or into a folder that is not there."""
    model, table = files
    (tmp_path / "loop").symlink_to("loop")
    assert predict(model, table, "-o", tmp_path / "loop") == 2
    assert "loop is a link that leads back to itself" in capsys.readouterr().err
    (tmp_path / "lost").symlink_to("folder/x")
    assert predict(model, table, "-o", tmp_path / "lost") == 2
    assert f"there is no folder {tmp_path / 'folder'}" in capsys.readouterr().err


@pytest.mark.slow
def test_letters_that_the_terminal_has_not(files, tmp_path):
    """Data that other programs read have all letters, in UTF-8; messages are written with codes."""
    table = tmp_path / "t\u00e4ble.csv"
    table.write_text("age,income,color,children\n1,2,gr\u00fcn,3\n", encoding="utf-8")
    command = [sys.executable, "-m", "softpolytope.cli", "predict", files[0], str(table), "--keep", "color"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    run = subprocess.run(command, env=environment, capture_output=True, check=True)  # noqa: S603
    assert run.stdout.decode("utf-8").splitlines()[1].startswith("gr\u00fcn,")
    assert b"t\\xe4ble.csv, line 2" in run.stderr
    run = subprocess.run([*command, "--json"], env=environment, capture_output=True, check=True)  # noqa: S603
    assert json.loads(run.stdout)["color"] == "gr\u00fcn"


@pytest.mark.parametrize(
    ("content", "more", "message"),
    [
        (
            "color,children\nred,1\n",
            [],
            "lacks the columns age, income, which the model needs; it has color, children",
        ),
        ("color,children\n", [], "lacks the columns age, income, which the model needs; it has color"),
        ("age,income,color,children\n1,2,red,3\n", ["--keep", "id"], "has no column 'id'; it has age, income"),
        ("age,income,color,children\n", ["--keep", "id"], "has no column 'id'; it has age, income"),
        ("age,income,color,children\n1,2,red,3\nold,2,red,3\n", [], "'old' is not a finite number"),
    ],
)
def test_nothing_is_written_before_the_columns_are_known(files, tmp_path, capsys, content, more, message):
    """Standard output stays empty where a column is missing, as a program that reads it expects of exit code 2."""
    table = tmp_path / "new.csv"
    table.write_text(content)
    assert predict(files[0], table, "--proba", *more) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err


def decisions(files, capsys, *more):
    """What is predicted, and what is said besides."""
    assert predict(*files, *more) == 0
    printed = capsys.readouterr()
    return printed.out.split()[1:], printed.err


@pytest.mark.parametrize(
    ("threshold", "label"), [("yes=0.2", "yes"), ("0.2", "yes"), ("no=0.2", "no"), ("yes=1", "yes")]
)
def test_a_threshold_decides(files, capsys, threshold, label):
    """For the class named, where its probability is above; a number alone is about the second class, and says so."""
    found, told = decisions(files, capsys, "--threshold", threshold)
    probabilities = fitted().predict_proba(files[1])[:, fitted().classes_.tolist().index(label)]
    other = {"yes": "no", "no": "yes"}[label]
    assert found == np.where(probabilities > float(threshold.rpartition("=")[2]), label, other).tolist()
    assert found != fitted().predict(files[1]).tolist()
    assert told == ("" if "=" in threshold else "note: --threshold 0.2: 'yes' where P(yes) is above 0.2, else 'no'.\n")


def test_one_half_is_the_usual_threshold(files, capsys):
    """The same decisions as without one, to the row."""
    for threshold in ("0.5", "no=0.5"):
        assert decisions(files, capsys, "--threshold", threshold)[0] == fitted().predict(files[1]).tolist()


def test_thresholds_of_no_use(files, tmp_path, capsys):
    """A class that is none, numbers that are no probabilities, models of more classes."""
    assert predict(*files, "--threshold", "maybe=0.3") == 2
    assert (
        "--threshold: there is no class 'maybe' to set a threshold for. The classes are no, yes."
        in capsys.readouterr().err
    )
    for text in ("1.5", "yes", "yes=", "=0.3", "yes=-1", "nan"):
        with pytest.raises(SystemExit) as stop:
            predict(*files, "--threshold", text)
        assert stop.value.code == 2
        assert f"expected a probability from 0 to 1, or CLASS=probability; got {text!r}" in capsys.readouterr().err
    X, y = np.arange(60.0)[:, None] % 3, np.arange(60) % 3
    SoftplusClassifier(inference="map").fit(X, y).save(tmp_path / "three")
    (tmp_path / "d.csv").write_text("x0\n1\n")
    assert predict(tmp_path / "three", tmp_path / "d.csv", "--threshold", "0.3") == 2
    printed = capsys.readouterr()
    assert "--threshold: a threshold requires two classes, but this model has 3: 0, 1, 2." in printed.err
    assert printed.out == ""


def test_columns_of_unknown_categories_are_noted(tmp_path, capsys):
    """Besides the count of such rows."""
    small_model(c=[1, 2] * 10).save(tmp_path / "m")
    (tmp_path / "a.csv").write_text("c\nA\nB\n")
    assert main(["predict", str(tmp_path / "m"), str(tmp_path / "a.csv")]) == 0
    told = capsys.readouterr().err
    assert "note: 2 rows have values of 'c' that training did not have ('A' at " in told
    assert "note: column 'c' holds only categories that training did not have, such as 'A', 'B'; training had" in told
    (tmp_path / "a.csv").write_text("c\n1.0\nB\n")
    assert main(["predict", str(tmp_path / "m"), str(tmp_path / "a.csv")]) == 0
    assert "only categories" not in capsys.readouterr().err
