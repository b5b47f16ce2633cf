"""Style rules that no linter has: English, names, sizes and types of the package."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import softpolytope

PACKAGE = Path(softpolytope.__file__).parent
MAX_FUNCTION_LINES = 45
MAX_FILE_LINES = 320

CLAUSE = re.compile(r"(What|Where|Who|Which|How|Of)\b")
BRITISH = re.compile(
    r"(?:behaviour|colour|favour|flavour|honour|neighbour|rigour|labell|modell|cancell|signall|travell|artefact|judgement)"
    r"|\b(?:centre[ds]?|grey|licence|metres?|programmes?|whilst|amongst|learnt|catalogues?)\b"
    r"|(?:analys|catalys|paralys)(?:e[ds]?|ing)\b"
    r"|(?:binar|categor|characteri?|coloni|critic|discret|emphas|factor|final|general|initial|local|maxim|memor|minim|normal|optim"
    r"|organ|parallel|parametr?|penal|polar|random|rasteri?|real|recogn|regular|serial|special|standard|summar|symmetr|synchron|token"
    r"|util|vector|visual)is(?:e[drs]?|ing|ations?)\b",
    re.IGNORECASE,
)
# Names that others have given: HTML's attribute, Dask's state of a future, and keywords of earlier releases.
FOREIGN = {"labelledby", "cancelled", "labelling"}


def clause_docstrings(source):
    """Docstrings whose first line is a nominal clause or a fragment."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = (ast.get_docstring(node) for node in ast.walk(ast.parse(source)) if isinstance(node, kinds))
    return [text.splitlines()[0] for text in texts if text and CLAUSE.match(text)]


def functions(source):
    """Every function and method of a source."""
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def functions_named_of(source):
    """Functions called x_of, whose name says neither what they do nor what they return."""
    return [node.name for node in functions(source) if node.name.endswith("_of")]


def long_functions(source):
    """Functions over the limit; the docstring is not counted."""
    found = []
    for node in functions(source):
        docstring = node.body[0].end_lineno - node.body[0].lineno + 1 if ast.get_docstring(node) else 0
        lines = node.end_lineno - node.lineno + 1 - docstring
        if lines > MAX_FUNCTION_LINES:
            found.append(f"{node.name}, {lines} lines")
    return found


def long_files(source):
    """The number of lines of a file over the limit."""
    lines = len(source.splitlines())
    return [f"{lines} lines"] if lines > MAX_FILE_LINES else []


def annotations_any(source):
    """Arguments, fields and results annotated as plain Any."""
    found = []
    for node in ast.walk(ast.parse(source)):
        annotation = node.returns if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
        if isinstance(node, ast.arg | ast.AnnAssign):
            annotation = node.annotation
        if isinstance(annotation, ast.Name) and annotation.id == "Any":
            found.append(f"line {annotation.lineno}")
    return found


def british_spellings(source):
    """Words in British spelling, in code, comments and strings."""
    words = sorted(set(re.findall(r"\w+", source)))
    return [word for word in words if BRITISH.search(word) and not any(name in word.lower() for name in FOREIGN)]


# For each rule, the findings that each room may still have: the numbers may only shrink.
LIMITS = {
    clause_docstrings: {},
    functions_named_of: {},
    long_functions: {},
    long_files: {},
    annotations_any: {
        "cli": 6,
        "data": 3,
        "estimators": 4,
        "export": 5,
        "geometry": 1,
        "inspection": 3,
        "model": 2,
        "parallel": 2,
        "tabular": 5,
    },
    british_spellings: {},
}


def findings(rule):
    """Findings of a rule in the whole package, by room."""
    found = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE)
        found[name.parts[0]] += [f"{name}: {finding}" for finding in rule(path.read_text())]
    return found


@pytest.mark.parametrize("rule", LIMITS, ids=lambda rule: rule.__name__)
def test_package_follows_the_rule(rule):
    """No room has more findings than the table allows."""
    limits = LIMITS[rule]
    assert {room: found for room, found in findings(rule).items() if len(found) > limits.get(room, 0)} == {}


@pytest.mark.parametrize(
    ("rule", "bad", "good"),
    [
        (clause_docstrings, '"""What a fit must know."""', '"""Summary of the rows."""'),
        (clause_docstrings, 'class A:\n    """Of both lots of rows."""', 'class A:\n    """Offset of a row."""'),
        (functions_named_of, "def rows_of(x): ...", "def count_rows(x): ..."),
        (
            long_functions,
            "def f():\n" + "    x = 1\n" * 45,
            'def f():\n    """Text.' + "\n" * 9 + '"""\n' + "    x = 1\n" * 44,
        ),
        (long_files, "x = 1\n" * 321, "x = 1\n" * 320),
        (annotations_any, "def f(x: Any): ...", "def f(x: int): ..."),
        (annotations_any, "def f() -> Any: ...", "def f() -> dict[str, Any]: ..."),
        (annotations_any, "x: Any = 1", "x: int = 1"),
        (british_spellings, "# optimise the behaviour", "# optimize the behavior: a precise exercise"),
        (british_spellings, "labelled = 1", "aria_labelledby = future.cancelled()"),
    ],
)
def test_rule_has_a_control(rule, bad, good):
    """Each rule rejects a bad source and accepts a good one."""
    assert rule(bad)
    assert rule(good) == []
