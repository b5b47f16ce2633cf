"""Measure the cost of a draw as a multiple of NumPy's standard_gamma on the same arrays in the same run.

python benchmarks/laws.py    prints the tables of docs/laws.md; ten seconds
"""

import subprocess
import sys
import timeit

import numpy as np

from softpolytope.distributions import Streams, crt, polya_gamma, sum_log, truncated_poisson

N_DRAWS = 1_000_000
NAME = {"labeling": 0, "chain": 0, "sweep": 0, "step": 0, "block": 0}


def seconds(function, repeat=7):
    """Return the shortest time of a call, the least disturbed by other processes."""
    return min(timeit.repeat(function, number=1, repeat=repeat))


def vector_draws():
    """Time Polya-Gamma draws on typical arrays, and by shape."""
    rng = np.random.Generator(np.random.Philox(1))
    shape = rng.standard_gamma(0.5, N_DRAWS)
    tilt = rng.normal(0.0, 3.0, N_DRAWS)
    gamma = seconds(lambda: rng.standard_gamma(shape))
    print(f"standard_gamma(shape), shape ~ Gamma(0.5): {gamma / N_DRAWS * 1e9:.0f} ns a draw; it is the unit below\n")
    print("| polya_gamma(shape, tilt), tilt ~ N(0, 9) | standard_gamma draws |")
    print("| --- | --- |")
    rows = [
        ("default (exact)", shape, None),
        ("the paper's six terms", shape, 6),
        ("shape 1e-30 (negligible)", np.full(N_DRAWS, 1e-30), None),
        ("shape 1e-12", np.full(N_DRAWS, 1e-12), None),
        ("shape 0.1", np.full(N_DRAWS, 0.1), None),
        ("shape 1", np.full(N_DRAWS, 1.0), None),
        ("shape 3", np.full(N_DRAWS, 3.0), None),
        ("shape 100", np.full(N_DRAWS, 100.0), None),
    ]
    for label, shapes, terms in rows:
        cost = seconds(lambda s=shapes, t=terms: polya_gamma(s, tilt, rng, terms=t), repeat=3)
        print(f"| {label} | {cost / gamma:.2f} |")


def single_draws():
    """Time laws whose naive cost grows with their argument: microseconds of one draw, call included."""
    rng = np.random.Generator(np.random.Philox(2))
    print("\n| one draw | microseconds |")
    print("| --- | --- |")
    calls = {
        "crt(10**9, 1.0)": lambda: crt(10**9, 1.0, rng),
        "crt(10**9, 1e4)": lambda: crt(10**9, 1e4, rng),
        "crt(9 * 10**18, 1e3)": lambda: crt(9 * 10**18, 1e3, rng),
        "sum_log(10**9, 1 - 1e-9)": lambda: sum_log(10**9, 1 - 1e-9, rng),
        "sum_log(10**9, 1e-9)": lambda: sum_log(10**9, 1e-9, rng),
        "truncated_poisson(1e-300)": lambda: truncated_poisson(1e-300, rng),
        "truncated_poisson(1e15)": lambda: truncated_poisson(1e15, rng),
    }
    for label, call in calls.items():
        print(f"| {label} | {np.median(timeit.repeat(call, number=1, repeat=200)) * 1e6:.0f} |")


def streams():
    """Time opening a stream, compared with NumPy's constructor."""
    named = Streams(0)
    opening = min(timeit.repeat(lambda: named.generator(**NAME), number=20_000, repeat=3)) / 20_000
    constructing = min(timeit.repeat(lambda: np.random.Philox(key=1), number=2_000, repeat=3)) / 2_000
    print(f"\nopening a stream: {opening * 1e6:.1f} us; constructing a Philox: {constructing * 1e6:.1f} us")


def import_time():
    """Return the seconds that importing the package adds to importing scikit-learn, in fresh processes."""
    code = (
        "import time; import sklearn; start = time.perf_counter(); import softpolytope, softpolytope.distributions, "
        "softpolytope.model._log_posterior; print(time.perf_counter() - start)"
    )
    times = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)  # noqa: S603
        for _ in range(5)
    ]
    print(f"import after scikit-learn: {min(times):.3f} s")


if __name__ == "__main__":
    vector_draws()
    single_draws()
    streams()
    import_time()
