"""Schemas: what the columns of a table hold, and what no model can use."""

import pickle

import numpy as np
import pytest
from tables import encode_columns

from softpolytope.exceptions import ColumnError, TableError
from softpolytope.tabular import open_table
from softpolytope.tabular._schema import ColumnSelection, infer_schema, read_rows


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([f"name {number}" for number in range(20)], r"'c' holds a different text in every row .*Drop it"),
        (
            [f"2024-01-{1 + number % 9:02d}" for number in range(20)],
            r"'c' holds dates or times \(such as '2024-01-01'\)",
        ),
        (["3/12/99", "4/12/99"] * 10, "holds dates or times"),
        (["12:30", "9:45:10"] * 10, "holds dates or times"),
        (
            ["1", "2", "3", "4,5"] * 5,
            r"both numbers \('1' at the table, row 0\) and text \('4,5' at the table, row 3\)",
        ),
        ([None] * 20, "'c' has no values at all"),
        ([f"t{number % 8}" for number in range(20)], "holds 8 different texts .*more than the 5 categories"),
        (["inf", "1"] * 10, "both numbers"),
        (
            ["1,5", "-2,25", "1.234,5", "1,5"] * 5,
            r"commas or percent signs \(such as '1,5'\).*declare the column",
        ),
        (["5%", "7.5 %"] * 10, "commas or percent signs"),
        ([f"1,{number:03d}" for number in range(20)], "commas or percent signs"),
        (["1e200", "2"] * 10, r"numbers as large as 1e\+200, whose squares .* drop it"),
    ],
)
def test_columns_of_no_use(column, message):
    """Each is refused by name, with what to do."""
    with pytest.raises(TableError, match=message):
        encode_columns({"c": column, "n": list(range(20))}, max_categories=5)


def test_texts_with_signs_that_are_no_numbers():
    """Versions, ranges and addresses are categories; so is anything if the user says so."""
    encoder, _ = encode_columns({"v": ["1.2.3", "10.0.0.1"] * 10, "r": ["1-5", "6-9"] * 10})
    assert encoder.encoded_names == ("v=1.2.3", "v=10.0.0.1", "r=1-5", "r=6-9")
    encoder, _ = encode_columns({"c": ["1,5", "2,5"] * 10}, categorical=("c",))
    assert encoder.encoded_names == ("c=1,5", "c=2,5")


@pytest.mark.parametrize("name", ["plain", "Name, full", "-z", "it's", 'a "b"', "$HOME; x", '"'])
def test_errors_name_the_column_and_the_remedies(name):
    """As attributes, from which a command can make advice; they survive a pickle."""
    with pytest.raises(ColumnError) as caught:
        encode_columns({name: [f"t{number}" for number in range(20)]})
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):  # noqa: S301  # our own
        assert (error.column, error.remedies) == (name, ("drop",))
        assert "--" not in str(error).replace(name, "")


def test_what_is_counted_as_text_is_encoded_as_text():
    """NAN is a category like any other, and none that is missing."""
    encoder, rows = encode_columns({"c": ["NAN", "x"] * 10})
    assert encoder.encoded_names == ("c=NAN", "c=x")
    assert rows.sum(axis=1).tolist() == [1.0] * 20
    with pytest.raises(TableError, match=r"both numbers .* and text \('NAN' at"):
        encode_columns({"c": ["1", "NAN"] * 10})


def test_long_whole_numbers_are_different_labels_and_categories():
    """Though in double precision they are the same number."""
    numbers = [1234567890123456789, 1234567890123456788] * 10
    encoder, rows = encode_columns({"c": numbers}, categorical=("c",))
    assert encoder.encoded_names == ("c=1234567890123456788", "c=1234567890123456789")
    assert rows[:2].tolist() == [[0.0, 1.0], [1.0, 0.0]]
    table = open_table({"a": list(range(20)), "y": numbers})
    plan = infer_schema(table, ColumnSelection("y"))
    assert plan.target.classes == (1234567890123456788, 1234567890123456789)
    assert read_rows(table, plan)[1].tolist() == [1, 0] * 10


def test_infinite_numbers_are_refused():
    """With their place, where a file has numbers and not text."""
    with pytest.raises(TableError, match="row 0, column 'c': inf is not a finite number"):
        encode_columns({"c": [np.inf] * 20})


def test_numbers_as_categories():
    """If the user says so; whole numbers are written without a point, in whatever file."""
    encoder, _ = encode_columns({"c": ["1", "2", "x", "1"], "n": [1.0, 2.0, 2.0, 1.0]}, categorical=("c", "n"))
    assert encoder.encoded_names == ("c=1", "c=2", "c=x", "n=1", "n=2")


def test_choices_are_checked():
    """Columns that are not there, the target as a feature, nothing left."""
    table = open_table({"a": [1, 2], "y": [0, 1]})
    for choice, message in [
        (ColumnSelection("z"), "no column 'z'; it has a, y"),
        (ColumnSelection("y", features=("b",)), "no column 'b'"),
        (ColumnSelection("y", drop=("y",)), "is the target"),
        (ColumnSelection("y", drop=("a",)), "no column left to predict 'y' from"),
        (ColumnSelection("y", features=("a", "a")), "named twice"),
    ]:
        with pytest.raises(TableError, match=message):
            infer_schema(table, choice)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["1", "0", "1.0", "+1"], ("+1", "0", "1", "1.0")),
        (["b", "a", "b", "10"], ("10", "a", "b")),
        ([-1.0, 1.0, 1.0, -1.0], (-1.0, 1.0)),
        ([1.5, 0.5, 10.5, 1.5], (0.5, 1.5, 10.5)),
        ([True, False, True, True], (False, True)),
        ([2**63 + 1, 2**63, 2**63, 2**63], (2**63, 2**63 + 1)),
        ([2**64, -1, -1, -1], ("-1", str(2**64))),
    ],
)
def test_classes(labels, classes):
    """Of a data frame: its own labels, of their own type."""
    table = open_table({"a": [1.0, 2.0, 3.0, 4.0], "y": labels})
    plan = infer_schema(table, ColumnSelection("y"))
    assert plan.target.classes == classes
    assert list(map(type, plan.target.classes)) == list(map(type, classes))
    assert read_rows(table, plan)[1].tolist() == [classes.index(type(classes[0])(label)) for label in labels]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a"] * 30, "only one class, 'a'"),
        (["a", None] * 15, r"row 1, column 'y' has no value, but it is the column to predict"),
        ([number + 0.5 for number in range(30)], "30 different values .* like a quantity or a name"),
    ],
)
def test_targets_of_no_use(labels, message):
    """One class, missing labels, a quantity."""
    with pytest.raises(TableError, match=message):
        infer_schema(open_table({"a": list(range(30)), "y": labels}), ColumnSelection("y"))
