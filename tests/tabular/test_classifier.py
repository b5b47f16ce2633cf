"""The classifier of tables: warnings, files without pickles, and types to trust."""

import pickle
import pickletools
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_moons
from tables import FEATURES, customers, fitted, raw_row, small_model, write_csv

from softpolytope import (
    Prior,
    SoftplusClassifier,
    SumSoftplusClassifier,
    TableClassifier,
    load_model,
    skops_trusted_types,
)
from softpolytope.exceptions import ModelFileError
from softpolytope.export._archive import read_archive, write_archive
from softpolytope.tabular._target import Target


def test_a_saved_model_is_the_same_model(tmp_path):
    """Probabilities of raw rows, of a file and of a data frame, to the last bit; saved again, the same bytes."""
    model = fitted()
    data = write_csv(tmp_path / "data.csv", customers())
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert isinstance(again, TableClassifier)
    assert again.encoder_ == model.encoder_
    assert np.array_equal(again.predict_proba(data), model.predict_proba(data))
    assert again.predict(data).tolist() == model.predict(data).tolist()
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
    columns = {name: [raw_row(row)[name] for row in customers()] for name in FEATURES}
    assert np.array_equal(model.predict_proba(columns), model.predict_proba(data))


def test_blanks_behind_cells_make_no_classes_and_no_categories(tmp_path):
    """'no' and 'no ' are one class, 'red ' is red, and 'NA ' is missing, at fit and at prediction."""
    cells = [("1", "red", "no"), ("2 ", "red ", "no "), ("3", "NA ", "yes "), ("4", "blue", "yes")] * 10
    path = write_csv(tmp_path / "train.csv", cells, ["n", "color", "y"])
    model = TableClassifier(SoftplusClassifier(inference="map", n_restarts=1, random_state=0)).fit(path, "y")
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.feature_names_ == ("n", "color=blue", "color=red", "color is missing")
    rows = model.encode(path)
    assert rows[:3].tolist() == [[1.0, 0.0, 1.0, 0.0], [2.0, 0.0, 1.0, 0.0], [3.0, 0.0, 0.0, 1.0]]


@pytest.mark.parametrize("labels", [[False, True], [0.0, 1.0], [-3.0, 2.0], [2, 7], ["no", "yes"]])
def test_labels_of_every_kind_are_saved(labels, tmp_path):
    """Booleans, floats, integers and text come back as what they were; a file of another kind is refused."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    given = np.array(labels)[(X[:, 0] > 0.0).astype(int)]
    classifier = SoftplusClassifier(inference="map", n_restarts=1, random_state=0).fit(X, given)
    model = TableClassifier.from_classifier(classifier)
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.classes_.dtype == np.array(labels).dtype
    assert [(type(label), label) for label in again.target_.classes] == [(type(label), label) for label in labels]
    table = {"x0": X[:, 0].tolist(), "x1": X[:, 1].tolist()}
    assert again.predict(table).tolist() == model.predict(table).tolist()
    header, arrays = read_archive(tmp_path / "m")
    for values in ([labels[0], None], [labels[0], labels[0]], [labels[1]], [labels[0], [1]]):
        classes = {**header["classes"], "values": values}
        write_archive(tmp_path / "m", {**header, "classes": classes}, arrays)
        with pytest.raises(ModelFileError):
            load_model(tmp_path / "m")


def test_a_table_model_that_no_one_could_read_is_not_written(tmp_path):
    """The labels of the table must be those of the classifier."""
    model = TableClassifier.from_parts(fitted().encoder_, fitted().target_, fitted().classifier_)
    model.target_ = Target("buys", ("no", "perhaps"))
    with pytest.raises(ValueError, match="cannot be saved, because the file could not be read again"):
        model.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_hostile_files_are_refused(tmp_path):
    """Whatever is changed in the table's part: columns, target, scores, classes, numbers of columns."""
    path = tmp_path / "m"
    fitted().save(path)
    header, arrays = read_archive(path)
    columns, inner = header["columns"], header["classifier"]
    edits = [
        {"columns": None}, {"columns": columns[:-1]}, {"columns": [*columns[:-1], columns[0]]},
        {"columns": [{**columns[0], "fill": "x"}, *columns[1:]]},
        {"columns": [columns[0], columns[1], {**columns[2], "categories": ["a"] * 3}, columns[3]]},
        {"classes": None}, {"classes": {"kind": "str", "values": ["no", "maybe"]}}, {"target": 1}, {"target": None},
        {"held_out": []}, {"held_out": {"x": 1}},
        {"held_out": {"x": {"error": "0", "log_loss": 1.0}}}, {"held_out": {"x": {"error": 0.1}}},
        {"classifier": None}, {"classifier": {**inner, "class": "TableClassifier"}}, {"classifier": header},
        {"classifier": {**inner, "classes": {"kind": "float64", "values": [0.5, 1.5]}}},
        {"classifier": {**inner, "n_features": 3}}, {"class": ["TableClassifier"]}, {"class": "Other"},
    ]  # fmt: skip
    for edit in edits:
        write_archive(path, {**header, **edit}, arrays)
        with pytest.raises(ModelFileError):
            load_model(path)
    for name in set(header) - {"classes"}:  # which files of earlier versions have not
        write_archive(path, {key: value for key, value in header.items() if key != name}, arrays)
        with pytest.raises(ModelFileError):
            load_model(path)
    write_archive(path, header, arrays)
    assert load_model(path).target_.name == "buys"


