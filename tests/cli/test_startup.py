"""The command starts without what it does not need, and tells wrong use in the words of the command it was given."""

from typing import get_args

import pytest
from commands import softpolytope

from softpolytope.cli._options import DATA_VARIABLE, FORMATS
from softpolytope.datasets._benchmark import VARIABLE
from softpolytope.tabular import Format

COMMANDS = ("demo", "fit", "predict", "evaluate", "explain", "export", "report", "datasets", "figures", "tables")
HEAVY = {"numpy", "scipy", "sklearn", "joblib", "matplotlib", "pandas", "jinja2"}


def imported(folder, *arguments):
    """Top-level names of the modules that the command imports; its exit code."""
    run = softpolytope(*arguments, folder=folder, python=("-X", "importtime"))
    names = [line.rpartition("|")[2].strip() for line in run.stderr.splitlines() if line.startswith("import time:")]
    assert "softpolytope.cli" in names
    return {name.split(".")[0] for name in names}, run.returncode


@pytest.mark.parametrize(
    "arguments",
    [("--version",), ("--help",), *((command, "--help") for command in COMMANDS), ("datasets", "make", "--help")],
)
def test_help_and_version_import_nothing_heavy(tmp_path, arguments):
    """Neither NumPy nor what takes seconds to import."""
    names, code = imported(tmp_path, *arguments)
    assert code == 0
    assert HEAVY.isdisjoint(names)


def test_other_commands_are_seen_to_import_it(tmp_path):
    """The check above would see it: a command that makes rows needs all of these."""
    names, code = imported(tmp_path, "datasets", "make", "xor", "--samples", "4")
    assert code == 0
    assert {"numpy", "scipy", "sklearn"} <= names


def test_what_is_written_twice_is_the_same():
    """Choices that help shows without importing the modules that they belong to."""
    assert get_args(Format) == FORMATS
    assert VARIABLE == DATA_VARIABLE


@pytest.mark.parametrize(
    "arguments",
    [
        ("fit", "t.csv", "-o", "m", "--bogus"),
        ("predict", "m", "t.csv", "--proba", "--treshold", "0.3"),
        ("evaluate", "m", "t.csv", "--bogus"),
        ("explain", "m", "--bogus", "3"),
        ("export", "m", "--to", "sql", "--dialect", "duckdb"),
        ("report", "m", "--data", "t.csv", "-o", "r", "--bogus"),
        pytest.param(("datasets", "make", "xor", "--bogus"), marks=pytest.mark.slow),
        ("datasets", "list", "extra"),
        ("figures", "--out", "f", "--bogus"),
        pytest.param(("tables", "--bogus"), marks=pytest.mark.slow),
        ("demo", "extra"),
    ],
)
def test_unknown_arguments_show_the_usage_of_their_command(tmp_path, arguments):
    """Not that of the whole, which does not name the option that was meant; nothing is done."""
    run = softpolytope(*arguments, folder=tmp_path)
    command = " ".join(arguments[: 2 if arguments[0] == "datasets" else 1])
    assert run.returncode == 2
    assert run.stderr.startswith(f"usage: softpolytope {command} [-h]")
    assert f"softpolytope {command}: error: unrecognized arguments: " in run.stderr
    assert run.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_unknown_arguments_before_the_command(tmp_path):
    """Those of the whole, as before."""
    run = softpolytope("--bogus", "demo", folder=tmp_path)
    assert run.returncode == 2
    assert run.stderr.startswith("usage: softpolytope [-h] [--version] command ...")
    assert list(tmp_path.iterdir()) == []
