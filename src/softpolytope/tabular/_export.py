"""Models of raw rows as SQL and as Python source, encoding included."""

from collections.abc import Sequence
from typing import Any

from softpolytope.export import column_name, quoted_name
from softpolytope.model import Estimate
from softpolytope.tabular._cells import MISSING, is_normalized_integer, make_aliases, normalize
from softpolytope.tabular._classifier import TableClassifier
from softpolytope.tabular._encoder import CategoryColumn, Column
from softpolytope.tabular._target import Label
from softpolytope.tabular.readers import MISSING_OBJECTS

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


def table_sql_probability(
    model: TableClassifier, label: Label, table: str | None = None, estimate: Estimate | None = None
) -> str:
    """Return the probability of a class as one SQL expression of the raw columns, in which NULL is missing.

    With the name of the table, a column that the table lacks is an error; without it, SQLite takes the name for a text.
    The estimate is by default that of the classifier.
    """
    encoder = model.encoder_
    # Compute the encoded columns once: the expression uses each of them hundreds of times.
    aliases = [f"softpolytope_x{number}" for number in range(encoder.n_encoded)]
    given = [
        expression for column in encoder.columns for expression in _sql_columns(column, column_name(column.name, table))
    ]
    rows = ", ".join(f"{expression} AS {alias}" for expression, alias in zip(given, aliases, strict=True))
    probability = model.classifier_.to_sql(aliases, label, estimate=estimate)
    return f"(SELECT {probability} FROM (SELECT {rows}) AS softpolytope_row)"


def sql_query(model: TableClassifier, table: str, estimate: Estimate | None = None) -> str:
    """Return a query that adds the probabilities of all classes to the rows of a table.

    The estimate is by default that of the classifier.
    """
    probabilities = [
        f"{table_sql_probability(model, label, table, estimate)} AS {quoted_name(f'P({label})')}"
        for label in model.classes_.tolist()
    ]
    return f"SELECT *, {', '.join(probabilities)} FROM {quoted_name(table)}"


def table_python_source(model: TableClassifier, estimate: Estimate | None = None) -> str:
    """Return a module without dependencies, whose `predict_proba_of_row(row)` and `predict_row(row)` take raw rows.

    The estimate is by default that of the classifier.
    """
    source = str(model.classifier_.to_python_source(estimate))
    columns = [_python_column(column) for column in model.encoder_.columns]
    text = "[\n    " + ",\n    ".join(map(ascii, columns)) + ",\n]"
    missing = ascii(sorted({*MISSING, *MISSING_OBJECTS}))
    return source.rstrip("\n") + "\n" + _PYTHON.format(columns=text, missing=missing)


def _python_column(column: Column) -> tuple[Any, ...]:
    if isinstance(column, CategoryColumn):
        return column.name, len(column.encoded_names), column.aliases
    return column.name, column.fill


def _sql_columns(column: Column, name: str) -> list[str]:
    """Return SQL for the encoded columns of a column."""
    # As text, every type can be compared with the texts of missing values and of categories.
    text = f"CAST({name} AS VARCHAR)"
    is_missing = f"{text} IN ({_literals(sorted(MISSING))})"
    if not isinstance(column, CategoryColumn):
        value = f"CASE WHEN {is_missing} THEN NULL ELSE CAST({name} AS DOUBLE) END"
        return [value if column.fill is None else f"COALESCE({value}, {column.fill:.17e})"]
    found = [_case(condition) for condition in _sql_categories(column, text)]
    return [*found, _case(f"{name} IS NULL OR {is_missing}")] if column.has_missing else found


def _sql_categories(column: CategoryColumn, text: str) -> list[str]:
    """Return for each category the condition that a text is one of its forms, as `find_index` decides."""
    aliases = make_aliases(column.categories)
    conditions = []
    for code in range(len(column.categories)):
        own = [alias for alias, other in aliases.items() if other == code]
        integers = [alias for alias in own if is_normalized_integer(alias)]
        signed = [sign + digits for digits in integers for sign in "+-" if normalize(sign + digits) == digits]
        condition = f"{text} IN ({_literals([*own, *(alias for alias in signed if alias not in aliases)])})"
        if integers:
            # Only zeros after the point may differ.
            starts = [f"{digits}." for digits in (*integers, *signed)]
            others = [alias for alias in aliases if aliases[alias] != code and normalize(alias) in integers]
            unless = f" AND {text} NOT IN ({_literals(others)})" if others else ""
            condition += f" OR (rtrim({text}, '0') IN ({_literals(starts)}){unless})"
        conditions.append(condition)
    return conditions


def _case(condition: str) -> str:
    return f"CASE WHEN {condition} THEN 1.0 ELSE 0.0 END"


def _literals(texts: Sequence[str]) -> str:
    """Return texts as SQL literals, separated by commas."""
    for text in texts:
        if "\x00" in text:
            raise ValueError(f"{text!r} contains a NUL character, which SQL cannot express. Rename the category.")
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)
