"""Run scikit-learn's estimator checks on all classifiers with their defaults; exit with 1 if one fails.

python benchmarks/estimator_checks.py
"""

import sys
import time
import warnings

import sklearn
from sklearn.utils.estimator_checks import check_estimator

import softpolytope

CLASSIFIERS = (
    softpolytope.SoftplusClassifier,
    softpolytope.SumSoftplusClassifier,
    softpolytope.StackSoftplusClassifier,
    softpolytope.SumStackSoftplusClassifier,
    softpolytope.TableClassifier,
)


def main():
    """Run all checks of all classifiers."""
    warnings.simplefilter("ignore")
    n_failed = 0
    for classifier in CLASSIFIERS:
        start = time.perf_counter()
        results = check_estimator(classifier(), on_fail=None)
        failed = [result for result in results if result["status"] not in ("passed", "skipped")]
        skipped = [result["check_name"] for result in results if result["status"] == "skipped"]
        n_failed += len(failed)
        print(
            f"scikit-learn {sklearn.__version__}, {classifier.__name__}: {len(results)} checks, {len(failed)} failed, "
            f"skipped {skipped}, {time.perf_counter() - start:.0f} s",
            flush=True,
        )
        for result in failed:
            print("   ", result["check_name"], repr(result["exception"])[:300])
    sys.exit(n_failed > 0)


if __name__ == "__main__":
    main()
