"""The package as a whole."""

import doctest
import importlib
import pickle
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import softpolytope

# Those whose examples fit several models, or wait for a compiler.
SLOW_MODULES = {
    "softpolytope.estimators._classifiers",
    "softpolytope.estimators._explain",
    "softpolytope.estimators._partial_fit",
    "softpolytope.estimators._uncertainty",
    "softpolytope.paper.baselines._adaptive_hyperplanes",
    "softpolytope.paper.baselines._convex_polytope",
    "softpolytope.tabular._classifier",
}
MODULES = [
    pytest.param(module.name, marks=[pytest.mark.slow] * (module.name in SLOW_MODULES))
    for module in pkgutil.walk_packages(softpolytope.__path__, "softpolytope.")
    if not module.name.endswith("__main__")
]


def test_version_is_that_of_the_distribution():
    """__version__ comes from the installed metadata."""
    assert softpolytope.__version__.count(".") >= 2


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    """Every example in a docstring does what it shows."""
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_examples_are_found():
    """The doctest run above does see examples."""
    finder = doctest.DocTestFinder()
    module = importlib.import_module("softpolytope.distributions._crt")
    assert sum(bool(test.examples) for test in finder.find(module)) >= 3


def test_names_are_imported_when_they_are_used():
    """The package alone loads nothing large; public names, subpackages and completion are as if it did."""
    code = (
        "import sys, softpolytope as s;"
        "assert not {'numpy', 'scipy', 'sklearn'} & set(sys.modules);"
        "rooms = sys.argv[1:]; assert {*s.__all__, *rooms} <= set(dir(s));"
        "[getattr(s, name) for name in (*rooms, *s.__all__)];"
        "from softpolytope import *;"
        "assert s.Prior is Prior is s.model.Prior; assert not hasattr(s, 'prior')"
    )
    rooms = {path.parent.name for path in Path(softpolytope.__file__).parent.glob("*/__init__.py")} - {"cli"}
    assert {"tabular", "report"} <= rooms
    subprocess.run([sys.executable, "-c", code, *rooms], check=True)  # noqa: S603


@pytest.mark.slow
def test_load_model_knows_all_models_wherever_it_is_sent(tmp_path):
    """A process that gets the function by a pickle, and has imported nothing else, reads models of tables."""
    table = {"x": [0.0, 1.0] * 30, "y": ["no", "yes"] * 30}
    softpolytope.TableClassifier(softpolytope.SoftplusClassifier(random_state=0)).fit(table, "y").save(tmp_path / "m")
    (tmp_path / "function").write_bytes(pickle.dumps(softpolytope.load_model))
    code = "import pickle, sys; print(type(pickle.load(open(sys.argv[1], 'rb'))(sys.argv[2])).__name__)"
    command = [sys.executable, "-c", code, str(tmp_path / "function"), str(tmp_path / "m")]
    run = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert run.stdout == "TableClassifier\n"


def test_import_is_light():
    """Importing the package loads no plotting, data-frame or distributed library that scikit-learn has not loaded."""
    heavy = {"matplotlib", "pandas", "xarray", "arviz", "dask", "onnx", "sklearn.ensemble"}
    loaded = []
    for names in ("sklearn.base, sklearn.utils.validation", "softpolytope, softpolytope.distributions"):
        code = f"import sys, {names}; print(*sys.modules)"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
        loaded.append(set(run.stdout.split()))
    assert heavy.isdisjoint(loaded[1] - loaded[0])
    assert "numpy" in loaded[1]


@pytest.mark.slow
def test_readme_examples_print_the_stated_output(capsys):
    """The Python code of the README runs, and prints what the README says it prints.

    The last of two or three digits of a mode depends on the kernels that BLAS has for the processor.
    """
    readme = (Path(__file__).parent.parent / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    assert len(blocks) >= 2
    for block in blocks:
        exec(block, {})  # noqa: S102
    printed = capsys.readouterr().out
    claimed = re.search(r"^Output .*?\n\n```\n(.*?)```", readme, flags=re.DOTALL | re.MULTILINE)[1]
    number = r"-?\d+\.\d+"
    assert re.split(number, printed) == re.split(number, claimed)
    values = [[float(found) for found in re.findall(number, text)] for text in (printed, claimed)]
    assert values[0] == pytest.approx(values[1], rel=0.05)
