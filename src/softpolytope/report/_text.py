"""Sentences about a model, its scores and its fit; plain text, to be escaped where it is put into the page."""

import numpy as np

from softpolytope.inspection import MAX_R_HAT, in_words, n_draws_needed
from softpolytope.report._phrases import Check, count, listed, percent
from softpolytope.report._scores import LEVEL, N_BINS
from softpolytope.report._summary import Content, Side
from softpolytope.report._verdict import NO_FINGERPRINT, has_training_rows, verdict_on_training_rows

# Fewer test rows than this leave scores wide open.
FEW_ROWS = 200
# Warnings about chains that are told in full.
MAX_COMPLAINTS = 3


# What the model is.


def model_sentences(content: Content) -> list[str]:
    """What the model is, how it was fitted, what a probability means: three sentences."""
    return [_what(content), _fitted(content), _meaning(content)]


def _what(content: Content) -> str:
    names = [f"“{name}”" for name in content.classes]
    shown = listed(names) if len(names) <= 6 else f"{len(names)} classes"
    n_experts = sum(side.n_experts for side in content.sides)
    parts = [f"{side.n_experts} for “{side.target}”" for side in content.sides]
    split = f" ({listed(parts)})" if 1 < len(parts) <= 6 else ""
    planes = count(n_experts * content.n_layers, "hyperplane")
    each = "" if n_experts == 1 else ", one each" if content.n_layers == 1 else f", {content.n_layers} each"
    return (
        f"The model, a {content.kind}, tells {shown} apart by {count(len(content.features.names), 'feature')}; its "
        f"best {content.one_of} has {count(n_experts, 'expert')}{split} with {planes}{each}."
    )


def _fitted(content: Content) -> str:
    posterior = content.sides[0].posterior
    both = "" if len(content.posterior.regressions[0].labelings) == 1 else " and once more with the labels swapped"
    if content.inference == "gibbs":
        n_chains, n_sweeps = posterior.log_likelihood.shape
        text = (
            f"It was fitted by drawing from the posterior, {count(n_chains, 'chain')} of {count(n_sweeps, 'sweep')} "
            f"with the first {content.first_kept:,} discarded{both}, of which {count(len(posterior.draws), 'draw')} "
            f"{'was' if len(posterior.draws) == 1 else 'were'} kept"
        )
    else:
        weights = ", each with random weights of the rows" if content.has_draws else ""
        text = (
            f"It was fitted by climbing the posterior from {count(len(posterior.draws), 'start')}{weights}{both}, "
            "which gave a mode each"
        )
    if content.estimate == "best":
        return f"{text}; it predicts with the {content.one_of} of highest training likelihood alone."
    return f"{text}; it predicts with the average over all of them."


def _meaning(content: Content) -> str:
    is_binary = len(content.classes) == 2
    name = f"“{content.classes[1]}”" if is_binary else "a class"
    over = "averaged" if is_binary else "averaged and made to sum to one over the classes"
    return (
        "Every expert adds to a rate λ, its weight times how far the row is inside its half-spaces, and the "
        f"probability is 1 \u2212 exp(\u2212λ), {over}: of rows that are given 0.8 for {name}, eight in ten should "
        "turn out to be it, which section 2 puts to the test."
    )


# Whether to trust it.


def checks(content: Content) -> list[Check]:
    """What speaks for and against the model, in the order in which a sceptic would ask."""
    first = verdict_on_training_rows(content) or _against_majority(content)
    return [*first, *_against_others(content), _calibrated(content), *_rows(content), _fit(content)]


def _against_majority(content: Content) -> list[Check]:
    own, majority = content.scores[0], content.scores[1]
    if len(np.unique(content.codes)) == 1:
        only = content.classes[int(content.codes[0])]
        text = f"All test rows are “{only}”: they cannot show whether the model tells the classes apart."
        return [Check("bad", text)]
    text = (
        f"It errs on {percent(own.error or 0.0)} of the test rows; always naming the most frequent class would err on "
        f"{percent(majority.error or 0.0)}."
    )
    if own.is_better_than(majority):
        return [Check("good", text)]
    return [Check("bad", f"{text} In error or in log-loss it is no better than that.")]


def _against_others(content: Content) -> list[Check]:
    own, others = content.scores[0], [score for score in content.scores[2:] if score.is_comparable]
    better = [
        score.name
        for score in others
        if (score.error is not None and score.error < (own.error or 0.0))
        or (score.log_loss is not None and score.log_loss < (own.log_loss or 0.0))
    ]
    if better:
        return [Check("look", f"{listed(better)} did better in error or log-loss; see section 2.")]
    if others and not has_training_rows(content) and len(np.unique(content.codes)) > 1:
        return [Check("good", f"No other method given ({listed([s.name for s in others])}) did better.")]
    return []


def _calibrated(content: Content) -> Check:
    calibration = content.calibration
    n_missed = int((~calibration.is_covered).sum())
    is_fine = n_missed <= calibration.most_misses
    head = "Its probabilities come true" if is_fine else "Its probabilities do not come true everywhere"
    tail = f"; that {n_missed} {'does' if n_missed == 1 else 'do'} not may be chance" if is_fine and n_missed else ""
    if has_training_rows(content):
        head = f"On the rows given, some or all of which it was trained on, {head[0].lower()}{head[1:]}"
    return Check(
        "good" if is_fine and not has_training_rows(content) else "look",
        f"{head}: in {len(calibration.counts) - n_missed} of {count(len(calibration.counts), 'bin')} the share seen "
        f"agrees with the probability given{tail}.",
    )


