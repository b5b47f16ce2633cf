"""A model of raw rows as SQL and as Python source: the encoding goes with it."""

from collections.abc import Sequence
from typing import Any

from softpolytope.export import column_name, quoted_name
from softpolytope.tabular._classifier import TableClassifier
from softpolytope.tabular._encoder import CategoryColumn, Column
from softpolytope.tabular._frames import ABSENT
from softpolytope.tabular._spelling import canonical, is_canonical_number, spellings
from softpolytope.tabular._table import MISSING

_PYTHON = '''

import re

# The raw columns: (name, what is taken for a missing number), or (name, number of encoded columns, the place among them
# of each category in all its spellings); the category "" is a missing value.
COLUMNS = {columns}
# Texts of missing values.
MISSING = {missing}


def encode(row):
    """The N_FEATURES numbers of a raw row, a dict by column name; None, NaN or a text of MISSING for no value."""
    x = []
    for name, *rest in COLUMNS:
        value = row[name]
        is_missing = str(value) in MISSING
        if len(rest) == 1:
            if is_missing and rest[0] is None:
                raise ValueError(f"column {{name!r}} has no value, and the model has none to take instead.")
            x.append(float(rest[0] if is_missing else value))
        else:
            n_encoded, places = rest
            text = "" if is_missing else text_of(value)
            place = places.get(text, places.get(canonical(text), -1))
            x.extend(float(number == place) for number in range(n_encoded))
    return x


def text_of(value):
    """A value as a category: whole numbers without a point."""
    is_float = not isinstance(value, int) and hasattr(value, "is_integer")
    return str(int(value)) if is_float and value.is_integer() else str(value)


def canonical(text):
    """The text of a whole number without a point or a plus sign; any other text as it is."""
    match = re.fullmatch(r"([-+]?)(0|[1-9][0-9]*)(\\.0*)?", text)
    if match is None:
        return text
    return "-" + match[2] if match[1] == "-" and match[2] != "0" else match[2]


def predict_proba_of_row(row):
    """Probabilities of CLASSES for a raw row, a dict by column name."""
    return predict_proba(encode(row))


def predict_row(row):
    """The most probable class of a raw row, a dict by column name."""
    return predict(encode(row))
'''


def table_sql_probability(model: TableClassifier, label: Any, table: str | None = None) -> str:
    """The probability of a class as one SQL expression of the raw columns; NULL is missing.

    With the name of the table, a column that the table does not have is an error; without, SQLite takes its name for
    a text.
    """
    encoder = model.encoder_
    # The encoded columns are computed once and used by name, which the expression does hundreds of times.
    aliases = [f"softpolytope_x{number}" for number in range(encoder.n_encoded)]
    given = [
        expression for column in encoder.columns for expression in _sql_columns(column, column_name(column.name, table))
    ]
    rows = ", ".join(f"{expression} AS {alias}" for expression, alias in zip(given, aliases, strict=True))
    return f"(SELECT {model.classifier_.to_sql(aliases, label)} FROM (SELECT {rows}) AS softpolytope_row)"


def sql_query(model: TableClassifier, table: str) -> str:
    """A query that adds the probabilities of all classes to the rows of a table."""
    probabilities = [
        f"{table_sql_probability(model, label, table)} AS {quoted_name(f'P({label})')}"
        for label in model.classes_.tolist()
    ]
    return f"SELECT *, {', '.join(probabilities)} FROM {quoted_name(table)}"


def table_python_source(model: TableClassifier) -> str:
    """A module without dependencies: `predict_proba_of_row(row)` and `predict_row(row)` take raw rows."""
    source = str(model.classifier_.to_python_source())
    columns = [_python_column(column) for column in model.encoder_.columns]
    text = "[\n    " + ",\n    ".join(map(ascii, columns)) + ",\n]"
    missing = ascii(sorted({*MISSING, *ABSENT}))
    return source.rstrip("\n") + "\n" + _PYTHON.format(columns=text, missing=missing)


def _python_column(column: Column) -> tuple[Any, ...]:
    if isinstance(column, CategoryColumn):
        return column.name, len(column.encoded_names), column.places
    return column.name, column.fill


def _sql_columns(column: Column, name: str) -> list[str]:
    """SQL for the encoded columns of a column."""
    # As text, every type can be compared with the texts of missing values and of categories.
    text = f"CAST({name} AS VARCHAR)"
    is_missing = f"{text} IN ({_literals(sorted(MISSING))})"
    if not isinstance(column, CategoryColumn):
        value = f"CASE WHEN {is_missing} THEN NULL ELSE CAST({name} AS DOUBLE) END"
        return [value if column.fill is None else f"COALESCE({value}, {column.fill:.17e})"]
    found = [_case(condition) for condition in _sql_categories(column, text)]
    return [*found, _case(f"{name} IS NULL OR {is_missing}")] if column.has_missing else found


def _sql_categories(column: CategoryColumn, text: str) -> list[str]:
    """For each category, the condition that a text is one of its spellings: what `open_partition_store` finds."""
    places = spellings(column.categories)
    conditions = []
    for place in range(len(column.categories)):
        own = [spelling for spelling, other in places.items() if other == place]
        whole = [spelling for spelling in own if is_canonical_number(spelling)]
        signed = [sign + digits for digits in whole for sign in "+-" if canonical(sign + digits) == digits]
        condition = f"{text} IN ({_literals([*own, *(spelling for spelling in signed if spelling not in places)])})"
        if whole:
            # Zeros behind the point are all that may differ.
            starts = [f"{digits}." for digits in (*whole, *signed)]
            others = [spelling for spelling in places if places[spelling] != place and canonical(spelling) in whole]
            unless = f" AND {text} NOT IN ({_literals(others)})" if others else ""
            condition += f" OR (rtrim({text}, '0') IN ({_literals(starts)}){unless})"
        conditions.append(condition)
    return conditions


def _case(condition: str) -> str:
    return f"CASE WHEN {condition} THEN 1.0 ELSE 0.0 END"


def _literals(texts: Sequence[str]) -> str:
    """Texts as SQL writes them, with commas between them."""
    for text in texts:
        if "\x00" in text:
            raise ValueError(f"{text!r} holds a NUL, which SQL cannot write.")
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)
