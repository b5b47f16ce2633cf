"""Imports point downwards only."""

import ast
from pathlib import Path

import pytest

import softpolytope

PACKAGE = Path(softpolytope.__file__).parent

# For each room, the rooms whose public faces it may import; every room may import from itself and from SHARED.
ALLOWED = {
    "cli": {"paper", "report", "tabular", "estimators", "inspection", "datasets", "distributions", "export"},
    "paper": {"estimators", "gibbs", "data", "inspection", "datasets", "distributions", "export", "parallel", "model"},
    "report": {"inspection", "export", "data", "geometry", "model"},
    "tabular": {"estimators", "inspection", "export", "geometry", "model"},
    "estimators": {"gibbs", "optimize", "data", "parallel", "inspection", "export", "geometry", "model"},
    "inspection": {"data", "geometry", "model"},
    "export": {"gibbs", "optimize", "data", "geometry", "model"},
    "gibbs": {"data", "parallel", "distributions", "model"},
    "optimize": {"data", "parallel", "distributions", "model"},
    "data": {"parallel", "model"},
    "datasets": set(),
    "geometry": {"model"},
    "distributions": set(),
    "parallel": set(),
    "model": set(),
}
# Modules beside the rooms that every room may import.
SHARED = {"_deprecation", "_typing", "_files", "_format", "exceptions"}


def imported_modules(source):
    """Full names of the modules a Python or Cython source imports, relative ones with their dots."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:  # Cython: only the import lines matter
        lines = (line.strip().replace("cimport", "import") for line in source.splitlines())
        imports = [line.split(" import ")[0] for line in lines if line.startswith(("from ", "import "))]
        return [words.split()[1] for words in imports]
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return names + ["." * node.level + (node.module or "") for node in nodes if isinstance(node, ast.ImportFrom)]


def is_private(name):
    """Whether a name is that of a private module; compiled kernels are shared between rooms."""
    parts = name.split(".")[2:]
    return any(part.startswith("_") for part in parts) and "_kernels" not in parts


def violations(room, source):
    """Imports of a file in `room` that point upwards, sideways or are relative."""
    found = []
    for name in imported_modules(source):
        if name.startswith("."):
            found.append(f"relative import {name}")
        if not name.startswith("softpolytope."):
            continue
        target = name.split(".")[1]
        if target not in {room} | SHARED | ALLOWED[room]:
            found.append(f"{room} imports {target}")
        elif target not in {room} | SHARED and is_private(name):
            found.append(f"{room} imports {name}, a private module of another room")
    return found


def source_files():
    """Every Python and Cython file in a room."""
    files = (path for suffix in ("py", "pyx", "pxd") for path in PACKAGE.rglob(f"*.{suffix}"))
    return sorted(path for path in files if path.relative_to(PACKAGE).parts[0] != path.name)


@pytest.mark.parametrize("path", source_files(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downwards(path):
    """A file imports only from its own room and those below it."""
    room = path.relative_to(PACKAGE).parts[0]
    assert room in ALLOWED, f"{room} is a new room: say in ALLOWED what it may import"
    assert violations(room, path.read_text()) == []


@pytest.mark.parametrize(
    "source",
    [
        "from softpolytope.gibbs import GibbsState",
        "import softpolytope.estimators",
        "from . import crt",
        "cdef int x\nfrom softpolytope.model._kernels.kernel cimport step",
    ],
)
def test_wrong_imports_are_seen(source):
    """The check itself sees an upward, a sideways and a relative import, in Python and in Cython."""
    assert violations("distributions", source)


def test_private_modules_of_other_rooms_are_seen():
    """Rooms know each other by their public faces only."""
    assert violations("estimators", "from softpolytope.gibbs._state import GibbsState")
    assert not violations("estimators", "from softpolytope.gibbs import GibbsState")


def test_every_source_is_installed():
    """The installed package holds Python, Cython and typing files, so that users and tools find them."""
    names = {path.name for path in source_files()}
    assert {"_crt.py", "crt.pyx", "crt.pxd", "_softplus.py"} <= names
    assert (PACKAGE / "py.typed").exists()
    data = PACKAGE / "paper" / "tables"
    assert all((data / name).is_file() for name in ("page.md", "remarks.md", "reasons.toml", "paper_tables.json"))
