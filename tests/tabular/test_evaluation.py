"""Held-out evaluation of `TableClassifier.fit`: the numbers of the command, and files and folders of two fits."""

import warnings

import numpy as np
import pytest
from tables import HEADER, customers, small_model, write_csv

from softpolytope import CheckpointPlan, SumSoftplusClassifier, TableClassifier
from softpolytope.cli import main
from softpolytope.tabular import ColumnSelection, infer_schema, load_model, open_table

OPTIONS = ["--classifier", "sum", "--max-experts", "2", "--quiet", "--jobs", "1", "--drop", "id,when"]


def model(**parameters):
    """The classifier that the options describe."""
    return TableClassifier(SumSoftplusClassifier(max_experts=2, random_state=0, **parameters))


@pytest.fixture
def table(tmp_path):
    """Customers as a CSV file."""
    return write_csv(tmp_path / "train.csv", customers())


def test_python_and_the_command_share_one_fit(table):
    """Held-out scores and probabilities are the same to the last bit."""
    path = table.parent / "m"
    assert main(["fit", str(table), "--target", "buys", "-o", str(path), *OPTIONS]) == 0
    fitted = model().fit(table, "buys", drop=["id", "when"], test_size=0.25)
    assert fitted.held_out_ == load_model(path).held_out_
    assert list(fitted.held_out_) == ["majority vote", "logistic regression", "softpolytope"]
    assert np.array_equal(fitted.predict_proba(table), load_model(path).predict_proba(table))


def test_held_out_rows_do_not_change_the_model(table):
    """It is fitted to all rows; without held-out rows there are no scores."""
    plain = model().fit(table, "buys", drop=["id", "when"])
    evaluated = model().fit(table, "buys", drop=["id", "when"], test_size=0.25)
    assert plain.held_out_ == {}
    assert np.array_equal(plain.predict_proba(table), evaluated.predict_proba(table))


def test_scores_on_another_table(table):
    """Of any kind; the model is not fitted to it, and unknown categories and training rows are warnings."""
    rows = [list(row) for row in customers(150)[120:]]
    columns = dict(zip(HEADER, zip(*rows, strict=True), strict=True))
    fitted = model().fit(
        table, "buys", drop=["id", "when"], test={name: list(cells) for name, cells in columns.items()}
    )
    error = np.mean(fitted.predict(columns) != columns["buys"])
    assert fitted.held_out_["softpolytope"]["error"] == pytest.approx(error)
    rows[3][3] = "pink"
    strange = write_csv(table.parent / "test.csv", rows)
    with pytest.warns(UserWarning, match="1 row has a value of 'color' that training did not have"):
        model().fit(table, "buys", drop=["id", "when"], test=strange)
    with pytest.warns(UserWarning, match=r"train\.csv: These are rows the model was trained on"):
        model().fit(table, "buys", drop=["id", "when"], test=table)


def test_scores_are_reported_before_the_last_fit(table, monkeypatch):
    """A callback gets them, with the numbers of rows."""
    events = []
    true_fit = SumSoftplusClassifier.fit

    def watched(classifier, X, *arguments):
        events.append(len(X))
        return true_fit(classifier, X, *arguments)

    monkeypatch.setattr(SumSoftplusClassifier, "fit", watched)
    schema = infer_schema(open_table(table), ColumnSelection("buys", drop=("id", "when")))
    fitted = model().fit_schema(table, schema, test_size=0.25, on_evaluation=events.append)
    assert events[0] == 90
    assert (events[1].n_train, events[1].n_test, events[1].scores) == (90, 30, fitted.held_out_)
    assert events[2:] == [120]


@pytest.mark.parametrize("kind", ["folder", "plan"])
def test_two_fits_have_a_checkpoint_folder_each(table, kind):
    """Inside the one that is given; a single fit uses that one itself."""
    folder = table.parent / "checkpoints"
    checkpoint = folder if kind == "folder" else CheckpointPlan(folder)
    fit = {"X": table, "target": "buys", "features": ["age"]}
    model(inference="map", checkpoint=checkpoint).fit(**fit, test_size=0.25)
    assert {path.name for path in folder.iterdir()} == {"held-out", "all"}
    single = table.parent / "single"
    model(inference="map", checkpoint=single).fit(**fit)
    assert {"held-out", "all"}.isdisjoint(path.name for path in single.iterdir())


def test_classes_with_too_few_rows_are_not_evaluated():
    """A warning says so, and the model is fitted."""
    table = {"x": list(range(60)), "y": ["a"] * 59 + ["b"]}
    with pytest.warns(UserWarning, match="some class has too few rows to hold any out; the model is not evaluated"):
        fitted = model().fit(table, "y", test_size=0.25)
    assert fitted.held_out_ == {}
    assert fitted.classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"test_size": 1.0}, "test_size must be at least 0 and below 1; got 1.0"),
        ({"test_size": -0.1}, "test_size must be at least 0 and below 1; got -0.1"),
        ({"test_size": 0.5, "test": {"x": [1], "y": [0]}}, "test_size and test exclude each other"),
    ],
)
def test_wrong_arguments(arguments, message):
    """Are refused before anything is read."""
    with pytest.raises(ValueError, match=message):
        model().fit({"x": [1.0, 2.0], "y": [0, 1]}, "y", **arguments)


def test_a_warm_start_does_not_leak_into_the_evaluation():
    """The fit that is scored starts from scratch: the earlier one has seen the held-out rows."""
    earlier = small_model(c=["p", "q", "p", "q"] * 10)
    earlier.classifier.set_params(warm_start=True)
    table = {"c": ["p", "q", "p", "q"] * 10, "y": ["a", "b"] * 20}
    fresh = small_model(c=["p", "q", "p", "q"] * 10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = [item.fit(table, "y", test_size=0.25).held_out_ for item in (earlier, fresh)]
    assert scores[0] == scores[1]
