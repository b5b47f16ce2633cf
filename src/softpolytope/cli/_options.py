"""Options that several commands share, and what they mean."""

import argparse
import csv
from pathlib import Path
from typing import Any, get_args

from softpolytope import load_model
from softpolytope.cli._errors import CommandError
from softpolytope.tabular.model import TableClassifier
from softpolytope.tabular.plan import split_names
from softpolytope.tabular.readers import Format, open_table
from softpolytope.tabular.table import Table

LARGEST_SEED = 2**32 - 1


def add_format_options(parser: argparse.ArgumentParser) -> None:
    """How files are read."""
    parser.add_argument("--format", choices=get_args(Format), help="by default what the file's ending says")
    parser.add_argument("--delimiter", type=_character, help="between the cells of a CSV file; found out by default")


def add_names_option(parser: Any, option: str, meaning: str) -> None:
    """An option that names columns; given again, it names more."""
    parser.add_argument(option, type=names, action="extend", default=[], metavar="A,B", help=meaning)


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Output for machines."""
    parser.add_argument("--json", action="store_true", help="print JSON, for other programs")


def examples(*lines: str) -> dict[str, Any]:
    """The end of a help page."""
    text = "examples:\n" + "\n".join(f"  {line}" for line in lines)
    return {"epilog": text, "formatter_class": argparse.RawDescriptionHelpFormatter}


def opened(path: str, options: argparse.Namespace) -> Table:
    """A table as the options say."""
    return open_table(path, file_format=options.format, delimiter=options.delimiter)


def loaded(path: str) -> TableClassifier:
    """A model file; a plain classifier takes columns of numbers by its feature names."""
    if Path(path).is_dir():
        raise CommandError(f"{path} is a folder. Name a model file that `softpolytope fit` wrote.")
    model = load_model(path)
    return model if isinstance(model, TableClassifier) else TableClassifier.of_classifier(model)


def names(text: str) -> tuple[str, ...]:
    """Columns, given with commas between them."""
    try:
        found = split_names(text)
    except csv.Error as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no list of names ({error}). A name with a comma in it needs double quotes around it, and "
            "those single ones: '\"Name, full\"'"
        ) from None
    if not found:
        raise argparse.ArgumentTypeError("names of columns with commas between them are needed")
    return found


def row_numbers(text: str) -> list[int]:
    """Numbers of rows, from 0, given with commas between them."""
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = [-1]
    if min(found) < 0:
        raise argparse.ArgumentTypeError(f"row numbers from 0 with commas between them are needed; got {text!r}")
    return found


def _character(text: str) -> str:
    given = {"\\t": "\t", "tab": "\t"}.get(text, text)
    if len(given) != 1 or given in '"\r\n \x00':
        raise argparse.ArgumentTypeError(f"one character, or tab, is needed; got {text!r}")
    return given


def whole(least: int, most: int = LARGEST_SEED) -> Any:
    """A type of whole numbers from `least` to `most`."""

    def number(text: str) -> int:
        try:
            found = int(text)
        except ValueError:
            found = least - 1
        if not least <= found <= most:
            raise argparse.ArgumentTypeError(f"a whole number from {least} to {most} is needed; got {text!r}")
        return found

    return number
