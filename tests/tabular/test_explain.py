"""Explanations in terms of raw columns: votes, and the nearest change of prediction."""

import numpy as np
from tables import FEATURES, customers, fitted, raw_row, write_csv

from softpolytope import SoftplusClassifier, TableClassifier
from softpolytope.geometry import inequality
from softpolytope.model import Features
from softpolytope.tabular import open_table
from softpolytope.tabular._explain import explain_rows, named_polytopes, nearest_change
from softpolytope.tabular._table import rows_at


def test_nearest_changes_are_rows_a_file_could_have(tmp_path):
    """After the change the model decides otherwise; whole numbers stay whole, categories are categories."""
    model = fitted()
    path = write_csv(tmp_path / "data.csv", customers())
    for number, row in enumerate(rows_at(open_table(path), range(3))):
        change = nearest_change(model, row)
        assert change.is_found
        new = raw_row(customers()[number]) | {item.column: item.after for item in change.changes}
        label = model.predict({name: [value] for name, value in new.items()})[0]
        assert label == change.counterfactual_class != change.predicted == model.predict(row)[0]
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
    assert "no change of prediction was found" in change.in_words()


def test_half_spaces_name_categories_as_statements():
    """In brackets within a sum, without a number where one decides alone; NaN is a statement, too."""
    table = {"city": ["Oslo", "Rome", "Bonn", None] * 20, "n": [0.0, 1.0] * 40}
    classifier = SoftplusClassifier(inference="map", n_restarts=1, random_state=0)
    model = TableClassifier(classifier).fit(table, [1, 0, 0, 0] * 20)
    assert model.encoder_.terms == ("[city is Bonn]", "[city is Oslo]", "[city is Rome]", "[city is missing]", "n")
    text = str(model.polytopes())
    assert "[city is Oslo]" in text
    assert "city=" not in text
    known = Features(model.encoder_.terms, np.ones(5), np.zeros(5), np.ones(5))
    normal = np.array([0.0, 2.0, 0.0, 0.0, 0.0])
    assert inequality(normal, 0.7, known) == "city is Oslo"
    assert inequality(-normal, -0.7, known) == "not [city is Oslo]"
    assert inequality(normal, 2.7, known) == "[city is Oslo] > 1.35"  # which never holds
    assert inequality(np.array([0.0, 2.0, 0.0, 0.0, 1.0]), 0.7, known) == "[city is Oslo] + 0.5 n > 0.35"


def test_reasons_name_the_columns():
    """Half-spaces and votes speak of age and color=red; only numbers move by a little."""
    model = fitted()
    assert "income" in str(named_polytopes(model))
    (chunk,) = open_table({name: [raw_row(customers()[0])[name]] for name in FEATURES}).chunks()
    explanation = explain_rows(model, model.encode(chunk))
    assert str(explanation) == explanation.in_words()
    assert set(explanation.experts["feature"]) <= set(model.feature_names_)
    assert explanation.switches == {name for name in model.feature_names_ if name not in FEATURES}
    lines = [line for place in range(2) for line in explanation.votes_in_words(place, 100)[1:]]
    assert len(lines) == len(explanation.experts["row"])
    for line in lines:
        named = next(name for name in model.feature_names_ if f" if {name} " in line or f" on {name})" in line)
        assert ("limit reached if" in line) == (named in FEATURES)
        assert ("it depends most on" in line) == (named not in FEATURES)
