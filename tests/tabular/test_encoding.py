"""The encoder: scikit-learn's transformers, one file, and what it does with what it has not seen."""

import shlex

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from softpolytope.exceptions import TableError
from softpolytope.tabular import open_table
from softpolytope.tabular._encoder import CategoryColumn, NumericColumn, TableEncoder
from softpolytope.tabular._plan import ColumnSelection, infer_schema, read_rows, split_names
from softpolytope.tabular._target import Target


def planned(columns, **options):
    """Rows of a table, encoded by what is learned from it."""
    table = open_table({**columns, "y": [0, 1] * (len(next(iter(columns.values()))) // 2)})
    plan = infer_schema(table, ColumnSelection("y", **options))
    rows, _ = read_rows(table, plan)
    encoder = plan.encoder.fitted(rows)
    encoder.fill(rows)
    return encoder, rows


def test_encodes_as_scikit_learn_does(rng):
    """Medians and zeros and ones, for rows seen and not seen."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "a": np.where(rng.random(40) < 0.2, np.nan, rng.normal(size=40)),
            "c": rng.choice(["x", "y", "z"], 40),
            "b": rng.normal(size=40),
        }
    )
    theirs = make_column_transformer(
        (SimpleImputer(strategy="median"), ["a"]),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["c"]),
        (SimpleImputer(strategy="median"), ["b"]),
    ).fit(frame)
    encoder, rows = planned({name: frame[name].tolist() for name in frame})
    assert np.array_equal(rows, theirs.transform(frame))
    strange = pandas.DataFrame({"a": [np.nan, 2.0], "c": ["w", "y"], "b": [np.nan, 1.0]})
    (chunk,) = open_table(strange).chunks()
    assert np.array_equal(encoder.encode(chunk), theirs.transform(strange))
    assert encoder.is_unknown(encoder.encode(chunk))["c"].tolist() == [True, False]


def test_missing_is_a_category_where_it_was_seen():
    """Else it is none of the known ones; a missing number is the median in any case."""
    encoder, rows = planned({"c": ["x", None, "y", "x"], "d": ["p", "q"] * 2, "n": [1.0, 2.0, 3.0, 9.0]})
    assert encoder.encoded_names == ("c=x", "c=y", "c is missing", "d=p", "d=q", "n")
    assert rows[1].tolist() == [0.0, 0.0, 1.0, 0.0, 1.0, 2.0]
    (chunk,) = open_table({"n": [None], "d": [None], "c": [None], "more": [1]}).chunks()
    assert encoder.encode(chunk).tolist() == [[0.0, 0.0, 1.0, 0.0, 0.0, 2.5]]
    assert not encoder.is_plain


def test_columns_that_lack_are_named():
    """All of them, and what there is."""
    encoder = TableEncoder.of_numbers(["a", "b", "c"])
    (chunk,) = open_table({"b": [1.0], "d": [2.0]}).chunks()
    with pytest.raises(TableError, match="lacks the columns a, c, which the model needs; it has b, d"):
        encoder.encode(chunk)
    (chunk,) = open_table({"a": [1.0, None], "b": [1.0, 2.0], "c": [1.0, 2.0]}).chunks()
    with pytest.raises(TableError, match="row 1, column 'a' has no value"):
        encoder.encode(chunk)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([f"name {number}" for number in range(20)], r"'c' holds a different text in every row .*: --drop=c\."),
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
        (["1,5", "-2,25", "1.234,5", "1,5"] * 5, r"commas or per cent signs \(such as '1,5'\).*: --categorical=c\."),
        (["5%", "7.5 %"] * 10, "commas or per cent signs"),
        ([f"1,{number:03d}" for number in range(20)], "commas or per cent signs"),
        (["1e200", "2"] * 10, r"numbers as large as 1e\+200, whose squares .* --drop=c\."),
    ],
)
def test_columns_of_no_use(column, message):
    """Each is refused by name, with what to do."""
    with pytest.raises(TableError, match=message):
        planned({"c": column, "n": list(range(20))}, most_categories=5)


def test_texts_with_signs_that_are_no_numbers():
    """Versions, ranges and addresses are categories; so is anything if the user says so."""
    encoder, _ = planned({"v": ["1.2.3", "10.0.0.1"] * 10, "r": ["1-5", "6-9"] * 10})
    assert encoder.encoded_names == ("v=1.2.3", "v=10.0.0.1", "r=1-5", "r=6-9")
    encoder, _ = planned({"c": ["1,5", "2,5"] * 10}, categorical=("c",))
    assert encoder.encoded_names == ("c=1,5", "c=2,5")


@pytest.mark.parametrize("name", ["plain", "Name, full", "-z", "it's", 'a "b"', "$HOME; x", '"'])
def test_advice_can_be_followed(name):
    """What is told is a word for a shell; what the option makes of it is the column."""
    with pytest.raises(TableError) as caught:
        planned({name: [f"t{number}" for number in range(20)]})
    (word,) = shlex.split(str(caught.value).partition("Leave it out: ")[2].removesuffix("."))
    assert split_names(word.removeprefix("--drop=")) == (name,)


def test_names_in_one_text():
    """Commas between them, spaces or not; quotes around those with a comma."""
    assert split_names("a, b ,c") == ("a", "b", "c")
    assert split_names('"Name, full",b') == ("Name, full", "b")
    assert split_names(" , ") == split_names("") == split_names(None) == ()


def test_what_is_counted_as_text_is_encoded_as_text():
    """NAN is a category like any other, and none that is missing."""
    encoder, rows = planned({"c": ["NAN", "x"] * 10})
    assert encoder.encoded_names == ("c=NAN", "c=x")
    assert rows.sum(axis=1).tolist() == [1.0] * 20
    with pytest.raises(TableError, match=r"both numbers .* and text \('NAN' at"):
        planned({"c": ["1", "NAN"] * 10})


def test_long_whole_numbers_are_different_labels_and_categories():
    """Though in double precision they are the same number."""
    numbers = [1234567890123456789, 1234567890123456788] * 10
    encoder, rows = planned({"c": numbers}, categorical=("c",))
    assert encoder.encoded_names == ("c=1234567890123456788", "c=1234567890123456789")
    assert rows[:2].tolist() == [[0.0, 1.0], [1.0, 0.0]]
    table = open_table({"a": list(range(20)), "y": numbers})
    plan = infer_schema(table, ColumnSelection("y"))
    assert plan.target.classes == (1234567890123456788, 1234567890123456789)
    assert read_rows(table, plan)[1].tolist() == [1, 0] * 10


def test_labels_of_plain_classifiers():
    """The classes 0.0 and 1.0 are found whether a file has 1, 1.0 or +1."""
    (chunk,) = open_table({"y": ["1", "0.0", "+1"]}).chunks()
    assert Target("y", (0.0, 1.0)).codes(chunk).tolist() == [1, 0, 1]
    assert Target("y", ("0.0", "1.0")).codes(chunk).tolist() == [1, 0, 1]


def test_infinite_numbers_are_refused():
    """With their place, where a file has numbers and not text."""
    with pytest.raises(TableError, match="row 0, column 'c': inf is no finite number"):
        planned({"c": [np.inf] * 20})


def test_numbers_as_categories():
    """If the user says so; whole numbers are written without a point, in whatever file."""
    encoder, _ = planned({"c": ["1", "2", "x", "1"], "n": [1.0, 2.0, 2.0, 1.0]}, categorical=("c", "n"))
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
        (["a", None] * 15, r"row 1, column 'y' has no value, and it is the one to predict"),
        ([number + 0.5 for number in range(30)], "30 different values .* a quantity or a name"),
    ],
)
def test_targets_of_no_use(labels, message):
    """One class, missing labels, a quantity."""
    with pytest.raises(TableError, match=message):
        infer_schema(open_table({"a": list(range(30)), "y": labels}), ColumnSelection("y"))


def test_plain_form_and_back():
    """What a file holds gives the same encoder; anything else is refused."""
    encoder = TableEncoder(
        (
            NumericColumn("a", 1.5, has_missing=True, is_whole=False),
            CategoryColumn("b", ("x", "y"), has_missing=True),
        )
    )
    plain = encoder.to_plain()
    assert TableEncoder.from_plain(plain) == encoder
    hostile = [
        [], None, {}, [None], [plain[0], plain[0]],
        [{**plain[0], "fill": float("nan")}], [{**plain[0], "fill": 1}], [{**plain[0], "fill": "1"}],
        [{**plain[0], "is_whole": 1}], [{**plain[0], "name": None}], [{**plain[0], "more": 1}],
        [{**plain[1], "categories": []}], [{**plain[1], "categories": ["x", "x"]}], [{**plain[1], "categories": [1]}],
        [{**plain[1], "categories": "xy"}], [{**plain[1], "has_missing": None}], [{**plain[1], "kind": "text"}],
    ]  # fmt: skip
    for item in hostile:
        with pytest.raises(ValueError, match="columns of the table are damaged"):
            TableEncoder.from_plain(item)
