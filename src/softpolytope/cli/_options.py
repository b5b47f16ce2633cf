"""Files that the options of several commands name."""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import FloatArray
from softpolytope.cli._errors import CommandError
from softpolytope.cli._output import note
from softpolytope.cli._unknown import UnknownCategories
from softpolytope.tabular import Table, TableClassifier, Threshold, listed, load_model, open_table, read_labeled


def opened(path: str, options: argparse.Namespace) -> Table:
    """A table as the options say."""
    return open_table(path, file_format=options.format, delimiter=options.delimiter)


def loaded(path: str) -> TableClassifier:
    """A model file; a plain classifier takes columns of numbers by its feature names."""
    if Path(path).is_dir():
        raise CommandError(f"{path} is a folder. Name a model file that `softpolytope fit` wrote.")
    model = load_model(path)
    return model if isinstance(model, TableClassifier) else TableClassifier.of_classifier(model)


def threshold_of(model: TableClassifier, given: tuple[str | None, float] | None) -> Threshold | None:
    """Return the rule that --threshold asks for; a note says which class it is about if the option does not."""
    if given is None:
        return None
    label, probability = given
    try:
        rule = Threshold.of(tuple(model.classes_.tolist()), probability, label)
    except ValueError as error:
        raise CommandError(f"--threshold: {error}") from error
    if label is None:
        note(f"--threshold {probability:g}: {rule.in_words()}.")
    return rule


def labeled_rows(model: TableClassifier, table: Table, target: str | None) -> tuple[FloatArray, NDArray[np.intp]]:
    """Return the encoded rows of a table and the codes of their classes; notes tell of unknown categories.

    The column with the classes is the one that the model was fitted to unless `target` names another.
    """
    known = model.target_ if target is None else replace(model.target_, name=target)
    if known.name not in table.columns:
        raise CommandError(
            f"{table.name} has no column {known.name!r}, which must hold the classes ({listed(known.classes)}); "
            f"it has {listed(table.columns)}. Name the column that holds them: --target NAME."
        )
    unknown = UnknownCategories(model.encoder_)
    rows, codes = read_labeled(table, model.encoder_, known, unknown.add)
    unknown.tell()
    return rows, codes
