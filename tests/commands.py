"""The installed command, run as a user runs it: in a process of its own."""

import subprocess
import sys

COMMAND = [sys.executable, "-m", "softpolytope"]


def softpolytope(*arguments, folder=None, python=(), **more):
    """Run the command to its end in a folder; returns the process with its output as text."""
    command = [sys.executable, *python, "-m", "softpolytope", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, **more)  # noqa: S603
