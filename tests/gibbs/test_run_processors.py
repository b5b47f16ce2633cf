"""The paper's scan gives the same bits on processors of different kinds."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import hashlib
import numpy as np
from softpolytope.gibbs._run import run_chains
from softpolytope.data._dataset import InMemoryDataset
from softpolytope.paper import paper_settings

rng = np.random.default_rng(0)
X = np.hstack([np.ones((300, 1)), rng.normal(size=(300, 9))])
rows = InMemoryDataset.from_arrays(X, (X[:, 1] * X[:, 2] > 0) ^ (rng.random(300) < 0.1))
result = run_chains(rows, paper_settings(3, 6, 120, 4), seed=0, labelings=(0, 1))
draws = [draw.coefficients for chains in result.traces for draw in chains[0].draws]
for numbers in (draws, [np.linalg.inv(X.T @ X) @ X.T], [np.exp(X), np.log1p(X**2)]):
    print(hashlib.sha256(b"".join(np.ascontiguousarray(item).tobytes() for item in numbers)).hexdigest())
"""


def hashes(**variables):
    """Of the draws of two chains, of what linear algebra makes of the same rows, and of what NumPy does."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", **variables}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    return done.stdout.split()


@pytest.mark.slow
def test_chains_do_not_depend_on_the_processor():
    """With kernels of an old processor in BLAS and NumPy, which change their results, draws are what they are."""
    here = hashes()
    # Features have had other names before NumPy 2.4; unknown ones are passed over.
    features = "X86_V3 X86_V4 AVX512_ICL AVX512_SPR FMA3 AVX2 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL"
    old = hashes(OPENBLAS_CORETYPE="Nehalem", NPY_DISABLE_CPU_FEATURES=features)
    assert here[0] == old[0]
    for library, one, other in zip(("BLAS", "NumPy"), here[1:], old[1:], strict=True):
        if one == other:
            pytest.skip(f"{library} cannot be made to compute otherwise here")
