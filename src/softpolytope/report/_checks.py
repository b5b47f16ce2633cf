"""Findings for and against trusting a model, in the order in which a skeptic would ask for them."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from softpolytope._format import format_count
from softpolytope.inspection import in_words, n_draws_needed
from softpolytope.report._scores import LEVEL, Score
from softpolytope.report._summary import Summary
from softpolytope.report._text import HOW_TO_GET_INTERVALS, join_names, percent

# Fewer rows than this leave scores uncertain.
FEW_ROWS = 200
# Share of rows outside the training range that is no reason for concern.
FEW_OUTSIDE = 0.02
NO_SCORES = (
    "There are no scores on held-out rows to judge the model by. Write the report with rows it was not trained on, or "
    "fit with `softpolytope fit`, which holds out rows and stores the scores in the model file."
)
NO_FINGERPRINT = (
    "It is unknown whether the model was trained on some of these rows: it has no fingerprint of its training rows, "
    "because it was fitted out of core, or saved by an earlier version or without one."
)


@dataclass(frozen=True, slots=True)
class Check:
    """One finding about a model."""

    mark: Literal["good", "look", "bad"]
    text: str


def check_model(summary: Summary) -> list[Check]:
    """Return all findings about a model."""
    first = _check_on_training_rows(summary) or [_check_against_majority(summary)]
    others = [_check_calibration(summary), *_check_rows(summary), _check_fit(summary)]
    return [*first, *_check_against_baselines(summary), *others]


def _check_on_training_rows(summary: Summary) -> list[Check]:
    """Say that the model was trained on these rows and report its error on others, then on these."""
    overlap = summary.overlap
    if overlap is None or not overlap.has_training_rows:
        return []
    found = [Check("bad", overlap.in_words()), *_check_on_new_rows(summary)]
    where = "the training rows" if overlap.is_whole else "all rows given, training rows included,"
    return [*found, Check("look", _compare_errors(where, summary.scores[0], summary.scores[1]))]


def _check_on_new_rows(summary: Summary) -> list[Check]:
    """Report the error on the rows given that are not training rows, and on rows held out during the fit."""
    found = []
    if summary.new_row_scores is not None:
        where = f"the {format_count(summary.n_new_rows, 'row')} it was not trained on"
        found.append(_judge("look", _compare_errors(where, *summary.new_row_scores), *summary.new_row_scores))
    if summary.held_out is not None:
        text = _compare_errors("rows held out from the fit", *summary.held_out, verb="was")
        found.append(_judge("look", text, *summary.held_out))
    return found or [Check("look", NO_SCORES)]


def _check_against_majority(summary: Summary) -> Check:
    if len(np.unique(summary.codes)) == 1:
        only = summary.classes[int(summary.codes[0])]
        text = f"All test rows are “{only}”, so they cannot show whether the model separates the classes."
        return Check("bad", text)
    own, majority = summary.scores[:2]
    return _judge("good", _compare_errors("the test rows", own, majority), own, majority)


def _compare_errors(where: str, own: Score, majority: Score | None, verb: str = "is") -> str:
    text = f"Its error on {where} {verb} {percent(own.error or 0.0)}"
    if majority is None:
        return f"{text}."
    return f"{text}; always predicting the most frequent class gives {percent(majority.error or 0.0)}."


def _judge(mark: Literal["good", "look"], text: str, own: Score, majority: Score | None) -> Check:
    """Return a finding that is bad if the model is no better than the majority vote."""
    if majority is None or own.is_better_than(majority):
        return Check(mark, text)
    return Check("bad", f"{text} In error or in log-loss it is no better than that.")


def _check_against_baselines(summary: Summary) -> list[Check]:
    own, others = summary.scores[0], [score for score in summary.scores[2:] if score.is_comparable]
    better = [
        score.name
        for score in others
        if (score.error is not None and score.error < (own.error or 0.0))
        or (score.log_loss is not None and score.log_loss < (own.log_loss or 0.0))
    ]
    if better:
        return [Check("look", f"{join_names(better)} did better in error or log-loss; see section 2.")]
    if others and not summary.has_training_rows and len(np.unique(summary.codes)) > 1:
        names = join_names([score.name for score in others])
        return [Check("good", f"None of the other methods given ({names}) did better.")]
    return []


def _check_calibration(summary: Summary) -> Check:
    calibration = summary.calibration
    n_bins, n_misses = len(calibration.counts), calibration.n_misses
    is_fine = n_misses <= calibration.max_misses
    where = "On these rows, which include training rows, its" if summary.has_training_rows else "Its"
    text = (
        f"{where} probabilities agree with the observed shares in {'' if is_fine else 'only '}{n_bins - n_misses} of "
        f"{format_count(n_bins, 'bin')}"
    )
    if is_fine and n_misses:
        text += f"; chance can explain the other {n_misses}"
    return Check("good" if is_fine and not summary.has_training_rows else "look", f"{text}.")


def _check_rows(summary: Summary) -> list[Check]:
    found, n_rows, n_outside = [], len(summary.codes), summary.n_outside
    if n_rows < FEW_ROWS:
        verb, rows = "is" if n_rows == 1 else "are", format_count(n_rows, summary.row_noun)
        found.append(Check("look", f"There {verb} only {rows}, so the scores are uncertain; see their intervals."))
    if n_outside:
        verb, rows = "has" if n_outside == 1 else "have", format_count(n_outside, summary.row_noun)
        text = (
            f"{rows} ({percent(n_outside / n_rows)}) {verb} a feature outside the range of the training rows, where "
            "the model extrapolates."
        )
        is_fine = n_outside <= FEW_OUTSIDE * n_rows and not summary.has_training_rows
        found.append(Check("good" if is_fine else "look", text))
    if summary.overlap is None:
        found.append(Check("look", NO_FINGERPRINT))
    return found


def _check_fit(summary: Summary) -> Check:
    if summary.model.inference == "gibbs":
        complaints = in_words(list(summary.diagnoses))
        if not complaints:
            return Check("good", "The chains agree, and there are enough draws for the intervals.")
        return Check("look", f"{format_count(len(complaints), 'warning')} about the chains; see section 6.")
    if not summary.model.has_posterior_spread:
        return Check(
            "look",
            "It was fitted with posterior modes only, so there are no intervals and its certainty is unknown. To "
            f"assess it, {HOW_TO_GET_INTERVALS}.",
        )
    text = "Intervals come from the members of a bootstrap, an approximation of the posterior."
    n_modes, n_needed = summary.model.posterior.regressions[0].n_draws, n_draws_needed(LEVEL)
    if n_modes < n_needed:
        members = f"{format_count(n_modes, 'member')} {'is' if n_modes == 1 else 'are'}"
        text += f" {members} too few for {LEVEL:.0%} intervals; refit with n_members={n_needed} or more."
    return Check("look", text)
