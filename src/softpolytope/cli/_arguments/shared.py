"""Options that several commands share, and the types of their values."""

import argparse
import csv
from typing import Any

MAX_SEED = 2**32 - 1
# As `softpolytope.tabular.open_table` knows them, and the environment variable of `softpolytope.datasets`.
FORMATS = ("csv", "parquet", "svmlight")
DATA_VARIABLE = "SOFTPOLYTOPE_DATA"
BALANCED = "balanced"


def add_format_options(parser: argparse.ArgumentParser) -> None:
    """Add the options on reading files."""
    parser.add_argument("--format", choices=FORMATS, help="by default what the file's ending says")
    parser.add_argument("--delimiter", type=_character, help="between the cells of a CSV file; found out by default")


def add_names_option(parser: Any, option: str, meaning: str) -> None:
    """Add an option that names columns; given again, it names more."""
    parser.add_argument(option, type=names, action="extend", default=[], metavar="A,B", help=meaning)


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for output that programs read."""
    parser.add_argument("--json", action="store_true", help="print JSON, for other programs")


def examples(*lines: str) -> dict[str, Any]:
    """The end of a help page."""
    text = "examples:\n" + "\n".join(f"  {line}" for line in lines)
    return {"epilog": text, "formatter_class": argparse.RawDescriptionHelpFormatter}


def names(text: str) -> tuple[str, ...]:
    """Columns, given with commas between them."""
    # Only here: `--help` needs no tables.
    from softpolytope.tabular import split_names  # noqa: PLC0415

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


def add_class_weight_option(parser: Any) -> None:
    """Add the option for weights of rows by their class."""
    parser.add_argument(
        "--class-weight",
        type=_class_weights,
        action="extend",
        metavar="CLASS=W,...",
        help="weights of the rows of each class (1), or balanced: inversely to the number of its rows",
    )


def _class_weights(text: str) -> list[tuple[str, float | None]]:
    """Classes with their weights; no weight for "balanced"."""
    if text == BALANCED:
        return [(BALANCED, None)]
    found: list[tuple[str, float | None]] = []
    for pair in names(text) if text.strip(" ,") else ("",):
        label, _, number = pair.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            weight = -1.0
        if not label or not 0.0 < weight < float("inf"):
            raise argparse.ArgumentTypeError(
                f"{BALANCED}, or classes with positive weights such as yes=3,no=1, are needed; got {text!r}"
            )
        found.append((label, weight))
    return found


def add_threshold_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for the decision rule of models of two classes."""
    parser.add_argument(
        "--threshold",
        type=_threshold,
        metavar="CLASS=P",
        help="of two classes, decide for CLASS where its probability is above P; a P alone is about the second",
    )


def _threshold(text: str) -> tuple[str | None, float]:
    label, sign, number = text.rpartition("=")
    try:
        probability = float(number)
    except ValueError:
        probability = -1.0
    if not 0.0 <= probability <= 1.0 or bool(label) != bool(sign):
        raise argparse.ArgumentTypeError(f"a probability from 0 to 1, or CLASS=probability, is needed; got {text!r}")
    return label or None, probability


def whole(least: int, most: int = MAX_SEED) -> Any:
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