def _rows(content: Content) -> list[Check]:
    n_rows = len(content.codes)
    found = []
    if n_rows < FEW_ROWS:
        text = f"There are only {count(n_rows, content.noun)}: the scores are uncertain, see the intervals."
        found.append(Check("look", text))
    if content.n_outside:
        share = percent(content.n_outside / n_rows)
        verb = "has" if content.n_outside == 1 else "have"
        text = (
            f"{count(content.n_outside, content.noun)} ({share}) {verb} a feature outside the range of the training "
            "rows, where the model extrapolates."
        )
        is_little = content.n_outside <= 0.02 * n_rows and not has_training_rows(content)
        found.append(Check("good" if is_little else "look", text))
    if content.overlap is None:
        found.append(Check("look", NO_FINGERPRINT))
    return found


def _fit(content: Content) -> Check:
    if content.inference == "gibbs":
        complaints = in_words(list(content.diagnoses))
        if not complaints:
            return Check("good", "The chains agree, and there are draws enough for the intervals.")
        return Check("look", f"{count(len(complaints), 'warning')} about the chains, see section 6.")
    if content.has_draws:
        text = "Intervals come from bootstrapped modes, an approximation of the posterior."
        n_modes, n_needed = len(content.sides[0].posterior.draws), n_draws_needed(LEVEL)
        if n_modes < n_needed:
            text += f" {count(n_modes, 'mode')} are too few for {LEVEL:.0%}: fit with {n_needed} restarts or more."
    else:
        text = (
            "It was fitted by modes alone: there are no intervals, and how sure it is of itself is not known. Fit with "
            'inference="gibbs", or with bootstrap=True and 20 restarts or more, to see that.'
        )
    return Check("look", text)


# The other sections.


def event_of(content: Content) -> str:
    """What the probabilities of the calibration are of."""
    return f"“{content.classes[1]}”" if len(content.classes) == 2 else "the class decided for"


def calibration_sentences(content: Content) -> list[str]:
    """What the chart shows."""
    calibration = content.calibration
    event, n_bins = event_of(content), len(calibration.counts)
    n_missed = int((~calibration.is_covered).sum())
    how = (
        f"Rows are put into {N_BINS} bins by the probability of {event}, and there are rows in {n_bins}. Each dot is "
        f"the share that turned out to be {event}, each bar its {LEVEL:.0%} band (Beta law, Jeffreys' prior)."
    )
    what = (
        f"{count(n_missed, 'band')} of {n_bins} {'misses' if n_missed == 1 else 'miss'} the diagonal; up to "
        f"{calibration.most_misses} would be no surprise for a perfectly calibrated model. On average, share and "
        f"probability are {calibration.mean_gap:.3f} apart."
    )
    return [how, what]


def rule_words(side: Side, number: int) -> tuple[str, str]:
    """The region of an expert, and what it did on the rows of the report."""
    rule = side.rules[number]
    said = rule.region.in_words()
    if not rule.n_yes:
        return said, "Votes yes for none of these rows."
    share = percent(rule.n_right / rule.n_yes)
    return said, f"Votes yes for {count(rule.n_yes, 'row')}, {share} of them “{side.target}”."


def weights_sentence(content: Content, side: Side) -> str:
    """How many experts there are and how sure that is."""
    low, middle, high = int(side.n_active.min()), float(np.median(side.n_active)), int(side.n_active.max())
    many = f"{low}" if low == high else f"between {low} and {high} (median {middle:g})"
    noun = "expert" if low == high == 1 else "experts"
    return f"“{side.target}”: {many} {noun} over {count(len(side.n_active), content.one_of)}."


def what_spread(content: Content) -> str:
    """What bands are over, and what they are worth."""
    if not content.has_draws:
        return "modes, which is not the posterior's spread"
    return f"{'draws' if content.inference == 'gibbs' else 'bootstrapped modes'} ({LEVEL:.0%} band)"


def fit_sentences(content: Content) -> list[str]:
    """What chains or modes say of the fit, in plain words."""
    if content.inference == "gibbs":
        return _chain_sentences(content)
    agreement = content.agreement
    if agreement is None:
        told = (
            "Each climb ended with random weights of its own for the rows (the weighted likelihood bootstrap): the "
            "spread of the modes approximates the posterior's, roughly."
        )
        return [told]
    if agreement.n_modes == 1:
        return ["There is a single mode: nothing tells how far another climb would have ended from it."]
    found = (
        f"{agreement.n_modes} climbs from random starts ended in modes of the posterior. On the {content.noun}s all of "
        f"them decide {percent(agreement.same_decision)} alike, and the largest and smallest probability they give a "
        f"row are {agreement.mean_spread:.3f} apart on average."
    )
    worth = (
        "Modes are peaks, not draws: their spread is much narrower than the posterior's, so agreement among them is no "
        'measure of certainty. For intervals, fit with inference="gibbs", or with bootstrap=True and 20 restarts or '
        "more."
    )
    return [found, worth]


def _chain_sentences(content: Content) -> list[str]:
    if not content.diagnoses:
        return ["There are too few draws to tell whether the chains agree."]
    complaints = in_words(list(content.diagnoses))
    worst = max(item.r_hat for item in content.diagnoses)
    fewest = min(min(item.bulk_ess, item.tail_ess) for item in content.diagnoses)
    head = (
        f"Of {len(content.diagnoses)} quantities the largest R-hat is {worst:.2f} (chains agree if it is at most "
        f"{MAX_R_HAT}), and the draws of the worst are worth {fewest:.0f} independent ones."
    )
    told = complaints[:MAX_COMPLAINTS]
    if len(complaints) > len(told):
        told.append(
            f"{count(len(complaints) - len(told), 'more warning')} of this kind; the table below has the numbers."
        )
    return [head, *(told or ["Nothing speaks against reading the intervals."])]
