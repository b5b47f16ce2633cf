"""`softpolytope report`: a page from a model file and a table."""

import json

import pytest
from commands import softpolytope
from tables import HEADER, customers, fitted, write_csv

from softpolytope import SoftplusClassifier, TableClassifier, load_model
from softpolytope.cli import main
from softpolytope.cli.report import _read_raw_rows, _split_scores
from softpolytope.tabular import open_table, read_labeled, score_probabilities

pytest.importorskip("softpolytope.report")


def test_a_page_is_written(tmp_path, capsys):
    """Whole or not at all."""
    fitted().save(tmp_path / "m")
    table = write_csv(tmp_path / "data.csv", customers())
    page = tmp_path / "r.html"
    assert main(["report", str(tmp_path / "m"), str(table), "-o", str(page)]) == 0
    assert "Written: " in capsys.readouterr().out
    assert "<html" in page.read_text(encoding="utf-8").lower()
    table.write_text("age,income,color,children,buys\n1,2,red,3,perhaps\n")
    page.unlink()
    assert main(["report", str(tmp_path / "m"), str(table), "-o", str(page)]) == 2
    assert "line 2, column 'buys': 'perhaps' is not one of the classes no, yes" in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"m", "data.csv"}


def test_scores_of_other_rows_say_so(tmp_path):
    """Baselines are compared only if they were measured on the same rows; else they are named so."""
    model = fitted()
    rows, codes = read_labeled(open_table(write_csv(tmp_path / "d.csv", customers())), model.encoder_, model.target_)
    own = score_probabilities(model.classifier_.predict_proba(rows), codes)
    held_out = {"logistic regression": {"error": 0.2, "log_loss": 0.5}, "softpolytope": own}
    same = TableClassifier.from_parts(model.encoder_, model.target_, model.classifier_, held_out)
    assert _split_scores(same, rows, codes) == ({"logistic regression": {"error": 0.2, "log_loss": 0.5}}, {})
    assert _split_scores(same, rows[:-9], codes[:-9]) == ({}, held_out)
    assert _split_scores(model, rows, codes) == ({}, {})


def test_numbers_are_numbers_on_the_page(tmp_path):
    """And not texts, which would be sorted by their first letters; missing ones are none."""
    table = open_table(write_csv(tmp_path / "d.csv", customers()))
    columns = dict(zip(fitted().encoder_.names, _read_raw_rows(table, fitted().encoder_).T.tolist(), strict=True))
    cells = dict(zip(HEADER, zip(*customers(), strict=True), strict=True))
    assert columns["income"] == [float(cell) for cell in cells["income"]]
    assert columns["age"] == [float(cell) if cell else None for cell in cells["age"]]
    assert columns["color"] == ["" if cell == "NA" else cell for cell in cells["color"]]


def test_unknown_categories_are_noted(tmp_path, capsys):
    """As `predict` does."""
    fitted().save(tmp_path / "m")
    rows = [list(row) for row in customers()]
    rows[5][3] = "pink"
    table = write_csv(tmp_path / "d.csv", rows)
    assert main(["report", str(tmp_path / "m"), str(table), "-o", str(tmp_path / "r.html")]) == 0
    assert "note: 1 row has a value of 'color' that training did not have ('pink' at " in capsys.readouterr().err


def test_labels_of_a_plain_classifier(tmp_path, capsys):
    """Fitted in Python to 0.0 and 1.0; the file has 0 and 1."""
    SoftplusClassifier(inference="map").fit([[0.0, 1.0], [2.0, 0.0]] * 9, [0.0, 1.0] * 9).save(tmp_path / "m")
    (tmp_path / "d.csv").write_text("x0,x1,y\n0,1,0\n2,0,1\n")
    assert main(["report", str(tmp_path / "m"), "--data", str(tmp_path / "d.csv"), "-o", str(tmp_path / "r.html")]) == 0
    assert "Written: " in capsys.readouterr().out


