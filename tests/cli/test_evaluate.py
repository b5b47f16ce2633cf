"""`softpolytope evaluate`: a model and rows whose classes are known."""

import json

import numpy as np
import pytest
from commands import softpolytope
from tables import HEADER, customers, fitted, write_csv

from softpolytope import SoftplusClassifier
from softpolytope.cli import main
from softpolytope.report import evaluate

# The first 120 are those that the model learned from.
ROWS = customers(420)[120:]


@pytest.fixture
def folder(tmp_path):
    """A model, and rows that it has not seen."""
    fitted().save(tmp_path / "m")
    write_csv(tmp_path / "d.csv", ROWS)
    return tmp_path


@pytest.fixture
def expected(folder):
    """What Python says."""
    y = [row[-1] for row in ROWS]
    return evaluate(y, fitted().predict_proba(folder / "d.csv"), ["no", "yes"])


def scored(folder, capsys, *more):
    """The document of the command."""
    assert main(["evaluate", str(folder / "m"), str(folder / "d.csv"), "--json", *more]) == 0
    return json.loads(capsys.readouterr().out)


def test_scores_in_words(folder, expected):
    """A table with a majority vote beside it, calibration, and counts by class."""
    run = softpolytope("evaluate", "m", "d.csv", folder=folder)
    assert (run.returncode, run.stderr) == (0, "")
    lines = run.stdout.splitlines()
    n_yes = sum(row[-1] == "yes" for row in ROWS)
    assert lines[0] == f"d.csv: 300 rows; buys: no {300 - n_yes}, yes {n_yes}"
    cells = {line[:24].strip(): line[24:].split() for line in lines if line[:1].strip()}
    assert cells["error"][0] == f"{100.0 * expected.score.error:.1f}"
    assert "(89 % interval " in run.stdout
    assert cells["log-loss"] == [f"{expected.score.log_loss:.3f}", f"{expected.majority.log_loss:.3f}"]
    assert cells["Brier score"] == [f"{expected.score.brier:.3f}", f"{expected.majority.brier:.3f}"]
    assert cells["AUC"] == [f"{expected.auc:.3f}", "0.500"]
    assert f"calibration: P(yes) is off by {100.0 * expected.calibration.mean_gap:.1f} % on average; " in run.stdout
    assert cells["yes"][:3] == [str(n_yes), str(expected.confusion[:, 1].sum()), str(expected.confusion[1, 1])]


def test_scores_for_programs(folder, expected, capsys):
    """The same with all digits."""
    document = scored(folder, capsys)
    assert (document["target"], document["rows"], document["classes"]) == ("buys", 300, ["no", "yes"])
    assert document["error"] == expected.score.error
    assert document["error_interval"]["bounds"] == list(expected.score.error_interval)
    assert document["log_loss"] == expected.score.log_loss
    assert document["brier"] == expected.score.brier
    assert document["auc"] == expected.auc
    assert document["majority_vote"]["error"] == expected.majority.error
    assert document["calibration"]["mean_gap"] == expected.calibration.mean_gap
    assert sum(item["rows"] for item in document["calibration"]["bins"]) == 300
    assert [list(row.values()) for row in document["confusion"].values()] == expected.confusion.tolist()
    assert document["threshold"] is None
    assert document["training_rows"] == 0


def test_the_error_is_that_of_a_threshold(folder, expected, capsys):
    """Decisions change with it, probabilities do not; the rule is said."""
    document = scored(folder, capsys, "--threshold", "yes=0.1")
    decided = np.where(fitted().predict_proba(folder / "d.csv")[:, 1] > 0.1, "yes", "no")
    assert document["error"] == np.mean(decided != [row[-1] for row in ROWS])
    assert document["error"] != expected.score.error
    assert document["log_loss"] == expected.score.log_loss
    assert document["threshold"] == {"class": "yes", "above": 0.1}


def test_the_target_may_have_another_name(folder, expected, capsys):
    """Where the file of new rows calls it otherwise."""
    write_csv(folder / "d.csv", ROWS, header=[*HEADER[:-1], "bought"])
    document = scored(folder, capsys, "--target", "bought")
    assert (document["target"], document["error"]) == ("bought", expected.score.error)


@pytest.mark.parametrize(
    ("content", "more", "message"),
    [
        (
            "age,income,color,children\n1,2,red,3\n",
            [],
            "has no column 'buys', which must hold the classes (no, yes); it has",
        ),
        ("age,income,color,children\n1,2,red,3\n", [], "Name the column that holds them: --target NAME."),
        ("age,income,color,children,buys\n1,2,red,3,no\n", ["--target", "by"], "has no column 'by'"),
        (
            "age,income,color,children,buys\n1,2,red,3,maybe\n",
            [],
            "line 2, column 'buys': 'maybe' is not one of the classes no, ",
        ),
        ("age,income,color,children,buys\n1,2,red,3,maybe\n", [], "Correct it, or remove the row."),
        ("age,income,color,children,buys\n1,2,red,3,\n", [], "line 2, column 'buys' has no value"),
        ("age,income,color,children,buys\n", [], "has no rows below its header"),
        ("age,color,children,buys\n1,red,3,no\n", [], "lacks the column income, which the model needs"),
    ],
)
def test_rows_of_no_use(folder, capsys, content, more, message):
    """Told in one line, with nothing on standard output."""
    (folder / "d.csv").write_text(content)
    assert main(["evaluate", str(folder / "m"), str(folder / "d.csv"), *more]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""


def test_models_of_python_and_three_classes(tmp_path, capsys):
    """Columns x0, x1, ... and y; the calibration is that of the class decided for."""
    X, y = np.arange(90.0)[:, None] % 3 + np.arange(90.0)[:, None] / 300, np.arange(90) % 3
    SoftplusClassifier(inference="map").fit(X, y).save(tmp_path / "m")
    rows = [f"{x},{label}" for x, label in zip(X[:, 0], y, strict=True)]
    (tmp_path / "d.csv").write_text("x0,y\n" + "\n".join(rows) + "\n")
    assert main(["evaluate", str(tmp_path / "m"), str(tmp_path / "d.csv")]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"{tmp_path / 'd.csv'}: 90 rows; y: 0 30, 1 30, 2 30\n")
    assert "calibration: the probability of the predicted class is off by" in printed
    (tmp_path / "d.csv").write_text("x0,y\n0.1,0\n")
    assert main(["evaluate", str(tmp_path / "m"), str(tmp_path / "d.csv")]) == 0
    assert "AUC                             none            none\n" in capsys.readouterr().out


def test_unknown_categories_are_noted(folder, capsys):
    """As `predict` does."""
    rows = [list(row) for row in customers()]
    rows[5][3] = "pink"
    write_csv(folder / "d.csv", rows)
    assert main(["evaluate", str(folder / "m"), str(folder / "d.csv")]) == 0
    assert "note: 1 row has a value of 'color' that training did not have ('pink' at " in capsys.readouterr().err


def test_training_rows_are_recognized(folder, capsys):
    """Their scores say little of new rows, and a note says so."""
    assert scored(folder, capsys)["training_rows"] == 0
    write_csv(folder / "d.csv", customers())
    assert main(["evaluate", str(folder / "m"), str(folder / "d.csv"), "--json"]) == 0
    printed = capsys.readouterr()
    assert "note: These are rows the model was trained on: how well it does" in printed.err
    assert json.loads(printed.out)["training_rows"] == 120
