"""A model of raw rows as SQL and as Python source: the encoding goes with it."""

from typing import Any

from softpolytope.tabular._frames import ABSENT
from softpolytope.tabular.encoding import CategoryColumn, Column
from softpolytope.tabular.model import TableClassifier
from softpolytope.tabular.table import MISSING

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


def sql_probability_of(model: TableClassifier, label: Any) -> str:
    """The probability of a class as one SQL expression of the raw columns; NULL is missing."""
    encoder = model.encoder_
    if encoder.is_plain:
        return str(model.classifier_.to_sql(encoder.names, label))
    # The encoded columns are computed once and used by name, which the expression does hundreds of times.
    aliases = [f"softpolytope_x{number}" for number in range(encoder.n_encoded)]
    given = [expression for column in encoder.columns for expression in _sql_columns(column)]
    rows = ", ".join(f"{expression} AS {alias}" for expression, alias in zip(given, aliases, strict=True))
    return f"(SELECT {model.classifier_.to_sql(aliases, label)} FROM (SELECT {rows}) AS softpolytope_row)"


def sql_query(model: TableClassifier, table: str) -> str:
    """A query that adds the probabilities of all classes to the rows of a table."""
    chances = [
        f"{sql_probability_of(model, label)} AS {_identifier(f'P({label})')}" for label in model.classes_.tolist()
    ]
    return f"SELECT *, {', '.join(chances)} FROM {_identifier(table)}"


def python_source_of(model: TableClassifier) -> str:
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


def _sql_columns(column: Column) -> list[str]:
    name = _identifier(column.name)
    if not isinstance(column, CategoryColumn):
        return [name if column.fill is None else f"COALESCE({name}, {column.fill:.17e})"]
    found = [f"CASE WHEN {name} = {_literal(category)} THEN 1.0 ELSE 0.0 END" for category in column.categories]
    missing = [f"CASE WHEN {name} IS NULL THEN 1.0 ELSE 0.0 END"] if column.has_missing else []
    return [*found, *missing]


def _identifier(name: str) -> str:
    _check_text(name)
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    _check_text(text)
    return "'" + text.replace("'", "''") + "'"


def _check_text(text: str) -> None:
    if "\x00" in text:
        raise ValueError(f"{text!r} holds a NUL, which SQL cannot write.")
