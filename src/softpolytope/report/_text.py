"""Sentences about a model and its fit, as plain text; the templates escape them and explain the page around them."""

import numpy as np

from softpolytope._format import format_count
from softpolytope.inspection import MAX_R_HAT, in_words, members_in_words
from softpolytope.report._summary import LabelingSummary, Summary

# Warnings about chains that are written out.
MAX_COMPLAINTS = 3
# Classes, or labelings, that are listed by name.
MAX_NAMES = 6
HOW_TO_GET_INTERVALS = 'refit with inference="bootstrap" (the default) or inference="gibbs"'


def percent(share: float) -> str:
    """Format a share as a percentage with one digit."""
    value = 100.0 * share
    return f"{value:.1f}%" if value < 99.95 or share == 1.0 else "> 99.9%"


def join_names(names: list[str]) -> str:
    """Join names with commas and "and"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def model_paragraph(summary: Summary) -> str:
    """Describe the model, the fit and the meaning of a probability."""
    return " ".join([_describe_model(summary), _describe_fit(summary), _describe_probability(summary)])


def _describe_model(summary: Summary) -> str:
    names = [f"“{name}”" for name in summary.classes]
    shown = join_names(names) if len(names) <= MAX_NAMES else f"{len(names)} classes"
    parts = [f"{labeling.n_experts} for “{labeling.target}”" for labeling in summary.labelings]
    split = f" ({join_names(parts)})" if 1 < len(parts) <= MAX_NAMES else ""
    n_experts, n_layers = summary.n_experts, summary.n_layers
    planes = format_count(n_experts * n_layers, "hyperplane")
    each = "" if n_experts == 1 else f", {'one' if n_layers == 1 else n_layers} per expert"
    return (
        f"This {summary.model.name} separates {shown} using {format_count(summary.model.n_features, 'feature')}. Its "
        f"{summary.best_noun} has {format_count(n_experts, 'expert')}{split} with {planes}{each}."
    )


def _describe_fit(summary: Summary) -> str:
    model, posterior = summary.model, summary.labelings[0].posterior
    swapped = "" if len(model.posterior.regressions[0].labelings) == 1 else ", and again with the labels swapped"
    n_draws = len(posterior.draws)
    if model.inference == "gibbs":
        n_chains, n_sweeps = posterior.log_likelihood.shape
        discarded = f"discarding the first {model.n_burn_in:,}"
        text = (
            f"It was fitted by Gibbs sampling with {format_count(n_chains, 'chain')} of "
            f"{format_count(n_sweeps, 'sweep')}{swapped}, {discarded} and keeping {format_count(n_draws, 'draw')}."
        )
    elif model.is_bootstrap:
        text = (
            f"It was fitted by a weighted bootstrap with {format_count(n_draws, 'member')}{swapped}: each is a mode of "
            "the posterior under random row weights of its own, found from a random start."
        )
    else:
        text = (
            f"It was fitted by maximizing the posterior from {format_count(n_draws, 'starting point')}{swapped}; each "
            "run gave one mode."
        )
    if model.estimate == "best":
        best = summary.best_noun if model.is_bootstrap else f"{summary.draw_noun} with the highest training likelihood"
        return f"{text} Predictions use only the {best}."
    if model.is_bootstrap:
        averaged = "average the log odds of" if summary.averages_log_odds else "average over"
        return f"{text} Predictions {averaged} all members."
    return f"{text} Predictions average over all {summary.draw_noun}s."


def _describe_probability(summary: Summary) -> str:
    model, is_binary = summary.model, len(summary.classes) == 2
    averages = [] if model.estimate == "best" else [f"{summary.draw_noun}s"]
    averages += ["both labelings"] if len(model.posterior.regressions[0].labelings) == 2 else []
    pooled = "with log odds averaged" if summary.averages_log_odds else "averaged"
    steps = f", {pooled} over {join_names(averages)}" if averages else ""
    steps += "" if is_binary else ", and normalized to sum to one over the classes"
    event, outcome = (f"“{summary.classes[1]}”",) * 2 if is_binary else ("a class", "of that class")
    return (
        "Each expert adds to a rate λ: its weight times a measure of how far the row lies inside its half-spaces. The "
        f"probability is 1 \u2212 exp(\u2212λ){steps}. If it is 0.8 for {event}, about eight in ten such rows should "
        f"turn out to be {outcome}; section 2 checks this."
    )


def rule_sentences(labeling: LabelingSummary, number: int) -> tuple[str, str]:
    """Describe the region of an expert, and its votes on the rows of the report."""
    rule = labeling.rules[number]
    region = rule.region.in_words()
    if not rule.n_yes:
        return region, "Votes yes for none of these rows."
    share = percent(rule.n_right / rule.n_yes)
    return region, f"Votes yes for {format_count(rule.n_yes, 'row')}, {share} of them “{labeling.target}”."


def weights_caption(summary: Summary, labeling: LabelingSummary) -> str:
    """Describe the number of experts and its variation."""
    n_active = labeling.posterior.draws.n_active
    low, middle, high = int(n_active.min()), float(np.median(n_active)), int(n_active.max())
    number = f"{low}" if low == high else f"{low} to {high} (median {middle:g})"
    noun = "expert" if low == high == 1 else "experts"
    return f"“{labeling.target}”: {number} {noun} in {format_count(len(n_active), summary.draw_noun)}."


def fit_caption(summary: Summary, labeling: LabelingSummary) -> str:
    """Describe the chart of the log-likelihood of one labeling."""
    start = f"Experts for “{labeling.target}”: training log-likelihood"
    if summary.model.is_bootstrap:
        return f"{start} by member; the highest is outlined."
    if summary.model.inference == "map":
        return f"{start} by restart; the best mode is outlined."
    n_sweeps = summary.model.n_burn_in
    sweeps, verb = ("sweep", "was") if n_sweeps == 1 else (f"{n_sweeps:,} sweeps", "were")
    return f"{start}, one line per chain; the first {sweeps} (shaded) {verb} discarded."


def fit_sentences(summary: Summary) -> list[str]:
    """Assess the fit from the diagnostics of chains or the agreement of modes."""
    if summary.model.inference == "gibbs":
        return _assess_chains(summary)
    agreement = summary.agreement
    if agreement is None:
        text = (
            "Each member had its own random row weights (weighted likelihood bootstrap), so their spread approximates "
            "that of the posterior."
        )
        return [text, *_assess_members(summary)]
    if agreement.n_modes == 1:
        return ["There is only one mode, so agreement between modes cannot be assessed."]
    found = (
        f"{agreement.n_modes} optimizations from random starting points each found a mode of the posterior. On the "
        f"{summary.row_noun}s, all of them agree on {percent(agreement.same_decision)} of the predictions, and the "
        f"largest and smallest probabilities for a row differ by {agreement.mean_spread:.3f} on average."
    )
    meaning = (
        "Modes are peaks of the posterior, not draws from it. Their spread is much narrower than the posterior's, so "
        f"agreement between modes is not a measure of certainty. For intervals, {HOW_TO_GET_INTERVALS}."
    )
    return [found, meaning]


def _assess_members(summary: Summary) -> list[str]:
    """Describe the Monte Carlo errors of members, if the model has probabilities at training rows."""
    found = list(summary.member_diagnoses)
    if not found:
        return []
    # One member of each labeling has no error that could be known.
    mean = max(0.0 if np.isnan(item.probability_error) else item.probability_error for item in found)
    ends = max(max(item.interval_errors) for item in found)
    n_members = format_count(found[0].n_members, "member")
    first = (
        f"With {n_members}, the Monte Carlo error of probabilities at {format_count(len(found), 'training row')} is at "
        f"most {mean:.3f}, and that of the ends of their intervals at most {ends:.3f}."
    )
    return [first, *members_in_words(found)[:MAX_COMPLAINTS]]


def _assess_chains(summary: Summary) -> list[str]:
    diagnoses = list(summary.diagnoses)
    if not diagnoses:
        return ["There are too few draws to assess whether the chains agree."]
    worst = max(item.r_hat for item in diagnoses)
    fewest = min(min(item.bulk_ess, item.tail_ess) for item in diagnoses)
    first = (
        f"Of {len(diagnoses)} quantities, the largest R-hat is {worst:.2f} (chains agree if it is at most {MAX_R_HAT}) "
        f"and the smallest effective sample size is {fewest:.0f}."
    )
    complaints = in_words(diagnoses)
    found = [first, *complaints[:MAX_COMPLAINTS]]
    n_more = len(complaints) - MAX_COMPLAINTS
    if n_more > 0:
        found.append(
            f"There {'is' if n_more == 1 else 'are'} {format_count(n_more, 'more warning')} of this kind; see below."
        )
    if not complaints:
        found.append("The diagnostics raise no concern; the intervals can be used.")
    return found
