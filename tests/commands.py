"""The command, run as a user runs it: in a process of its own, in a folder of the user's."""

import os
import subprocess
import sys
from pathlib import Path

# A path of packages that is relative must still lead to them from another folder.
GIVEN = os.environ.get("PYTHONPATH", "").split(os.pathsep)
PATHS = os.pathsep.join(str(Path(path).absolute()) for path in GIVEN if path)
# As of a user who has set nothing: Python collects what it writes to a pipe.
ENVIRONMENT = {**os.environ, "PYTHONPATH": PATHS, "PYTHONUNBUFFERED": ""}


def command_line(*arguments, python=()):
    """Words of the command; `python` is for options of the interpreter."""
    return [sys.executable, *python, "-m", "softpolytope", *map(str, arguments)]


def softpolytope(*arguments, folder, python=()):
    """Run the command to its end in a folder; returns the process with its output as text."""
    command = command_line(*arguments, python=python)
    return subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)  # noqa: S603
