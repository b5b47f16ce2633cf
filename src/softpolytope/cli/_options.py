"""Files that the options of several commands name."""

import argparse
from pathlib import Path

from softpolytope.cli._errors import CommandError
from softpolytope.tabular.model import TableClassifier, load_model
from softpolytope.tabular.readers import open_table
from softpolytope.tabular.table import Table


def opened(path: str, options: argparse.Namespace) -> Table:
    """A table as the options say."""
    return open_table(path, file_format=options.format, delimiter=options.delimiter)


def loaded(path: str) -> TableClassifier:
    """A model file; a plain classifier takes columns of numbers by its feature names."""
    if Path(path).is_dir():
        raise CommandError(f"{path} is a folder. Name a model file that `softpolytope fit` wrote.")
    model = load_model(path)
    return model if isinstance(model, TableClassifier) else TableClassifier.of_classifier(model)