def test_plain_classifiers_take_tables():
    """Columns are found by the names of the features; nothing may be missing."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"b": [0.0, 1.0, 2.0] * 5, "a": [1.0, 0.0, 3.0] * 5})
    classifier = SoftplusClassifier(inference="map", random_state=0).fit(frame, [0, 1, 1] * 5)
    model = TableClassifier.from_classifier(classifier)
    found = model.predict_proba({"a": [1.0], "b": [2.0], "c": ["x"]})
    assert np.array_equal(found, classifier.predict_proba(pandas.DataFrame({"b": [2.0], "a": [1.0]})))
    with pytest.raises(ValueError, match="has 2 encoded columns, but the classifier was fitted to 1"):
        TableClassifier.from_parts(
            model.encoder_, model.target_, SoftplusClassifier(inference="map").fit([[0.0], [1.0]] * 9, [0, 1] * 9)
        )


def test_a_column_of_unknown_categories_is_a_warning(tmp_path):
    """With its name, what it holds and what training had; one known value in any chunk, and there is none."""
    model = small_model(c=[1, 2, 3, 4] * 10, d=["x", "y"] * 20)
    message = r"column 'c' holds only categories .* such as '1x', '2x', '3x'; training had '1', '2', '3' and 1 more\."
    strange = {"c": ["1x", "2x", None, "1x", "3x", "4x"], "d": ["x", "z"] * 3}
    for ask in (model.predict, model.predict_proba, model.encode):
        with pytest.warns(UserWarning, match=message) as caught:
            ask(strange)
        assert [item.filename for item in caught] == [__file__]
    (tmp_path / "a.csv").write_text("c,d\n1x,z\n,z\n3,x\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(tmp_path / "a.csv")
        model.predict({"c": [None, None], "d": [None, "x"]})


QUICK = {"max_experts": 3, "random_state": 0}


X, Y = make_moons(80, noise=0.2, random_state=0)


TABLE = {"x": X[:, 0].tolist(), "side": ["up" if value > 0.0 else "down" for value in X[:, 1]], "y": Y.tolist()}


MODELS = {
    "modes": lambda: SumSoftplusClassifier(prior=Prior(), warm_start=True, **QUICK).fit(X, Y),
    "batches": lambda: SumSoftplusClassifier(**QUICK).partial_fit(X, Y, classes=[0, 1]),
    "chains": lambda: SumSoftplusClassifier(inference="gibbs", warm_start=True, n_sweeps=20, **QUICK).fit(X, Y),
    "table": lambda: TableClassifier(SumSoftplusClassifier(**QUICK)).fit(TABLE, "y"),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", MODELS)
def test_types_of_a_model_are_listed(kind):
    """A fitted model is made of no other types of this library, as the names in its pickle show."""
    operations = pickletools.genops(pickle.dumps(MODELS[kind](), protocol=2))
    names = {str(name).replace(" ", ".") for code, name, _ in operations if code.name == "GLOBAL"}
    own = {name for name in names if name.startswith("softpolytope.")}
    assert own
    assert own <= set(skops_trusted_types())
