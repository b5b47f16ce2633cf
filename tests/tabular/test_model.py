"""A classifier of raw rows: files without pickles, exports with the encoding, reasons in raw columns."""

import json
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from tables import FEATURES, customers, fitted, raw_row, write_csv

from softpolytope import SoftplusClassifier, TableClassifier, load_model
from softpolytope.exceptions import ModelFileError
from softpolytope.export._archive import read_archive, write_archive
from softpolytope.tabular import open_table
from softpolytope.tabular._explain import explained, named_polytopes, nearest_change
from softpolytope.tabular._export import sql_query, table_python_source
from softpolytope.tabular._table import rows_at
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
    model = TableClassifier(SoftplusClassifier(random_state=0)).fit(path, "y")
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
    model = TableClassifier.of_classifier(classifier)
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
    model = TableClassifier.of_classifier(classifier)
    found = model.predict_proba({"a": [1.0], "b": [2.0], "c": ["x"]})
    assert np.array_equal(found, classifier.predict_proba(pandas.DataFrame({"b": [2.0], "a": [1.0]})))
    with pytest.raises(ValueError, match="are encoded as 2, and the classifier has 1"):
        TableClassifier.from_parts(
            model.encoder_, model.target_, SoftplusClassifier(inference="map").fit([[0.0], [1.0]] * 9, [0, 1] * 9)
        )


def test_sql_takes_raw_columns(tmp_path):
    """SQLite gives the probabilities of all classes to 1e-9; so does DuckDB. NULL is missing."""
    duckdb = pytest.importorskip("duckdb")
    model = fitted()
    rows = [raw_row(row) for row in customers()] + [{"age": None, "income": 1.0, "color": "it's new", "children": 2.0}]
    expected = model.predict_proba({name: [row[name] for row in rows] for name in FEATURES})
    for database in (sqlite3.connect(tmp_path / "d"), duckdb.connect()):
        database.execute('CREATE TABLE "a t" (age DOUBLE, income DOUBLE, color VARCHAR, children DOUBLE)')
        database.executemany('INSERT INTO "a t" VALUES (?, ?, ?, ?)', [list(row.values()) for row in rows])
        found = np.array([row[-2:] for row in database.execute(sql_query(model, "a t")).fetchall()])
        assert found == pytest.approx(expected, abs=1e-9)


def test_python_source_takes_raw_rows(tmp_path):
    """A bare interpreter gives the probabilities of dicts to 1e-12."""
    model = fitted()
    rows = [raw_row(row) for row in customers()]
    (tmp_path / "exported.py").write_text(table_python_source(model))
    code = f"""
import json, sys
sys.path.insert(0, {str(tmp_path)!r})
import exported
print(json.dumps([[exported.predict_proba_of_row(row), exported.predict_row(row)] for row in json.load(sys.stdin)]))
"""
    command = [sys.executable, "-I", "-S", "-c", code]
    run = subprocess.run(command, input=json.dumps(rows), capture_output=True, text=True, check=True)  # noqa: S603
    found = json.loads(run.stdout)
    columns = {name: [row[name] for row in rows] for name in FEATURES}
    assert np.array([item[0] for item in found]) == pytest.approx(model.predict_proba(columns), abs=1e-12)
    assert [item[1] for item in found] == model.predict(columns).tolist()


def test_python_source_takes_whole_floats_for_categories():
    """As pandas gives them where a column of whole numbers has holes; truth values and texts stay what they are."""
    codes, flags = [1, 2, 3, None] * 15, ["True", "False"] * 30
    table = {"c": codes, "f": flags, "y": [code == 1 for code in codes]}
    model = TableClassifier(SoftplusClassifier(random_state=0), categorical=["c"]).fit(table, "y")
    namespace = {}
    exec(table_python_source(model), namespace)  # noqa: S102  # our own source
    for value in (1, 1.0, np.float64(1.0), np.float32(1.0), np.int64(1), "1"):
        assert namespace["encode"]({"c": value, "f": True}) == [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    assert namespace["encode"]({"c": float("nan"), "f": np.False_}) == [0.0, 0.0, 0.0, 1.0, 1.0, 0.0]
    assert namespace["encode"]({"c": 1.5, "f": None}) == [0.0] * 6
    assert namespace["encode"]({"c": float("inf"), "f": "x"}) == [0.0] * 6


def test_nearest_changes_are_rows_a_file_could_have(tmp_path):
    """After the change the model decides otherwise; whole numbers stay whole, categories are categories."""
    model = fitted()
    path = write_csv(tmp_path / "data.csv", customers())
    for number, row in enumerate(rows_at(open_table(path), range(6))):
        change = nearest_change(model, row)
        assert change.is_found
        new = raw_row(customers()[number]) | {item.column: item.after for item in change.changes}
        label = model.predict({name: [value] for name, value in new.items()})[0]
        assert label == change.otherwise != change.decided == model.predict(row)[0]
        for item in change.changes:
            assert item.column not in ("age", "children") or item.after == int(item.after)
            assert item.column in change.in_words()


def test_a_category_can_be_the_nearest_change(rng):
    """Where it decides and the numbers do not; one category becomes another, whole."""
    colors = rng.choice(["red", "blue", "green"], 90).tolist()
    table = {"n": rng.normal(size=90).tolist(), "c": colors, "y": [color == "red" for color in colors]}
    model = TableClassifier(SoftplusClassifier(random_state=0)).fit(table, "y")
    (chunk,) = open_table({"n": [0.1], "c": ["blue"]}).chunks()
    change = nearest_change(model, chunk)
    assert [(item.column, item.before, item.after) for item in change.changes] == [("c", "blue", "red")]
    assert change.in_words().startswith("It would be True with c 'red' instead of 'blue'; ")
    (chunk,) = open_table({"n": [None], "c": [None]}).chunks()
    assert "instead of no value" in nearest_change(model, chunk).in_words()


def test_no_other_decision():
    """Where no change within range helps, that is the answer."""
    table = {"c": ["p", "q"] * 30, "y": ["a"] * 57 + ["b"] * 3}
    model = TableClassifier(SoftplusClassifier(random_state=0)).fit(table, "y")
    (chunk,) = open_table({"c": ["p"]}).chunks()
    change = nearest_change(model, chunk)
    assert not change.is_found
    assert "no other decision was found" in change.in_words()


def test_reasons_name_the_columns():
    """Half-spaces and votes speak of age and color=red; only numbers move by a little."""
    model = fitted()
    assert "income" in str(named_polytopes(model))
    (chunk,) = open_table({name: [raw_row(customers()[0])[name]] for name in FEATURES}).chunks()
    explanation = explained(model, model.encode(chunk))
    assert str(explanation) == explanation.in_words()
    assert set(explanation.experts["feature"]) <= set(model.feature_names_)
    assert explanation.switches == {name for name in model.feature_names_ if name not in FEATURES}
    lines = [line for place in range(2) for line in explanation.votes_in_words(place, 100)[1:]]
    assert len(lines) == len(explanation.experts["row"])
    for line in lines:
        named = next(name for name in model.feature_names_ if f" if {name} " in line or f" on {name})" in line)
        assert ("limit reached if" in line) == (named in FEATURES)
        assert ("it depends most on" in line) == (named not in FEATURES)
