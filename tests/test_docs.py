"""Links and line lengths of the documentation, and the map of the package in CONTRIBUTING.md."""

import re
from pathlib import Path

import pytest

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
