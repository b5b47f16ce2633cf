"""Errors that a user of the package may want to catch."""

__all__ = [
    "BlocksLostError",
    "CheckpointError",
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


class UnwritablePathError(ValueError):
    """A path cannot be written; the message gives the reason."""
