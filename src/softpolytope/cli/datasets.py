"""`softpolytope datasets`: data to try."""

import argparse
import csv
import inspect
from typing import Any

import numpy as np

from softpolytope.cli._errors import FINE, NEGATIVE, CommandError
from softpolytope.cli._output import note, print_json, text_output
from softpolytope.datasets import (
    BENCHMARK_SETS,
    benchmark_path,
    load_benchmark,
    make_circle,
    make_double_moon,
    make_waveform,
    make_xor,
)
from softpolytope.exceptions import ContentError

GENERATORS: dict[str, Any] = {
    "circle": make_circle,
    "xor": make_xor,
    "double_moon": make_double_moon,
    "synthetic_waveform": make_waveform,
}


def run(options: argparse.Namespace) -> int:
    """List, find or make data."""
    runs = {"list": run_list, "path": run_path, "make": run_make}
    return runs[options.action](options)


def run_list(options: argparse.Namespace) -> int:
    """List the data sets."""
    about = {name: (inspect.getdoc(make) or "").splitlines()[0] for name, make in GENERATORS.items()}
    if options.json:
        print_json({"generators": about, "benchmarks": BENCHMARK_SETS})
        return FINE
    print("generators (softpolytope datasets make NAME):")
    print(*(f"  {name:20s}{text}" for name, text in about.items()), sep="\n")
    print("benchmark sets (softpolytope datasets path NAME):")
    print(f"  {', '.join(BENCHMARK_SETS)}")
    return FINE


def run_path(options: argparse.Namespace) -> int:
    """Print the path of a data set."""
    try:
        print(benchmark_path(options.name, options.data_home))
    except FileNotFoundError as error:
        note(str(error))
        return NEGATIVE
    except ContentError as error:
        raise CommandError(str(error)) from error
    return FINE


def run_make(options: argparse.Namespace) -> int:
    """Write rows and labels."""
    X, y = _rows(options)
    rows = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
    source = None if options.name in GENERATORS else benchmark_path(options.name, options.data_home)
    with text_output(options.output, source) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*(f"x{number}" for number in range(rows.shape[1])), "y"])
        writer.writerows([*row, label] for row, label in zip(rows.tolist(), y.tolist(), strict=True))
    return FINE


def _rows(options: argparse.Namespace) -> tuple[Any, Any]:
    if options.name in GENERATORS:
        for option in ("partition", "part"):
            if getattr(options, option) is not None:
                raise CommandError(
                    f"--{option} is for benchmark sets; {options.name} is made anew. Leave it out; "
                    "other rows of the same kind come with another --seed."
                )
        given = {} if options.samples is None else {"n_samples": options.samples}
        X, y = GENERATORS[options.name](**given, random_state=options.seed or 0)
        return X, y
    for option in ("samples", "seed"):
        if getattr(options, option) is not None:
            raise CommandError(f"--{option} is for generators; {options.name} has the rows it has. Leave it out.")
    try:
        split = load_benchmark(options.name, options.partition or 0, options.data_home)
    except (FileNotFoundError, ValueError) as error:
        raise CommandError(str(error)) from error
    return (split.X_test, split.y_test) if options.part == "test" else (split.X_train, split.y_train)
