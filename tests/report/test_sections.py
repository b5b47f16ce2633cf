"""Sections of the page: contents that depend on scores, modes, chains and labelings."""

import html
import re

import pytest

from softpolytope.report._checks import check_model
from softpolytope.report._page import render_page
from softpolytope.report._payload import make_payload
from softpolytope.report._sections import make_sections
from softpolytope.report._summary import ReportOptions, summarize_model
from softpolytope.report._text import fit_sentences

NOTHING = ReportOptions()


def section_text(summary, name):
    """Return a section of the page with its tags, on one line."""
    page = render_page(summary).partition(f'<section id="{name}"')[2].partition("</section>")[0]
    return html.unescape(" ".join(page.split()))


def test_sections_have_titles_and_templates(any_model):
    """There are seven, in a fixed order, and the last is named after the rows."""
    sections = make_sections(summarize_model(*any_model, NOTHING))
    assert [section["name"] for section in sections] == ["model", "scores", "rules", "map", "weights", "fit", "rows"]
    assert sections[-1]["title"] == "The test rows"


def test_scores_on_other_rows_are_not_compared(modes):
    """They are shown, and neither they nor the model are called better or best for it."""
    reference = {"LR, other rows": {"error": 0.0, "log_loss": 0.0}, "SVM, other rows": {"error": 1.0}}
    summary = summarize_model(*modes, ReportOptions(reference_scores=reference))
    assert [(score.name, score.error, score.is_comparable) for score in summary.scores[2:]] == [
        ("LR, other rows", 0.0, False),
        ("SVM, other rows", 1.0, False),
    ]
    assert not any("other rows" in check.text for check in check_model(summary))
    text = section_text(summary, "scores")
    assert "shown but not compared" in text
    for name in reference:
        assert "best" not in text.partition(name)[2].partition("</tr>")[0]
    # Scores on the rows of the report are compared as usual.
    assert text.partition("This model")[2].partition("</tr>")[0].count("best") == 3
    options = ReportOptions(baselines={"LR": {"error": 0.0}}, reference_scores={"SVM, other rows": {"error": 0.0}})
    checks = check_model(summarize_model(*modes, options))
    assert [check.text for check in checks if "did better" in check.text] == [
        "LR did better in error or log-loss; see section 2."
    ]
    assert "not compared" not in section_text(summarize_model(*modes, NOTHING), "scores")


def test_plain_modes_have_agreement_and_no_intervals(modes):
    """The page says that their agreement is no measure of certainty."""
    summary = summarize_model(*modes, NOTHING)
    assert not summary.model.has_posterior_spread
    assert summary.agreement.n_modes == 6  # three of each labeling
    assert 0.0 <= summary.agreement.same_decision <= 1.0
    assert any("not draws" in sentence for sentence in fit_sentences(summary))
    assert "low" not in make_payload(summary)["rows"]
    assert 'inference="gibbs"' in check_model(summary)[-1].text
    assert "may not be needed" not in section_text(summary, "weights")
    assert "There are no intervals" in section_text(summary, "rows")


def test_chains_have_diagnostics_and_intervals(chains):
    """The table of diagnostics has the numbers of `diagnostics`."""
    summary = summarize_model(*chains, NOTHING)
    worst = max(chains[0].diagnostics(), key=lambda item: item.r_hat)
    line = re.search(rf'<th scope="row">{re.escape(worst.name)}</th><td>([^<]*)</td>', section_text(summary, "fit"))
    assert line.group(1) == f"{worst.r_hat:.3f}"
    assert "may not be needed" in section_text(summary, "weights")
    assert "Intervals contain 89% of the draws" in section_text(summary, "rows")


@pytest.mark.parametrize("name", ["modes", "several", "single"])
def test_map_offers_the_choices_there_are(name, request):
    """Classes if there are more than two, a second feature and features to hold if there are any."""
    summary = summarize_model(*request.getfixturevalue(name), NOTHING)
    text = section_text(summary, "map")
    n_features = summary.model.n_features
    assert ('id="map-class"' in text) == (len(summary.classes) > 2)
    assert ('id="map-second"' in text) == (n_features > 1)
    assert ('id="map-hold"' in text) == (n_features > 2)
    assert ('name="view"' in text) == (summary.model.estimate == "mean")


def test_light_and_weak_experts_are_counted(modes):
    """Experts beyond the list and experts that never vote yes have a note."""
    summary = summarize_model(*modes, NOTHING)
    rules = make_sections(summary)[2]["labelings"]
    for item, labeling in zip(rules, summary.labelings, strict=True):
        assert len(item["rules"]) + item["n_weak"] + item["n_left_out"] == labeling.n_experts
