"""What `write_report` was given besides a classifier and rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softpolytope.model import Features


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """What `write_report` was asked for beside the rows."""

    title: str | None = None
    feature_names: Sequence[str] | None = None
    baselines: Mapping[str, Mapping[str, float]] | None = None
    raw_columns: Sequence[str] | None = None
    raw_rows: Any = None
    elsewhere: Mapping[str, Mapping[str, float]] | None = None
    held_out: Mapping[str, Mapping[str, float]] | None = None

    def scores_elsewhere(self) -> dict[str, Mapping[str, float]]:
        """Scores on other rows, among them those held out, by name."""
        held_out = {f"{name}, on the rows held out from its fit": item for name, item in (self.held_out or {}).items()}
        return {**(self.elsewhere or {}), **held_out}


def raw_columns(given: ReportOptions, features: Features, rows: Any) -> tuple[tuple[str, NDArray[Any]], ...]:
    """Columns as the user knows them; none if these are the features themselves."""
    if given.raw_rows is None:
        if given.raw_columns is not None:
            raise ValueError("raw_columns name the columns of raw_rows; give both or neither.")
        return ()
    table = np.asarray(given.raw_rows, dtype=object)
    if table.ndim != 2 or table.shape[0] != rows.shape[0]:
        raise ValueError(f"raw_rows must hold one row for each of the {rows.shape[0]} of X; got shape {table.shape}.")
    names = features.names if given.raw_columns is None else tuple(str(name) for name in given.raw_columns)
    if len(names) != table.shape[1]:
        raise ValueError(f"raw_columns must name the {table.shape[1]} columns of raw_rows; got {len(names)} names.")
    return tuple(zip(names, table.T, strict=True))
