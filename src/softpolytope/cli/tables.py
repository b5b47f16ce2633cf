"""`softpolytope tables`: every table of the paper, computed anew."""

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

# Where the build puts the repository's folder `benchmarks`; its packages are no part of the library.
CODE = Path(__file__).parents[1] / "_benchmarks"


def run(options: argparse.Namespace) -> int:
    """Hand over to the code in `benchmarks`."""
    if str(CODE) not in sys.path:
        sys.path.insert(0, str(CODE))
    command: Any = import_module("reproduction.command")
    return int(command.run(options))
