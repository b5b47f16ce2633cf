"""Data frames of any library, Arrow tables, arrays and dicts of columns, as tables."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from numbers import Number
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from softpolytope.exceptions import TableError
from softpolytope.tabular._cells import Kind, format_number
from softpolytope.tabular._columns import MIN_CELLS_FOR_ARROW, Codes, Column, NumberColumn, TextColumn, import_arrow
from softpolytope.tabular._table import Chunk, validate_names

if TYPE_CHECKING:
    import pyarrow as pa
    from narwhals.dtypes import DType

# Texts of the missing values of data frames, besides None and NaN.
MISSING_OBJECTS = ("<NA>", "NaT")
# A bool is also an int in Python: the first match counts.
_TYPES: list[tuple[type | tuple[type, ...], Kind]] = [
    ((bool, np.bool_), "bool"), ((int, np.integer), "int"), ((float, np.floating), "float"), (str, "str"),
]  # fmt: skip


class FrameTable:
    """Data frame or dict of columns, in one chunk."""

    name = "the table"

    def __init__(self, frame: Any) -> None:  # a data frame of any library, or a dict
        found = _native_columns(frame, self.name)
        self.has_names = all(isinstance(name, str) for name, _ in found)
        self._columns = read_columns(found, self.name)
        self.columns = tuple(self._columns)
        lengths = {len(column) for column in self._columns.values()}
        if len(lengths) > 1:
            raise TableError(f"the columns of the table have different lengths: {sorted(lengths)}.")
        self._n_rows = lengths.pop() if lengths else 0

    def chunks(self) -> Iterator[Chunk]:
        """Yield all rows at once."""
        if self._n_rows:
            yield Chunk(self.name, self._columns, range(self._n_rows), "row")


def read_columns(columns: Sequence[tuple[object, Any]], source: str) -> dict[str, Column]:
    """Return columns by name; raise unless all of them hold plain values."""
    names = validate_names([str(name) for name, _ in columns], source)
    return {name: _column(name, values, source) for name, (_, values) in zip(names, columns, strict=True)}


def _native_columns(frame: Any, source: str) -> list[tuple[object, Any]]:  # a data frame of any library, or a dict
    """Return the columns of a table, series of its library, and their names."""
    if isinstance(frame, Mapping):
        return list(frame.items())
    try:
        table = nw.from_native(frame, eager_only=True)
    except nw.exceptions.DuplicateError:
        # The columns of an Arrow table are its data.
        validate_names([str(name) for name in getattr(frame, "column_names", frame.columns)], source)
        raise
    except TypeError:
        if not hasattr(frame, "__arrow_c_stream__"):
            raise TypeError(
                "a table must be a path, a data frame in memory, an Arrow table, a dict of columns or an array; got "
                f"{type(frame)}. Collect a lazy one first, by .collect() or .compute()."
            ) from None
        table = nw.from_arrow(frame, backend="pyarrow")
    return list(zip(table.columns, table.iter_columns(), strict=True))


def _column(name: str, values: Any, source: str) -> Column:  # a series of any library, an array or a sequence
    series = values if isinstance(values, nw.Series) else nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return _series_column(name, series, source)
    try:
        array = np.asarray(values)
    except ValueError:  # of sequences of different lengths
        array = np.empty(len(values), dtype=object)
        array[:] = values
    if array.dtype.kind in "iuf":
        return NumberColumn(array, "float" if array.dtype.kind == "f" else "int")
    if array.dtype.kind == "b":
        return _boolean_column(array, np.zeros(len(array), dtype=bool))
    if array.dtype.kind == "U":
        return TextColumn(array.tolist(), "str")
    return _object_column(name, array.astype(object).tolist(), source)


def _series_column(name: str, series: "nw.Series[Any]", source: str) -> Column:
    kind = series.dtype
    if kind.is_float():
        return NumberColumn(series.to_numpy(), "float")
    if kind.is_integer():
        is_missing = series.is_null().to_numpy() if series.null_count() else None
        return NumberColumn((series if is_missing is None else series.fill_null(0)).to_numpy(), "int", is_missing)
    if kind == nw.Boolean:
        is_missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
        return _boolean_column(np.asarray(series.fill_null(value=False).to_numpy(), dtype=bool), is_missing)
    if kind in (nw.Categorical, nw.Enum):
        return TextColumn(_texts(series.cast(nw.String)), _kind(series.cat.get_categories().dtype), is_category=True)
    if kind == nw.String:
        return TextColumn(_texts(series), "str")
    if kind.is_nested() or kind == nw.Binary:
        raise TableError(
            f"{source}: column {name!r} is of type {str(kind)[:60]}, which is neither a number nor text. Write the "
            "table without it, or with its parts as separate columns."
        )
    return _object_column(name, series.to_list(), source)


def _kind(dtype: "DType") -> Kind | None:
    """Return the kind of the values of a type."""
    tests: list[tuple[bool, Kind]] = [
        (dtype == nw.Boolean, "bool"), (dtype.is_integer(), "int"), (dtype.is_float(), "float"),
        (dtype == nw.String, "str"),
    ]  # fmt: skip
    return next((kind for is_kind, kind in tests if is_kind), None)


def _texts(series: "nw.Series[Any]") -> "Sequence[str] | pa.Array":
    """Return the cells of a series of text."""
    is_long = len(series) >= MIN_CELLS_FOR_ARROW and import_arrow() is not None
    return series.to_arrow() if is_long else [_text(value) for value in series.to_list()]


def _boolean_column(values: NDArray[np.bool_], is_missing: NDArray[np.bool_]) -> Codes:
    """Return the texts False and True, and "" where a value is missing."""
    codes = Codes(np.where(is_missing, 2, values.astype(np.intp)), ("False", "True", ""), "bool")
    return codes.select(np.arange(len(values)))


def _object_column(name: str, values: Sequence[object], source: str) -> Column:
    """Return Python objects as numbers if all of them are, else as text; raise if a cell holds several values."""
    texts = [_text(value) for value in values]
    known = [value for value, text in zip(values, texts, strict=True) if text]
    types = set(map(type, known))
    if any(issubclass(kind, Collection) and not issubclass(kind, str) for kind in types):
        row, value = next(pair for pair in enumerate(values) if not isinstance(pair[1], str | Number | None))
        raise TypeError(
            f"{source}: column {name!r} holds {str(value)[:60]} at row {row}, but a cell of this argument must be a "
            "string, a number or missing."
        )
    kinds = {next((kind for base, kind in _TYPES if issubclass(item, base)), None) for item in types}
    kind = kinds.pop() if len(kinds) == 1 else "float" if kinds == {"int", "float"} else None
    is_missing = np.array([not text for text in texts], dtype=bool)
    array = np.array(known) if kind in ("int", "float") else np.empty(0)
    if array.dtype.kind not in "iuf" or not len(array):  # such as integers beyond 64 bits
        return TextColumn(texts, kind)
    numbers = np.zeros(len(values), dtype=array.dtype)
    numbers[~is_missing] = array
    return NumberColumn(numbers, kind, is_missing)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Decimal):
        return _decimal_text(value)
    # NaN differs from itself; pandas.NA has no truth value and is recognized by its text.
    is_missing = value is None or (isinstance(value, float) and value != value) or str(value) in MISSING_OBJECTS  # noqa: PLR0124
    return "" if is_missing else str(value)


def _decimal_text(value: Decimal) -> str:
    """Format a decimal like a double, or with all its digits if a double cannot hold them."""
    text = format_number(float(value))
    return text if not value.is_finite() or Decimal(text) == value else f"{value.normalize():f}"
