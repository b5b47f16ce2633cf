"""From a table to rows a classifier can be fitted to: one pass to see what the columns hold, one to read them."""

import csv
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import FloatArray
from softpolytope.exceptions import TableError
from softpolytope.tabular._encoder import TableEncoder
from softpolytope.tabular._survey import MAX_TEXTS, ColumnSurvey
from softpolytope.tabular._table import Chunk, Table, listed
from softpolytope.tabular._target import MAX_CLASSES, Target, label_texts, target_of

MAX_CATEGORIES = 100


@dataclass(frozen=True, slots=True)
class ColumnSelection:
    """What a user says of the columns."""

    target: str
    features: tuple[str, ...] = ()  # all but the target, if none are named
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    most_categories: int = MAX_CATEGORIES

    def names(self, table: Table) -> tuple[str, ...]:
        """The columns that are features."""
        for name in (self.target, *self.features, *self.drop, *self.categorical):
            if name not in table.columns:
                raise TableError(f"{table.name} has no column {name!r}; it has {listed(table.columns)}.")
        if self.target in (*self.features, *self.drop):
            raise TableError(f"column {self.target!r} is the target and cannot be a feature or be left out.")
        chosen = [name for name in self.features or table.columns if name != self.target and name not in self.drop]
        if not chosen:
            raise TableError(f"{table.name} has no column left to predict {self.target!r} from.")
        if len(set(chosen)) < len(chosen):
            raise TableError("a column is named twice among the features.")
        return tuple(chosen)


@dataclass(frozen=True, slots=True)
class Schema:
    """How rows are read: the encoder (yet without medians), the target, and how many rows there are."""

    encoder: TableEncoder
    target: Target
    n_rows: int


def infer_schema(table: Table, choice: ColumnSelection) -> Schema:
    """Go through a table once to see what its columns hold; nothing but counts and categories is kept."""
    names = choice.names(table)
    most_texts = max(MAX_TEXTS, choice.most_categories)
    surveys = [ColumnSurvey(name, name in choice.categorical, most_texts) for name in names]
    labels: set[str] = set()
    kind = None
    n_rows = 0
    for chunk in table.chunks():
        for survey in surveys:
            survey.add(chunk)
        if len(labels) <= MAX_CLASSES:
            labels.update(label_texts(chunk, choice.target))
        kind = chunk.kinds.get(choice.target)
        n_rows += chunk.n_rows
    if n_rows == 0:
        raise TableError(f"{table.name} has no rows below its header.")
    target = target_of(choice.target, labels, kind)
    columns = tuple(survey.column(choice.most_categories) for survey in surveys)
    return Schema(TableEncoder(columns), target, n_rows)


def read_rows(table: Table, plan: Schema) -> tuple[FloatArray, NDArray[np.intp]]:
    """All rows encoded, (rows, encoded columns) with NaN for missing numbers, and the codes of their classes."""
    # One array of its final size: a list of parts, joined at the end, would need twice the room.
    rows = np.empty((plan.n_rows, plan.encoder.n_encoded))
    codes = np.empty(plan.n_rows, dtype=np.intp)
    first = 0
    for chunk in table.chunks():
        stop = first + chunk.n_rows
        if stop > plan.n_rows:
            break
        plan.encoder.write(chunk, rows[first:stop])
        codes[first:stop] = plan.target.codes(chunk)
        first = stop
    else:
        if first == plan.n_rows:
            return rows, codes
    raise TableError(f"{table.name} changed while it was read: it had {plan.n_rows} rows at first.")


def read_labeled(
    table: Table, encoder: TableEncoder, target: Target, watch: Callable[[Chunk, FloatArray], None] | None = None
) -> tuple[FloatArray, NDArray[np.intp]]:
    """All rows of another table, encoded without a missing value, and the codes of their classes.

    `watch` is shown every chunk and its encoded rows.
    """
    parts = []
    for chunk in table.chunks():
        parts.append((encoder.encode(chunk), target.codes(chunk)))
        if watch is not None:
            watch(chunk, parts[-1][0])
    if not parts:
        raise TableError(f"{table.name} has no rows below its header.")
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def split_names(text: str | None) -> tuple[str, ...]:
    """Names of columns, given as one text with commas; a name with a comma in it has double quotes around it."""
    cells = next(csv.reader([text], skipinitialspace=True, strict=True), []) if text else []
    return tuple(cell.strip() for cell in cells if cell.strip())
