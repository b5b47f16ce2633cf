"""`python -m softpolytope`."""

import subprocess
import sys


def test_module_is_the_command():
    """It has the command's name, output and exit code."""
    run = subprocess.run(
        [sys.executable, "-m", "softpolytope", "datasets", "list"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0
    assert "titanic" in run.stdout
    wrong = subprocess.run(
        [sys.executable, "-m", "softpolytope", "nothing"], capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("usage: softpolytope")