def test_no_input_is_overwritten(tmp_path, capsys):
    """Neither the rows nor the model."""
    fitted().save(tmp_path / "m")
    table = write_csv(tmp_path / "data.csv", customers())
    before = (tmp_path / "m").read_bytes(), table.read_bytes()
    for out in ("m", "data.csv"):
        assert main(["report", str(tmp_path / "m"), str(table), "-o", str(tmp_path / out)]) == 2
        assert "is a file that is read" in capsys.readouterr().err
    assert ((tmp_path / "m").read_bytes(), table.read_bytes()) == before


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("d.csv", "-o", "r.html"), marks=pytest.mark.slow),
        ("-o", "r.html", "d.csv"),
        pytest.param(("-o", "r.html", "--data", "d.csv"), marks=pytest.mark.slow),
    ],
)
def test_rows_are_named_as_in_other_commands(tmp_path, arguments):
    """As an argument after the model, before or after options, or by --data."""
    fitted().save(tmp_path / "m")
    write_csv(tmp_path / "d.csv", customers(240)[120:])  # the first 120 are those that the model learned from
    run = softpolytope("report", "m", *arguments, folder=tmp_path)
    assert (run.returncode, run.stdout, run.stderr) == (0, "Written: r.html\n", "")
    assert (tmp_path / "r.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "a report needs rows with their classes. Name their file after the model"),
        (("d.csv", "--data", "e.csv"), "two files of rows are named, d.csv and --data e.csv. Name one of them"),
        (
            ("d.csv", "--target", "by"),
            "d.csv has no column 'by', which must hold the classes (no, yes); it has id",
        ),
    ],
)
def test_rows_that_are_not_named(tmp_path, monkeypatch, capsys, arguments, message):
    """Told in one line, and nothing is written."""
    fitted().save(tmp_path / "m")
    write_csv(tmp_path / "d.csv", customers())
    monkeypatch.chdir(tmp_path)
    assert main(["report", "m", *arguments, "-o", "r.html"]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
    assert not (tmp_path / "r.html").exists()


def test_a_report_on_training_rows_says_so(tmp_path, capsys):
    """In a note, in the document for other programs, and first on the page, with the scores of held-out rows."""
    table = write_csv(tmp_path / "data.csv", customers())
    model, page = tmp_path / "m", tmp_path / "r.html"
    command = ["fit", str(table), "--target", "buys", "--drop", "id,when", "-o", str(model), "--quiet", "--jobs", "1"]
    assert main([*command, "--classifier", "sum", "--max-experts", "2"]) == 0
    error = f"{100.0 * load_model(model).held_out_['softpolytope']['error']:.1f}%"
    capsys.readouterr()
    assert main(["report", str(model), str(table), "-o", str(page), "--json"]) == 0
    captured = capsys.readouterr()
    assert "note: These are rows the model was trained on" in captured.err
    assert json.loads(captured.out)["training_rows"] == len(customers())
    text = page.read_text(encoding="utf-8")
    assert f"Its error on rows held out from the fit was {error}" in text
    assert text.index("These are rows the model was trained on") < text.index("Its error on rows held out")
    others = write_csv(tmp_path / "new.csv", [[*row[:2], str(float(row[2]) + 0.37), *row[3:]] for row in customers()])
    assert main(["report", str(model), "--data", str(others), "-o", str(page), "--json"]) == 0
    captured = capsys.readouterr()
    assert "trained on" not in captured.err
    assert json.loads(captured.out)["training_rows"] == 0


def test_a_test_file_of_training_rows_is_noted(tmp_path, capsys):
    """Where `fit --test` gets the rows it learns from."""
    table = write_csv(tmp_path / "data.csv", customers())
    part = write_csv(tmp_path / "test.csv", customers()[:40])
    options = ["--target", "buys", "--drop", "id,when", "-o", str(tmp_path / "m"), "--quiet", "--jobs", "1"]
    assert main(["fit", str(table), *options, "--test", str(part), "--classifier", "softplus"]) == 0
    assert "test.csv: These are rows the model was trained on" in capsys.readouterr().err
