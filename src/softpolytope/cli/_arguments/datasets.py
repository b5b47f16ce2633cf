"""Arguments of `softpolytope datasets`."""

import argparse
from pathlib import Path
from typing import Any

from softpolytope.cli._arguments.shared import add_json_option, examples, whole


def add_parser(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "datasets",
        help="data to try: generators and benchmark sets",
        description="Lists the data there are, says where a benchmark set is (and downloads it once if need be), and "
        "writes them as CSV files that `softpolytope fit` takes. The exit code of `path` is 1 if the set is nowhere.",
        **examples(
            "softpolytope datasets list",
            "softpolytope datasets make circle -o circle.csv",
            "softpolytope datasets make banana --part test -o test.csv",
            "softpolytope datasets path banana",
        ),
    )
    actions = parser.add_subparsers(dest="action", metavar="action", required=True)
    lists = actions.add_parser("list", help="what there is")
    add_json_option(lists)
    path = actions.add_parser("path", help="where a benchmark set is", **examples("softpolytope datasets path banana"))
    path.add_argument("name", type=_benchmark, metavar="NAME", help="one of the benchmark sets")
    _add_folder(path)
    make = actions.add_parser(
        "make", help="write a data set as CSV", **examples("softpolytope datasets make xor --samples 500 -o xor.csv")
    )
    make.add_argument("name", type=_data_set, metavar="NAME", help="see `list`")
    make.add_argument("-o", "--output", type=Path, help="file to write; by default to standard output")
    make.add_argument("--samples", type=whole(2), metavar="N", help="rows, of generators")
    make.add_argument("--seed", type=whole(0), help="of generators (0)")
    make.add_argument("--partition", type=whole(0), metavar="K", help="of benchmark sets, from 0")
    make.add_argument("--part", choices=("train", "test"), help="of benchmark sets (train)")
    _add_folder(make)


def _add_folder(parser: Any) -> None:
    parser.add_argument("--data-home", type=Path, help="folder of the benchmark sets; by default SOFTPOLYTOPE_DATA")


def _benchmark(text: str) -> str:
    # Only here: `--help` needs no data.
    from softpolytope.datasets import BENCHMARK_SETS  # noqa: PLC0415

    return _one_of(text, BENCHMARK_SETS)


def _data_set(text: str) -> str:
    from softpolytope.cli.datasets import GENERATORS  # noqa: PLC0415
    from softpolytope.datasets import BENCHMARK_SETS  # noqa: PLC0415

    return _one_of(text, (*GENERATORS, *BENCHMARK_SETS))


def _one_of(text: str, known: tuple[str, ...]) -> str:
    if text not in known:
        raise argparse.ArgumentTypeError(f"there is no data set {text!r}; choose from {', '.join(known)}")
    return text
