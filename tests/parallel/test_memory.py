"""Memory limits."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from softpolytope.parallel._memory import allowance, parse_bytes

MEMORY = """
import sys
from pathlib import Path
import numpy as np
from softpolytope import SumStackSoftplusClassifier
from softpolytope.parallel._memory import resident_bytes
X, y = (np.load(f"{sys.argv[1]}/{name}.npy", mmap_mode="r") for name in "Xy")
model = SumStackSoftplusClassifier(max_experts=4, n_layers=2, symmetric=False, random_state=0, n_jobs=2,
    inference="gibbs", scan=sys.argv[2], start="random", n_sweeps=2, n_chains=1)
limit = resident_bytes() + float(sys.argv[3])  # what the interpreter and its libraries take differs between machines
model.fit(X, y, max_memory=limit)
lines = Path("/proc/self/status").read_text().splitlines()  # what getrusage says includes the parent's peak
print(1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / limit)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell a process's peak")
@pytest.mark.parametrize("scan", ["collapsed", "paper"])
def test_memory_stays_within_its_limit(scan, tmp_path, rng):
    """The measured peak is at most 1.1 times the limit, which rows and state exceed by far."""
    n_rows, room = 600_000, 210e6
    X = rng.standard_normal((n_rows, 40))
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", X[:, 0] > X[:, 1] ** 2)
    state = n_rows * 4 * 8 * 7
    assert X.nbytes + state > 1.5 * room
    command = [sys.executable, "-c", MEMORY, str(tmp_path), scan, str(room)]
    run = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) <= 1.1


def test_sizes_and_shares():
    """Texts are parsed to bytes, memory is divided, and too little memory raises an error."""
    assert parse_bytes("3 MiB") == 3 * 2**20
    with pytest.raises(ValueError, match="max_memory"):
        parse_bytes("-3GB")
    shared = allowance(8 * 10**9, 10**8, 4)
    assert shared.n_in_flight == 4
    with pytest.raises(ValueError, match="smaller partitions"):
        allowance(10**9, 10**9, 4)
