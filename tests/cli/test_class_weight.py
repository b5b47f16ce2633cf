"""`softpolytope fit --class-weight`: the weights of the Python classes, by the labels of the file."""

import json

import numpy as np
import pytest
from tables import customers, write_csv

from softpolytope import SumSoftplusClassifier, TableClassifier, load_model
from softpolytope.cli import main


@pytest.fixture
def table(tmp_path):
    """Customers as a CSV file."""
    return write_csv(tmp_path / "train.csv", customers())


def fit(table, *more):
    """Fit a small model; returns the exit code and the path of the model."""
    path = table.parent / "model.softpolytope"
    quick = ["--classifier", "sum", "--max-experts", "2", "--quiet", "--jobs", "1"]
    return main(["fit", str(table), "--target", "buys", "-o", str(path), *quick, *more]), path


def rare(folder):
    """A table in which one row of ten is of class 1, and the classes overlap."""
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 10 == 0
    rows = [f"{x:.4f},{int(label)}" for x, label in zip(rng.normal(1.0 * labels), labels, strict=True)]
    (folder / "rare.csv").write_text("x,buys\n" + "\n".join(rows) + "\n")
    return folder / "rare.csv"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["balanced"], "balanced"),
        (["1=9"], {1: 9.0}),
        (["0=0.5,1=9"], {0: 0.5, 1: 9.0}),
        (["0=0.5", "--class-weight", "1=9"], {0: 0.5, 1: 9.0}),
    ],
)
def test_class_weights_are_those_of_the_classifier(tmp_path, capsys, given, expected):
    """The model is the one that Python fits with them, bit by bit; it is kept in the file."""
    table = rare(tmp_path)
    code, path = fit(table, "--class-weight", *given, "--json")
    assert code == 0
    document = json.loads(capsys.readouterr().out)
    keys = expected if isinstance(expected, str) else {str(label): weight for label, weight in expected.items()}
    assert document["class_weight"] == keys
    model = load_model(path)
    assert model.classifier_.class_weight == expected
    alone = SumSoftplusClassifier(max_experts=2, random_state=0, class_weight=expected)
    assert np.array_equal(model.predict_proba(table), TableClassifier(alone).fit(table, "buys").predict_proba(table))


def test_class_weights_find_more_of_a_rare_class(tmp_path, capsys):
    """That is what they are for; logistic regression beside it is weighted too, and so errs more often."""
    table = rare(tmp_path)
    found, errors = {}, {}
    for name, more in {"plain": (), "weighted": ("--class-weight", "balanced")}.items():
        code, path = fit(table, *more)
        assert code == 0
        assert ("Class weights: balanced" in capsys.readouterr().out) == bool(more)
        model = load_model(path)
        found[name] = int((model.predict(table) == 1).sum())
        errors[name] = model.held_out_["logistic regression"]["error"]
    assert found["weighted"] > found["plain"] + 40
    assert errors["weighted"] > errors["plain"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["maybe=3"], "--class-weight maybe: 'buys' has no such class, only no, yes"),
        (["yes=3", "--class-weight", "yes=4"], "--class-weight yes: the class has two weights. Give one"),
        (["balanced", "--class-weight", "yes=4"], "--class-weight is either balanced or a list of classes"),
    ],
)
def test_class_weights_of_no_use(table, capsys, given, message):
    """Told before any fit, and no model is written."""
    code, path = fit(table, "--drop", "id,when", "--class-weight", *given)
    assert code == 2
    assert message in capsys.readouterr().err
    assert not path.exists()


@pytest.mark.parametrize("text", ["yes", "yes=", "yes=0", "yes=-1", "yes=inf", "=3", "yes=3,no", ""])
def test_class_weights_that_are_none(table, capsys, text):
    """The usage of the command, and what was expected."""
    with pytest.raises(SystemExit) as stop:
        fit(table, "--class-weight", text)
    assert stop.value.code == 2
    assert "usage: softpolytope fit" in (told := capsys.readouterr().err)
    assert "--class-weight: " in told
