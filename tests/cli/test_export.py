"""`softpolytope export`: files that give the model's probabilities."""

import copy
import json
import math
import runpy
import sqlite3
import tempfile
from pathlib import Path

import numpy as np
import pytest
from tables import FEATURES, customers, fitted, raw_row, write_csv

from softpolytope import SumSoftplusClassifier, TableClassifier
from softpolytope.cli import main


@pytest.fixture
def model(tmp_path):
    """A model file."""
    fitted().save(tmp_path / "m")
    return str(tmp_path / "m")


def test_sql(model, tmp_path, capsys):
    """An expression for one class, or a query for all; SQLite evaluates both to 1e-12."""
    rows = [raw_row(row) for row in customers()]
    data = write_csv(tmp_path / "data.csv", customers())
    expected = fitted().predict_proba(data)
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE t (age REAL, income REAL, color TEXT, children REAL)")
    database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [list(row.values()) for row in rows])
    assert main(["export", model, "--to", "sql", "--class", "no"]) == 0
    found = [row[0] for row in database.execute(f"SELECT {capsys.readouterr().out} FROM t")]
    assert found == pytest.approx(expected[:, 0], abs=1e-12)
    assert main(["export", model, "--to", "sql", "--table", "t", "-o", str(tmp_path / "q.sql")]) == 0
    answer = database.execute((tmp_path / "q.sql").read_text())
    assert [item[0] for item in answer.description] == [*FEATURES, "P(no)", "P(yes)"]
    assert np.array([row[-2:] for row in answer]) == pytest.approx(expected, abs=1e-12)


def test_python(model, tmp_path, capsys):
    """A module that takes dicts; --json tells the columns."""
    assert main(["export", model, "--to", "python", "-o", str(tmp_path / "x.py"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["inputs"] == FEATURES
    exported = runpy.run_path(str(tmp_path / "x.py"))
    row = raw_row(customers()[0])
    expected = fitted().predict_proba({name: [value] for name, value in row.items()})[0]
    assert exported["predict_proba_of_row"](row) == pytest.approx(expected, abs=1e-12)


def test_onnx(model, tmp_path, capsys):
    """The inputs are the encoded columns, and a note lists them."""
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    path = tmp_path / "x.onnx"
    assert main(["export", model, "--to", "onnx", "-o", str(path)]) == 0
    assert f"in this order: {', '.join(fitted().feature_names_)}." in capsys.readouterr().err
    rows = fitted().encode(write_csv(tmp_path / "data.csv", customers()))
    session = runtime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    _, probabilities = session.run(None, {session.get_inputs()[0].name: rows})
    assert probabilities == pytest.approx(fitted().classifier_.predict_proba(rows), abs=1e-12)


@pytest.fixture(scope="module")
def members():
    """A bootstrap of the customers."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_csv(Path(folder) / "train.csv", customers())
        classifier = SumSoftplusClassifier(random_state=0, max_experts=3, n_members=6)
        return TableClassifier(classifier).fit(path, "buys", drop=["id", "when"])


@pytest.mark.parametrize("estimate", ["mean", "best"])
def test_estimates(members, tmp_path, capsys, estimate):
    """All members or the representatives are written, with their number and agreement in a note and a comment."""
    members.save(tmp_path / "m")
    rows = [raw_row(row) for row in customers()]
    expected = copy.deepcopy(members)
    expected.classifier_.set_params(estimate=estimate)
    expected = expected.predict_proba({name: [row[name] for row in rows] for name in FEATURES})
    (regression,) = members.classifier_.posterior_.regressions
    assert regression.pool == "linear"  # of few rows
    arguments = ["export", str(tmp_path / "m"), "--estimate", estimate, "-o", str(tmp_path / "x")]

    assert main([*arguments, "--to", "sql", "--table", "t"]) == 0
    note, text = capsys.readouterr().err, (tmp_path / "x").read_text()
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE t (age REAL, income REAL, color TEXT, children REAL)")
    database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [list(row.values()) for row in rows])
    assert np.array([row[-2:] for row in database.execute(text)]) == pytest.approx(expected, abs=1e-12)
    assert note.startswith(f"note: {len(text.encode()) / 1000:,.1f} kB. ")
    contents = note.split(" kB. ")[1].strip()
    assert f"/* softpolytope: {contents} */" in text
    decides = f"It decides {math.floor(1000.0 * regression.agreement) / 10.0:.1f} % of held-out rows"
    assert contents.startswith("6 bootstrapped modes, pooled" if estimate == "mean" else "Representative of 6 boot")
    assert (decides in contents) is (estimate == "best")

    assert main([*arguments, "--to", "python", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    given = runpy.run_path(str(tmp_path / "x"))
    assert np.array([given["predict_proba_of_row"](row) for row in rows]) == pytest.approx(expected, abs=1e-12)
    assert document["estimate"] == estimate
    assert document["n_draws"] == (6 if estimate == "mean" else 2)
    assert document["n_bytes"] == len((tmp_path / "x").read_bytes())
    assert document["agreement"] == (1.0 if estimate == "mean" else regression.agreement)
    assert f"# {contents}" in (tmp_path / "x").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--to", "onnx"], "no output file given. Name one: -o model.onnx"),
        (["--to", "python", "--table", "t"], "are about SQL"),
        (["--to", "sql", "--class", "maybe"], "not one of the classes no, yes"),
        (["--to", "sql", "--class", "no", "--table", "t"], "Leave out --class"),
        (["--to", "python", "-o", "no/such/folder/x.py"], "there is no folder"),
    ],
)
def test_wrong_use(model, capsys, arguments, message):
    """Each is told."""
    assert main(["export", model, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_model_is_not_overwritten(model, tmp_path, capsys):
    """By any of its forms."""
    before = (tmp_path / "m").read_bytes()
    for form in ("python", "sql", "onnx"):
        assert main(["export", model, "--to", form, "-o", model]) == 2
        assert "is a file that is read" in capsys.readouterr().err
    assert (tmp_path / "m").read_bytes() == before
