"""Means beside the paper's, and the page made of them."""

import csv
from dataclasses import asdict
from pathlib import Path

import pytest

from softpolytope.paper import TableProtocol
from softpolytope.paper.tables._page import write_page
from softpolytope.paper.tables._plan import BY_KEY, CELLS, LARGE, SETS, paper_moments, paper_normalized_mean, plan_fits
from softpolytope.paper.tables._results import Result, StoredFit
from softpolytope.paper.tables._summary import Summary

DOCS = Path(__file__).parents[3] / "docs" / "results"


def result(
    set_name="banana", method="ss5", trial=0, error=12.0, n_experts=8.0, *, fit_seconds=1.5, predict_nanoseconds=300.0
):
    """Numbers of one fit."""
    return Result(set_name, method, trial, error, None, n_experts, fit_seconds, predict_nanoseconds, {})


SHORT = TableProtocol(n_sweeps=10)


def page(results, path, protocol=SHORT):
    """The page's text."""
    made = {"configuration": {}, "versions": {"softpolytope files": "abc"}}
    write_page([StoredFit.from_document({"result": asdict(item), **made}) for item in results], protocol, path)
    return path.read_text(encoding="utf-8")


def as_printed():
    """Trials whose means are what the paper prints, of every cell it has a number for."""
    found = []
    for fit in plan_fits():
        error = paper_moments(fit.set_name, fit.method.key, "error")
        experts = paper_moments(fit.set_name, fit.method.key, "n_experts") or (2.0, None)
        if error:
            # Half the trials above and half below the mean, one in the middle of five.
            side = 0 if fit.set_name in LARGE and fit.trial == 4 else (-1) ** fit.trial
            found.append(
                result(fit.set_name, fit.method.key, fit.trial, error[0] + side * (error[1] or 0.0), experts[0])
            )
    return found


def test_every_printed_number_has_a_cell():
    """No column or row of the paper's tables is left out."""
    for cells in CELLS.values():
        for name, by_method in cells.items():
            assert name in SETS
            assert set(by_method) <= set(BY_KEY)


def test_means_over_the_svm_are_the_papers():
    """From the numbers printed follow the normalized means printed, to their digits."""
    summary = Summary(as_printed())
    for quantity in ("error", "n_experts"):
        known = {method: paper_normalized_mean(method, quantity) for method in BY_KEY}
        assert sum(value is not None for value in known.values()) == (15 if quantity == "error" else 12)
        for method, value in known.items():
            if value is not None:
                assert summary.normalized(method, quantity) == pytest.approx(value, abs=1.1e-3), method


@pytest.mark.slow
def test_page_lists_what_agrees(tmp_path):
    """All cells agree when they are the paper's; a wrong one is bold and named."""
    right = as_printed()
    text = page(right, tmp_path / "right.md", TableProtocol())
    agree = "agree; 60 are within one standard deviation of the paper, 60 within two standard errors"
    assert f"Softplus regressions, six sets: 60 of 60 errors {agree}" in text.replace("\n  ", " ")
    assert "Softplus regressions, six sets: 42 of 42 numbers of experts are within 25%" in text
    assert "Every number computed agrees." in text
    assert "**" not in text.split("## What does not agree")[1]
    assert f"{len(right):,} by abc" in text
    wrong = [
        result(item.set_name, item.method, item.trial, item.error + (5.0 if item.method == "ss5" else 0.0))
        for item in right
    ]
    text = page(wrong, tmp_path / "wrong.md", TableProtocol())
    assert "54 of 60 errors agree" in text
    assert "**Errors of sum-stack, T = 5**, banana (16.89, paper 11.89): no reason is known." in text
    assert "**Numbers of experts of CPM**, banana (8.0, paper 14.6), breast cancer (8.0, paper 12.0)" in text
    assert "**16.89 ± 0.64 (11.89, +8.2)**" in text
    assert "**8 (17.6, -5.1, -55%)**" in text


def test_page_of_nothing_says_so(tmp_path):
    """Cells that were not run differ from cells that the paper does not have."""
    text = page([result(trial=i) for i in range(2)], tmp_path / "page.md")
    assert "12.00 ± 0.00 (11.89, +0.2)" in text
    assert text.count("not run") > 50
    assert "1 of 1 errors agree (59 more are printed, but not computed); 1 are within" in text
    assert "\n\n\n" not in text
    assert (tmp_path / "page-error.png").stat().st_size > 10_000
    assert len((tmp_path / "page.csv").read_text().splitlines()) == 3


def test_committed_page_is_that_of_its_numbers(tmp_path):
    """It has the current remarks and reasons, too; only the builds are taken from the files."""
    committed = DOCS / "reproduction.md"
    with committed.with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        results = [
            result(
                row["set_name"], row["method"], int(row["trial"]), float(row["error"]), float(row["n_experts"]),
                fit_seconds=float(row["fit_seconds"]), predict_nanoseconds=float(row["predict_nanoseconds"]),
            )
            for row in csv.DictReader(file)
        ]  # fmt: skip
    again = page(results, tmp_path / "reproduction.md", TableProtocol())
    assert again.split("Fits by build")[0] == committed.read_text(encoding="utf-8").split("Fits by build")[0]
