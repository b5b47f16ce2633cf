"""Errors that a user of the package may want to catch."""

from collections.abc import Sequence

__all__ = [
    "BlocksLostError",
    "CheckpointError",
    "ColumnError",
    "ContentError",
    "ModelFileError",
    "ReproductionError",
    "TableError",
    "UnwritablePathError",
]


class BlocksLostError(RuntimeError):
    """Workers were lost with blocks of rows that cannot be built again from what is left."""


class CheckpointError(RuntimeError):
    """A checkpoint is damaged, or belongs to another fit."""


class ContentError(ValueError):
    """Downloaded data do not have the expected content."""


class ModelFileError(ValueError):
    """A file is not a model file that can be read."""


class ReproductionError(ValueError):
    """A reproduction of the paper cannot be run as requested; the message says why and what to change."""


class TableError(ValueError):
    """A table cannot be used; the message says where and why."""


class ColumnError(TableError):
    """A column of a table cannot be used as it is.

    Attributes
    ----------
    column : str
        Name of the column.
    remedies : sequence of str
        Parameters that help: "drop", "categorical" or "max_categories".
    """

    def __init__(self, message: str, column: str = "", remedies: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.column = column
        self.remedies = tuple(remedies)


class UnwritablePathError(ValueError):
    """A path cannot be written; the message gives the reason."""
