"""Sentences about a model and its fit."""

from dataclasses import replace

import pytest

from softpolytope import SumStackSoftplusClassifier
from softpolytope.inspection import Diagnosis
from softpolytope.report._page import render_page
from softpolytope.report._summary import ReportOptions, summarize_model
from softpolytope.report._text import (
    fit_caption,
    fit_sentences,
    join_names,
    model_paragraph,
    percent,
    rule_sentences,
)

NOTHING = ReportOptions()


@pytest.mark.parametrize(("share", "text"), [(0.1234, "12.3%"), (0.9999, "> 99.9%"), (1.0, "100.0%")])
def test_shares_have_one_digit(share, text):
    """Only a share of one is written as all."""
    assert percent(share) == text


@pytest.mark.parametrize(("names", "text"), [(["A"], "A"), (["A", "B"], "A and B"), (["A", "B", "C"], "A, B and C")])
def test_names_are_joined(names, text):
    """With commas, and "and" before the last."""
    assert join_names(names) == text


def test_rules_are_those_of_the_polytopes(modes):
    """In the order of weights, with the votes they have on the test rows, under the names given."""
    model, X, y = modes
    summary = summarize_model(model, X, y, ReportOptions(feature_names=["east", "north"]))
    for labeling, item in zip(summary.labelings, model.polytopes(0.5), strict=True):
        votes = item.votes(X)
        for number, (rule, region) in enumerate(zip(labeling.rules, item.regions, strict=False)):
            own = votes[region.expert - 1]
            assert (rule.n_yes, rule.n_right) == (own.sum(), (y[own] == item.target).sum())
            text = rule_sentences(labeling, number)[0]
            assert text == region.in_words().replace("x0", "east").replace("x1", "north")


def test_model_is_described(modes, chains, several, single, members):
    """Class names, features, the kind of fit and the estimate are in the paragraph."""
    text = model_paragraph(summarize_model(*modes, NOTHING))
    assert text.startswith(
        "This SumStackSoftplusClassifier separates “disc” and “ring” using 2 features. Its best mode"
    )
    assert "maximizing the posterior from 3 starting points, and again with the labels swapped" in text
    assert "averaged over modes and both labelings. If it is 0.8 for “ring”" in text
    text = model_paragraph(summarize_model(*chains, NOTHING))
    assert "Gibbs sampling with 2 chains of 80 sweeps" in text
    assert "Predictions average over all draws." in text
    text = model_paragraph(summarize_model(*several, NOTHING))
    assert "“0”, “1” and “2” using 3 features" in text
    assert "and normalized to sum to one over the classes. If it is 0.8 for a class" in text
    text = model_paragraph(summarize_model(*single, NOTHING))
    assert "Predictions use only the representative." in text
    assert "Its representative has 1 expert" in text
    assert "The probability is 1 \u2212 exp(\u2212λ). If it is" in text
    modes[0].set_params(estimate="best")
    try:
        text = model_paragraph(summarize_model(*modes, NOTHING))
    finally:
        modes[0].set_params(estimate="mean")
    assert "Predictions use only the mode with the highest training likelihood." in text
    text = model_paragraph(summarize_model(*members, NOTHING))
    assert "Its representative has" in text
    assert "Predictions average the log odds of all members." in text
    assert "with log odds averaged over members and both labelings, and normalized" in text


def test_single_restart_has_no_agreement_to_assess(modes):
    """The page says so instead of giving a number."""
    _, X, y = modes
    model = SumStackSoftplusClassifier(
        max_experts=2, inference="map", n_restarts=1, symmetric=False, random_state=0
    ).fit(X, y)
    assert fit_sentences(summarize_model(model, X, y, NOTHING)) == [
        "There is only one mode, so agreement between modes cannot be assessed."
    ]


@pytest.mark.parametrize(
    ("n_bad", "end"),
    [
        (0, "The diagnostics raise no concern; the intervals can be used."),
        (4, "There is 1 more warning of this kind; see below."),
        (6, "There are 3 more warnings of this kind; see below."),
    ],
)
def test_chains_are_assessed_by_their_diagnoses(chains, n_bad, end):
    """Three warnings are written out, the others counted."""
    fine = [Diagnosis(f"fine {k}", 1.0, 400.0, 400.0, ()) for k in range(2)]
    bad = [Diagnosis(f"bad {k}", 1.5, 400.0, 400.0, ()) for k in range(n_bad)]
    summary = replace(summarize_model(*chains, NOTHING), diagnoses=(*fine, *bad))
    sentences = fit_sentences(summary)
    assert sentences[-1] == end
    assert f"Of {2 + n_bad} quantities, the largest R-hat is {1.5 if n_bad else 1.0:.2f}" in sentences[0]
    assert fit_sentences(replace(summary, diagnoses=())) == [
        "There are too few draws to assess whether the chains agree."
    ]


def test_captions_say_what_was_discarded(chains, modes):
    """Chains have a burn-in, modes do not."""
    summary = summarize_model(*chains, NOTHING)
    text = fit_caption(summary, summary.labelings[0])
    assert f"the first {chains[0].model_.n_burn_in} sweeps (shaded) were discarded." in text
    one = replace(summary, model=replace(summary.model, n_burn_in=1))
    assert "the first sweep (shaded) was discarded." in fit_caption(one, summary.labelings[0])
    summary = summarize_model(*modes, NOTHING)
    assert "by restart; the best mode is outlined." in fit_caption(summary, summary.labelings[0])


def test_members_are_called_so(modes):
    """The rules are those of a representative, with its agreement and the support of each."""
    _, X, y = modes
    model = SumStackSoftplusClassifier(max_experts=2, n_members=4, random_state=0).fit(X, y)
    summary = summarize_model(model, X, y, NOTHING)
    text = model_paragraph(summary)
    assert "Its representative has" in text
    assert "by a weighted bootstrap with 2 members, and again with the labels swapped: each is a mode" in text
    assert "Predictions average the log odds of all members." in text
    assert "with log odds averaged over members and both labelings" in text
    assert summary.notes == model.polytopes().notes
    page = render_page(summary)
    assert summary.notes[0] in page
    assert "These are the experts of the representative" in page
    assert "support 100 %" in page
    for labeling in summary.labelings:
        assert fit_caption(summary, labeling).endswith("by member; the highest is outlined.")
    learned = model.partial_fit(X, y)
    assert summarize_model(learned, X, y, NOTHING).member_diagnoses == ()
