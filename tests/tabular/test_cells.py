"""Cells: numbers, missing values, and the texts that mean the same."""

import numpy as np
import pytest

from softpolytope.tabular._cells import find_index, make_aliases, normalize, parse_numbers


def test_what_is_a_number():
    """Python's extras are none: underscores, infinities; missing has many names."""
    texts = ["1", " 2 ", "-3e2", "", "NA", "?", "nan", "1_000", "inf", "1e999", "1,5", "x"]
    found = parse_numbers(texts)
    assert found[:3].tolist() == [1.0, 2.0, -300.0]
    assert np.isnan(found[3:7]).all()
    assert np.isinf(found[7:]).all()
    assert np.isinf(parse_numbers(["1", "1_0"])).tolist() == [False, True]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2", "2"), ("2.0", "2"), ("2.", "2"), ("+2", "2"), ("-2.00", "-2"), ("-0.0", "0"), ("0", "0"), ("20.0", "20"),
        ("12345678901234567890.0", "12345678901234567890"),
        ("02", "02"), ("02.0", "02.0"), ("00", "00"), ("2.5", "2.5"), ("2.50", "2.50"), ("1.2.0", "1.2.0"), ("", ""),
        (".0", ".0"), ("-", "-"), ("1e3", "1e3"), ("\u0662", "\u0662"), ("2 ", "2 "), ("2\n", "2\n"), ("--2", "--2"),
    ],
)  # fmt: skip
def test_canonical_text(text, expected):
    """Whole numbers have one; codes with leading zeros, versions and fractions stay as they are."""
    assert normalize(text) == expected


def test_a_text_is_nearest_to_itself():
    """Categories that differ only in their spelling, as old files may hold, keep their own."""
    known = make_aliases(["2", "2.0", "no", "no ", "03"])
    assert [find_index(text, known) for text in ["2", "2.0", "+2", "no", "no ", "03", "3", ""]] == [
        0, 1, 0, 2, 3, 4, -1, -1,
    ]  # fmt: skip
    assert find_index("2", make_aliases(["2.0", "x "])) == 0
    assert find_index("x", make_aliases(["2.0", "x "])) == 1


@pytest.mark.parametrize("texts", [["False", "True"], ["FALSE", "TRUE"], ["0", "1"], ["0.0", "1.0"]])
def test_truth_values(texts):
    """Of columns that hold nothing else, one spelling each."""
    known = make_aliases(texts)
    assert [find_index(text, known) for text in ["False", "false", "FALSE", "0", "0.0", "-0"]] == [0] * 6
    assert [find_index(text, known) for text in ["True", "true", "TRUE", "1", "1.0", "+1"]] == [1] * 6
    assert find_index("yes", known) == find_index("2", known) == -1
    assert find_index("1", make_aliases(["False", "True", "perhaps"])) == -1
    assert find_index("1", make_aliases(["False", "True", "true"])) == -1
