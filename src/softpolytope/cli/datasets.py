"""`softpolytope datasets`: data to try."""

import argparse
import csv
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softpolytope.cli._errors import NEGATIVE, SUCCESS, CommandError
from softpolytope.cli._options import Commands, add_data_home_option, add_json_option, examples, integer
from softpolytope.cli._output import print_note, text_output, to_json

if TYPE_CHECKING:
    from scipy import sparse

    from softpolytope._typing import CountArray, FloatArray


def add_parser(commands: Commands) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "datasets",
        help="data to try: generators and benchmark sets",
        description="List the data sets, locate a benchmark set (downloading it once if necessary), or write a data "
        "set as a CSV file for `softpolytope fit`. The exit code of `path` is 1 if the set cannot be found.",
        **examples(
            "softpolytope datasets list",
            "softpolytope datasets make circle -o circle.csv",
            "softpolytope datasets make banana --part test -o test.csv",
            "softpolytope datasets path banana",
        ),
    )
    parser.set_defaults(rooms=("datasets",))
    actions = parser.add_subparsers(dest="action", metavar="action", required=True)
    _add_list(actions)
    _add_path(actions)
    _add_make(actions)


def _add_list(actions: Commands) -> None:
    parser = actions.add_parser("list", help="list all data sets")
    parser.set_defaults(run=run_list)
    add_json_option(parser)


def _add_path(actions: Commands) -> None:
    parser = actions.add_parser(
        "path", help="print the path of a benchmark set", **examples("softpolytope datasets path banana")
    )
    parser.set_defaults(run=run_path)
    parser.add_argument("name", type=_benchmark_name, metavar="NAME", help="one of the benchmark sets")
    add_data_home_option(parser)


def _add_make(actions: Commands) -> None:
    example = "softpolytope datasets make xor --samples 500 -o xor.csv"
    parser = actions.add_parser("make", help="write a data set as CSV", **examples(example))
    parser.set_defaults(run=run_make)
    parser.add_argument("name", type=_data_set_name, metavar="NAME", help="name shown by `list`")
    parser.add_argument("-o", "--output", type=Path, help="CSV file to write; by default standard output")
    parser.add_argument("--samples", type=integer(2), metavar="N", help="number of rows (generators only)")
    parser.add_argument("--seed", type=integer(0), help="random seed, by default 0 (generators only)")
    parser.add_argument("--partition", type=integer(0), metavar="K", help="partition, from 0 (benchmark sets only)")
    parser.add_argument("--part", choices=("train", "test"), help="by default train (benchmark sets only)")
    add_data_home_option(parser)


def _generators() -> "dict[str, Callable[..., tuple[FloatArray, CountArray]]]":
    from softpolytope.datasets import make_circle, make_double_moon, make_waveform, make_xor

    return {
        "circle": make_circle,
        "xor": make_xor,
        "double_moon": make_double_moon,
        "synthetic_waveform": make_waveform,
    }


def _benchmark_name(text: str) -> str:
    from softpolytope.datasets import BENCHMARK_SETS

    return _validate_name(text, BENCHMARK_SETS)


def _data_set_name(text: str) -> str:
    from softpolytope.datasets import BENCHMARK_SETS

    return _validate_name(text, (*_generators(), *BENCHMARK_SETS))


def _validate_name(text: str, known: tuple[str, ...]) -> str:
    if text not in known:
        raise argparse.ArgumentTypeError(f"there is no data set {text!r}; choose from {', '.join(known)}")
    return text


def run_list(options: argparse.Namespace) -> int:
    """List the data sets."""
    from softpolytope.datasets import BENCHMARK_SETS

    about = {name: (inspect.getdoc(make) or "").splitlines()[0] for name, make in _generators().items()}
    if options.json:
        print(to_json({"generators": about, "benchmarks": BENCHMARK_SETS}))
        return SUCCESS
    print("generators (softpolytope datasets make NAME):")
    print(*(f"  {name:20s}{text}" for name, text in about.items()), sep="\n")
    print("benchmark sets (softpolytope datasets path NAME):")
    print(f"  {', '.join(BENCHMARK_SETS)}")
    return SUCCESS


def run_path(options: argparse.Namespace) -> int:
    """Print the path of a benchmark set."""
    from softpolytope.datasets import benchmark_path

    try:
        print(benchmark_path(options.name, options.data_home))
    except FileNotFoundError as error:
        print_note(str(error))
        return NEGATIVE
    return SUCCESS


def run_make(options: argparse.Namespace) -> int:
    """Write rows and labels as CSV."""
    from softpolytope.datasets import benchmark_path

    is_benchmark = options.name not in _generators()
    X, y = _load_benchmark(options) if is_benchmark else _generate(options)
    rows: Any = X if not hasattr(X, "toarray") else X.toarray()  # dense or sparse
    source = benchmark_path(options.name, options.data_home) if is_benchmark else None
    with text_output(options.output, source) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*(f"x{number}" for number in range(rows.shape[1])), "y"])
        writer.writerows([*row, label] for row, label in zip(rows.tolist(), y.tolist(), strict=True))
    return SUCCESS


def _generate(options: argparse.Namespace) -> "tuple[FloatArray, CountArray]":
    for option in ("partition", "part"):
        if getattr(options, option) is not None:
            raise CommandError(
                f"--{option} is for benchmark sets, but {options.name} is generated. Leave it out; another --seed "
                "gives other rows of the same kind."
            )
    given = {} if options.samples is None else {"n_samples": options.samples}
    return _generators()[options.name](**given, random_state=options.seed or 0)


def _load_benchmark(options: argparse.Namespace) -> "tuple[FloatArray | sparse.csr_array, CountArray]":
    from softpolytope.datasets import load_benchmark

    for option in ("samples", "seed"):
        if getattr(options, option) is not None:
            raise CommandError(f"--{option} is for generators, but the rows of {options.name} are fixed. Leave it out.")
    try:
        split = load_benchmark(options.name, options.partition or 0, options.data_home)
    except (FileNotFoundError, ValueError) as error:
        raise CommandError(str(error)) from error
    return (split.X_test, split.y_test) if options.part == "test" else (split.X_train, split.y_train)
