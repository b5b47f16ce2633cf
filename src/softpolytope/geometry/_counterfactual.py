"""Counterfactuals: the nearest points that are decided otherwise, as arrays, tables and text."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.geometry._tables import as_table
from softpolytope.geometry._wording import MAX_ROWS_PRINTED, counted, in_deviations, row_at, rows_left_out
from softpolytope.model import Features


@dataclass(frozen=True, slots=True, repr=False)
class Counterfactuals:
    """For each row the nearest point found at which the model decides otherwise; NaN if none is within bounds.

    Print it to read it. `counterfactuals[i]` is the answer for one row, `counterfactuals[a:b]` that for several; they
    keep the numbers of their rows.
    """

    rows: FloatArray  # (rows, features)
    points: FloatArray  # (rows, features)
    distances: FloatArray  # (rows,), in standard deviations; inf if there is none
    decided: NDArray[Any]  # (rows,), the class of each row
    otherwise: NDArray[Any]  # (rows,), the class at each point; that of the row if there is none
    features: Features
    numbers: NDArray[np.intp]  # (rows,), of the rows among those asked about

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator["Counterfactuals"]:
        return (self[place] for place in range(len(self)))

    def __getitem__(self, index: SupportsIndex | slice) -> "Counterfactuals":
        chosen = index if isinstance(index, slice) else [row_at(index, len(self))]
        return Counterfactuals(
            self.rows[chosen],
            self.points[chosen],
            self.distances[chosen],
            self.decided[chosen],
            self.otherwise[chosen],
            self.features,
            self.numbers[chosen],
        )

    def __repr__(self) -> str:
        return f"<Counterfactuals of {counted(len(self), 'row')}; print it to read it>"

    def __str__(self) -> str:
        told = [self.in_words(place) for place in range(min(len(self), MAX_ROWS_PRINTED))]
        return "\n".join([*told, rows_left_out(len(self))]).rstrip("\n")

    @property
    def is_found(self) -> BoolArray:
        """Whether there is a point, (rows,)."""
        return np.isfinite(self.distances)

    @property
    def changes(self) -> FloatArray:
        """What each feature changes by, in its own units, (rows, features)."""
        return self.points - self.rows

    def table(self) -> Any:
        """One line per row: classes, distance, and the change of every feature; pandas where it is installed."""
        columns = {
            "decided": self.decided,
            "otherwise": self.otherwise,
            "distance": self.distances,
            **{f"change of {name}": column for name, column in zip(self.features.names, self.changes.T, strict=True)},
        }
        return as_table(columns)

    def in_words(self, row: int = 0, most_features: int = 5) -> str:
        """One line about one row; IndexError if there is no such row."""
        row = row_at(row, len(self))
        start = f"Row {self.numbers[row]} is {self.decided.tolist()[row]!r}"
        if not self.is_found[row]:
            return f"{start}; no other decision was found within bounds."
        if self.distances[row] == 0.0:
            return f"{start}, as asked for; nothing has to change."
        sizes = np.abs(self.changes[row] / self.features.scale)
        order = np.argsort(-sizes, kind="stable")
        said = [
            f"{self.features.names[column]} {self.changes[row, column]:+.3g}"
            for column in order[:most_features]
            if sizes[column] > 0.0
        ]
        n_left = int((sizes > 0.0).sum()) - len(said)
        more = f" and {counted(n_left, 'smaller change')}" if n_left else ""
        return (
            f"{start}; it would be {self.otherwise.tolist()[row]!r} with {', '.join(said)}{more} "
            f"({in_deviations(self.distances[row])} away)."
        )
