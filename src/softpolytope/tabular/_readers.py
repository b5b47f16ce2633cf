"""What a file or a data frame is read by."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from softpolytope.exceptions import TableError
from softpolytope.tabular._csv import CsvTable
from softpolytope.tabular._frames import FrameTable
from softpolytope.tabular._parquet import ArrowTable, ParquetTable
from softpolytope.tabular._svmlight import LABEL, SvmlightTable
from softpolytope.tabular._table import Table

__all__ = ["LABEL", "Format", "default_target", "open_table"]

Format = Literal["csv", "parquet", "svmlight"]

ENDINGS: dict[str, Format] = {
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet",
    ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight",
}  # fmt: skip


def open_table(source: Any, *, file_format: Format | None = None, delimiter: str | None = None) -> Table:
    """A table of a path, a data frame, an Arrow table or a dict of columns.

    Parameters
    ----------
    source : path, data frame, Arrow table or dict of columns
        Files are read in chunks, and again from the start each time they are gone through.
    file_format : {"csv", "parquet", "svmlight"}, optional
        By default what the ending of the path says.
    delimiter : str, optional
        What is between the cells of a CSV file, by default the most frequent of comma, semicolon, tab and bar in its
        first line.

    Returns
    -------
    Table
        With `name`, `columns` and `chunks()`; what cannot be read raises a TableError.

    Examples
    --------
    >>> from softpolytope.tabular import open_table
    >>> table = open_table({"age": [31, 42], "color": ["red", None]})
    >>> [chunk.texts("color") for chunk in table.chunks()]
    [['red', '']]
    """
    # Of its type: a data frame has its columns as attributes, too, whatever their names.
    if hasattr(type(source), "schema") and hasattr(type(source), "column_names"):
        return ArrowTable(source)
    if isinstance(source, Mapping) or hasattr(source, "columns"):
        return FrameTable(source)
    path = Path(source)
    _check_file(path)
    kind = file_format or ENDINGS.get(path.suffix.lower())
    if kind is None:
        raise TableError(
            f"{path} has none of the endings {', '.join(ENDINGS)}. Say what it is: {', '.join(get_args(Format))}."
        )
    if kind == "parquet":
        return ParquetTable(path)
    return SvmlightTable(path) if kind == "svmlight" else CsvTable(path, delimiter)


def default_target(table: Table) -> str | None:
    """The column to predict, where the format says which it is."""
    return LABEL if isinstance(table, SvmlightTable) else None


def _check_file(path: Path) -> None:
    """Raise unless it is a file that can be read twice."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116  # one call, of which all errors are told below
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise TableError(f"{path} cannot be read: {reason}.") from None
    if stat.S_ISDIR(mode):
        raise TableError(f"{path} is a folder. Name a file in it.")
    if not stat.S_ISREG(mode):
        raise TableError(f"{path} is no regular file; tables are read more than once. Save it to a file first.")
