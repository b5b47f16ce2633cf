"""Readers of CSV, Parquet and svmlight files, data frames and Arrow tables.

Each of them is a `Table`: names of columns, and rows in chunks, so that files larger than memory can be read. Every
error names the file, and the line or row where there is one.
"""

from softpolytope.tabular.readers._frames import MISSING_OBJECTS, FrameTable
from softpolytope.tabular.readers._open import Format, default_target, open_table

__all__ = ["MISSING_OBJECTS", "Format", "FrameTable", "default_target", "open_table"]
