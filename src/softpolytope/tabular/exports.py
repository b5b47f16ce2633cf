"""A model of raw rows as SQL and as Python source: the encoding goes with it."""

from typing import Any

from softpolytope.tabular.encoding import CategoryColumn, Column
from softpolytope.tabular.model import TableClassifier

_PYTHON = '''

# The raw columns: (name, what is taken for a missing number), or (name, categories, whether missing is one of them).
COLUMNS = {columns}


def encode(row):
    """The N_FEATURES numbers of a raw row, a dict by column name; None, "" or NaN where a value is missing."""
    x = []
    for name, *rest in COLUMNS:
        value = row[name]
        is_missing = value is None or value == "" or value != value
        if len(rest) == 1:
            if is_missing and rest[0] is None:
                raise ValueError(f"column {{name!r}} has no value, and the model has none to take instead.")
            x.append(float(rest[0] if is_missing else value))
        else:
            categories, has_missing = rest
            x.extend(float(not is_missing and text_of(value) == category) for category in categories)
            x.extend([float(is_missing)] if has_missing else [])
    return x


def text_of(value):
    """A value as a category: whole numbers without a point."""
    is_float = not isinstance(value, int) and hasattr(value, "is_integer")
    return str(int(value)) if is_float and value.is_integer() else str(value)


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
    columns: list[tuple[Any, ...]] = []
    for column in model.encoder_.columns:
        if isinstance(column, CategoryColumn):
            columns.append((column.name, list(column.categories), column.has_missing))
        else:
            columns.append((column.name, column.fill))
    text = "[\n    " + ",\n    ".join(map(ascii, columns)) + ",\n]"
    return source.rstrip("\n") + "\n" + _PYTHON.format(columns=text)


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
