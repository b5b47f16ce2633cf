"""What would have to change for another decision: the answer, and how it is read."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.geometry.features import Features
from softpolytope.geometry.tables import as_table


@dataclass(frozen=True, slots=True)
class Counterfactuals:
    """For each row the nearest point found at which the model decides otherwise; NaN if none is within bounds."""

    rows: FloatArray  # (rows, features)
    points: FloatArray  # (rows, features)
    distances: FloatArray  # (rows,), in standard deviations; inf if there is none
    decided: NDArray[Any]  # (rows,), the class of each row
    otherwise: NDArray[Any]  # (rows,), the class at each point; that of the row if there is none
    features: Features

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
        """One line about one row."""
        if not self.is_found[row]:
            return f"Row {row} is {self.decided.tolist()[row]!r}; no other decision was found within bounds."
        if self.distances[row] == 0.0:
            return f"Row {row} is {self.decided.tolist()[row]!r}, as asked for; nothing has to change."
        sizes = np.abs(self.changes[row] / self.features.scale)
        order = np.argsort(-sizes, kind="stable")
        said = [
            f"{self.features.names[column]} {self.changes[row, column]:+.3g}"
            for column in order[:most_features]
            if sizes[column] > 0.0
        ]
        return (
            f"Row {row} is {self.decided.tolist()[row]!r}; it would be {self.otherwise.tolist()[row]!r} with "
            f"{', '.join(said)} "
            f"({self.distances[row]:.2g} standard deviations away)."
        )
