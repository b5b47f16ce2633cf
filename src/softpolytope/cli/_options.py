"""Arguments that several commands share: options, types of their values, and the files that they name."""

import argparse
import csv
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from softpolytope.cli._errors import CommandError
from softpolytope.cli._output import print_note

if TYPE_CHECKING:
    from softpolytope._typing import FloatArray, IndexArray
    from softpolytope.estimators import SoftplusBase
    from softpolytope.tabular import Table, TableClassifier, Threshold, UnknownCategories

# The result of add_subparsers, and a parser or a group of arguments.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
Arguments: TypeAlias = "argparse._ActionsContainer"
Value = TypeVar("Value")

MAX_SEED = 2**32 - 1
# Also in `softpolytope.tabular` and `softpolytope.datasets`, which take long to import.
FORMATS = ("csv", "parquet", "svmlight")
DATA_VARIABLE = "SOFTPOLYTOPE_DATA"
MODEL_HELP = "model file written by `softpolytope fit`"
TABLE_HELP = "a .csv, .parquet or .svm file with the columns of the model"
TARGET_HELP = "column with the classes; by default the one that the model was fitted to"


def examples(*lines: str) -> dict[str, Any]:
    """Return the arguments of a parser whose help ends with examples."""
    text = "examples:\n" + "\n".join(f"  {line}" for line in lines)
    return {"epilog": text, "formatter_class": argparse.RawDescriptionHelpFormatter}


def add_format_options(parser: Arguments) -> None:
    """Add the options for reading files."""
    parser.add_argument("--format", choices=FORMATS, help="format of the table; by default inferred from its suffix")
    parser.add_argument("--delimiter", type=_character, help="separator of CSV cells; detected by default")


def add_columns_option(parser: Arguments, option: str, meaning: str) -> None:
    """Add an option that names columns; given again, it adds columns."""
    parser.add_argument(option, type=column_names, action="extend", default=[], metavar="A,B", help=meaning)


def add_json_option(parser: Arguments) -> None:
    """Add the option for output that programs read."""
    parser.add_argument("--json", action="store_true", help="print JSON, for other programs")


def add_threshold_option(parser: Arguments) -> None:
    """Add the option for the decision rule of models of two classes."""
    parser.add_argument(
        "--threshold",
        type=_threshold,
        metavar="CLASS=P",
        help="with two classes, predict CLASS where its probability is above P; P alone refers to the second class",
    )


def add_data_home_option(parser: Arguments) -> None:
    """Add the option for the folder of the benchmark sets."""
    parser.add_argument(
        "--data-home", type=Path, help=f"folder of the benchmark sets; by default ${DATA_VARIABLE}, else downloaded"
    )


def column_names(text: str) -> tuple[str, ...]:
    """Return names separated by commas; a name that contains a comma has double quotes around it."""
    try:
        cells = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list of names ({error}). A name with a comma in it needs double quotes around it, and "
            "those single ones: '\"Name, full\"'"
        ) from None
    names = tuple(cell.strip() for cell in cells if cell.strip())
    if not names:
        raise argparse.ArgumentTypeError("expected names of columns, separated by commas")
    return names


def parsed(convert: Callable[[str], Value], is_valid: Callable[[Value], bool], expected: str) -> Callable[[str], Value]:
    """Return a type of values that `convert` reads and `is_valid` accepts; `expected` names them in the error."""

    def parse(text: str) -> Value:
        with suppress(ValueError):
            if is_valid(found := convert(text)):
                return found
        raise argparse.ArgumentTypeError(f"expected {expected}; got {text!r}")

    return parse


def integer(least: int, most: int = MAX_SEED) -> Callable[[str], int]:
    """Return a type of integers from `least` to `most`."""
    return parsed(int, lambda found: least <= found <= most, f"an integer from {least} to {most}")


def _character(text: str) -> str:
    given = {"\\t": "\t", "tab": "\t"}.get(text, text)
    if len(given) != 1 or given in '"\r\n \x00':
        raise argparse.ArgumentTypeError(f"expected one character, or tab; got {text!r}")
    return given


def _threshold(text: str) -> tuple[str | None, float]:
    label, sign, number = text.rpartition("=")
    try:
        probability = float(number)
    except ValueError:
        probability = -1.0
    if not 0.0 <= probability <= 1.0 or bool(label) != bool(sign):
        raise argparse.ArgumentTypeError(f"expected a probability from 0 to 1, or CLASS=probability; got {text!r}")
    return label or None, probability


def open_input(path: str, options: argparse.Namespace) -> "Table":
    """Return a table, read as the options say."""
    from softpolytope.tabular import open_table

    return open_table(path, file_format=options.format, delimiter=options.delimiter)


def load_table_model(path: str) -> "TableClassifier":
    """Read a model file; a plain classifier gets numeric columns with its feature names."""
    from softpolytope.tabular import TableClassifier, load_model

    if Path(path).is_dir():
        raise CommandError(f"{path} is a folder. Name a model file that `softpolytope fit` wrote.")
    model = load_model(path)
    return model if isinstance(model, TableClassifier) else TableClassifier.from_classifier(model)


def make_threshold(model: "TableClassifier", given: tuple[str | None, float] | None) -> "Threshold | None":
    """Return the rule of --threshold; a note names its class if the option does not."""
    from softpolytope.tabular import Threshold

    if given is None:
        return None
    label, probability = given
    try:
        rule = Threshold.between(tuple(model.classes_.tolist()), probability, label)
    except ValueError as error:
        raise CommandError(f"--threshold: {error}") from error
    if label is None:
        print_note(f"--threshold {probability:g}: {rule.in_words()}.")
    return rule


def read_labeled_rows(model: "TableClassifier", table: "Table", target: str | None) -> "tuple[FloatArray, IndexArray]":
    """Return the encoded rows of a table and the codes of their classes; notes count unknown categories.

    The classes are in the column that the model was fitted to unless `target` names another.
    """
    from dataclasses import replace

    from softpolytope.tabular import UnknownCategories, join_names, read_labeled

    known = model.target_ if target is None else replace(model.target_, name=target)
    if known.name not in table.columns:
        raise CommandError(
            f"{table.name} has no column {known.name!r}, which must hold the classes ({join_names(known.classes)}); "
            f"it has {join_names(table.columns)}. Name the column that holds them: --target NAME."
        )
    unknown = UnknownCategories(model.encoder_)
    rows, codes = read_labeled(table, model.encoder_, known, unknown.add)
    print_unknown(unknown)
    return rows, codes


def print_unknown(unknown: "UnknownCategories") -> None:
    """Print notes on categories that training did not have."""
    for message in (*unknown.counts, *unknown.warnings):
        print_note(message)


def count_training_rows(classifier: "SoftplusBase", rows: "FloatArray") -> int | None:
    """Return how many rows a classifier was trained on, None if unknown; a note says what this means for scores."""
    from softpolytope.inspection import overlap_with_training

    overlap = overlap_with_training(classifier, rows)
    if overlap is None:
        return None
    if overlap.has_training_rows:
        print_note(overlap.in_words())
    return overlap.n_known
