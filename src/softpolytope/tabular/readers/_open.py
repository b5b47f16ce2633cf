"""Selection of the reader for a file, a data frame or an Arrow table."""

import os
import stat
from pathlib import Path
from typing import Literal, cast, get_args

from softpolytope.exceptions import TableError
from softpolytope.tabular._table import Table, TableSource
from softpolytope.tabular.readers._csv import CsvTable
from softpolytope.tabular.readers._frames import FrameTable
from softpolytope.tabular.readers._parquet import ParquetTable
from softpolytope.tabular.readers._svmlight import LABEL, SvmlightTable

Format = Literal["csv", "parquet", "svmlight"]

SUFFIXES: dict[str, Format] = {
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet",
    ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight",
}  # fmt: skip


def open_table(source: TableSource, *, file_format: Format | None = None, delimiter: str | None = None) -> Table:
    """Return a table for a path, a data frame, an Arrow table or a dict of columns.

    Parameters
    ----------
    source : path, data frame, Arrow table, dict of columns or Table
        Files are read in chunks, from the start each time. A Table is returned as it is.
    file_format : {"csv", "parquet", "svmlight"}, optional
        By default inferred from the suffix of the path.
    delimiter : str, optional
        Separator of the cells of a CSV file, by default the most frequent of comma, semicolon, tab and bar in its first
        line.

    Returns
    -------
    Table
        Has `name`, `columns` and `chunks()`; a source that cannot be read raises a TableError.

    Examples
    --------
    >>> from softpolytope.tabular import open_table
    >>> table = open_table({"age": [31, 42], "color": ["red", None]})
    >>> [chunk.texts("color") for chunk in table.chunks()]
    [['red', '']]
    """
    # Of its type: a data frame also has its columns as attributes, whatever their names.
    kind = type(source)
    if hasattr(kind, "chunks") and hasattr(kind, "name"):
        return cast("Table", source)
    if not isinstance(source, str | os.PathLike):
        return FrameTable(source)
    path = Path(source)
    _check_file(path)
    found = file_format or SUFFIXES.get(path.suffix.lower())
    if found is None:
        raise TableError(
            f"{path} has none of the suffixes {', '.join(SUFFIXES)}. Name its format: {', '.join(get_args(Format))}."
        )
    if found == "parquet":
        return ParquetTable(path)
    return SvmlightTable(path) if found == "svmlight" else CsvTable(path, delimiter)


def default_target(table: Table) -> str | None:
    """Return the column to predict if the format defines one."""
    return LABEL if isinstance(table, SvmlightTable) else None


def _check_file(path: Path) -> None:
    """Raise unless the path is a file that can be read twice."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116  # a single call, whose errors are all reported below
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise TableError(f"{path} cannot be read: {reason}.") from None
    if stat.S_ISDIR(mode):
        raise TableError(f"{path} is a folder. Name a file in it.")
    if not stat.S_ISREG(mode):
        raise TableError(
            f"{path} is not a regular file, and tables are read more than once. Save it to a regular file first."
        )
