"""Links and line lengths of the documentation, and the map of the package in CONTRIBUTING.md."""

import re
from pathlib import Path

import pytest
from test_architecture import ALLOWED, PACKAGE

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
MAX_COLUMNS = 120


def missing_targets(page, text):
    """Links of a page to files that do not exist."""
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", text)
    return [link for link in links if not re.match(r"https?:", link) and not (page.parent / link).exists()]


def long_lines(text):
    """Lines of prose over the limit; tables and code blocks are not prose."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return [line for line in prose.splitlines() if len(line) > MAX_COLUMNS and not line.startswith("|")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page):
    """Every relative link of a page leads to a file of the repository."""
    assert missing_targets(page, page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_prose_has_short_lines(page):
    """Prose fits the line length of the code."""
    assert long_lines(page.read_text(encoding="utf-8")) == []


def test_checks_have_controls():
    """The checks see a broken link and a long line, and accept tables and code."""
    assert missing_targets(PAGES[0], "[a](no/such/file.md)")
    assert long_lines("word " * 30)
    assert not long_lines("| " + "word " * 30 + "\n```\n" + "word " * 30 + "\n```\n")


def drawn_arrows(text):
    """Arrows of the Mermaid diagrams of a page: for each room, the rooms it points to."""
    arrows = {}
    for diagram in re.findall(r"^```mermaid\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
        for room, targets in re.findall(r"^ *(\w+) --> (.+)$", diagram, flags=re.MULTILINE):
            arrows.setdefault(room, set()).update(targets.split(" & "))
    return arrows


def missing_stops(text):
    """Stops of the walks, as `file.py` followed by names, that do not exist in the package."""
    missing = []
    for name, rest in re.findall(r"`(\w+/[\w/]+\.py)`((?:,? (?:and )?`[\w.]+`)*)", text):
        path = PACKAGE / name
        source = path.read_text(encoding="utf-8") if path.is_file() else ""
        names = [whole.split(".")[-1] for whole in re.findall(r"`([\w.]+)`", rest)]
        missing += [f"{name}: {item}" for item in names if not re.search(rf"(?:def|class) {item}\b", source)]
        missing += [] if source else [name]
    return missing


def test_diagram_shows_the_allowed_imports():
    """The arrows between rooms are those that the import test allows."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert drawn_arrows(text) == {room: allowed for room, allowed in ALLOWED.items() if allowed}


def test_walks_name_existing_code():
    """Every stop of the walks is a file of the package that defines the functions named with it."""
    walks = re.search(r"^## Two walks.*?(?=^## )", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL | re.MULTILINE)[0]
    assert len(re.findall(r"^\d+\. `", walks, flags=re.MULTILINE)) > 15
    assert missing_stops(walks) == []


def test_map_checks_have_controls():
    """The checks of the map see another arrow, a missing file and a missing function."""
    assert drawn_arrows("```mermaid\n    a --> b & c\n    a --> d\n```\n") == {"a": {"b", "c", "d"}}
    assert missing_stops("`model/_nothing.py`, `f`") == ["model/_nothing.py: f", "model/_nothing.py"]
    assert missing_stops("`estimators/_base.py`, `SoftplusBase.fit` and `no_such`") == ["estimators/_base.py: no_such"]
