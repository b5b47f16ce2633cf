"""The sections of the page as HTML; every text from outside is escaped here, in `controls` or in `charts`."""

from html import escape

from softpolytope.geometry import TOO_WEAK
from softpolytope.report import _charts as charts
from softpolytope.report import _text as words
from softpolytope.report._phrases import count, percent
from softpolytope.report._scores import LEVEL, N_BINS, Calibration, Score
from softpolytope.report._summary import MAX_RULES, THRESHOLD, Content, Side
from softpolytope.report._verdict import has_training_rows
from softpolytope.report._widgets import map_section, paragraphs, rows_section

MARKS = {"good": ("✓", "Good"), "look": ("!", "Look"), "bad": ("✗", "Bad")}
# Diagnoses that are listed; probabilities at single rows of many classes would fill pages.
MAX_DIAGNOSES = 40
TITLES = {
    "model": "What the model is",
    "scores": "How often it is right",
    "rules": "Its half-spaces as rules",
    "map": "Decision map",
    "weights": "Weights of the experts",
    "fit": "How well it was fitted",
    "rows": "The test rows",
}


def titles_of(content: Content) -> dict[str, str]:
    """Titles of the sections by their names."""
    return TITLES | {"rows": f"The {content.noun}s"}


def make_sections(content: Content) -> str:
    """All of them, numbered."""
    titles = titles_of(content)
    bodies = {
        "model": model_section(content),
        "scores": scores_section(content),
        "rules": rules_section(content),
        "map": map_section(content),
        "weights": weights_section(content),
        "fit": fit_section(content),
        "rows": rows_section(content),
    }
    return "".join(
        f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">'
        f'<span class="number">{number}</span> {titles[name]}</h2>{body}</section>'
        for number, (name, body) in enumerate(bodies.items(), 1)
    )


def table(label: str, heads: list[str], lines: str, kind: str = "") -> str:
    """A table that scrolls sideways where there is no room, also by keyboard."""
    cells = "".join(f'<th scope="col">{head}</th>' for head in heads)
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{label}"><table class="{kind}"><thead>'
        f"<tr>{cells}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


# What the model is.


def model_section(content: Content) -> str:
    """The figures, three sentences, and what to look at before trusting it."""
    items = []
    for check in words.checks(content):
        sign, name = MARKS[check.mark]
        items.append(
            f'<li class="{check.mark}"><span class="mark" aria-hidden="true">{sign}</span>'
            f'<span><span class="unseen">{name}: </span>{escape(check.text)}</span></li>'
        )
    sentences = f'<p class="lead">{escape(" ".join(words.model_sentences(content)))}</p>'
    return f'{_tiles(content)}{sentences}<h3>Before you trust it</h3><ul class="checks">{"".join(items)}</ul>'


def _tiles(content: Content) -> str:
    """The figures that everyone asks for first."""
    own, majority = content.scores[0], content.scores[1]
    low, high = (percent(end) for end in own.error_interval or (0.0, 1.0))
    n_experts = sum(side.n_experts for side in content.sides)
    n_wrong = int(content.is_wrong.sum())
    on = ""
    if has_training_rows(content):
        on = f" on {'old and new ' if content.noun == 'row' else ''}{content.noun}s"
    tiles = [
        (f"Error{on}", percent(own.error or 0.0), f"{low} to {high}, {LEVEL:.0%} interval"),
        (f"Log-loss{on}", f"{own.log_loss:.3f}", f"majority vote {majority.log_loss:.3f}"),
        (f"Brier score{on}", f"{own.brier:.3f}", f"majority vote {majority.brier:.3f}"),
        (f"{content.noun.capitalize()}s", f"{len(content.codes):,}", f"{count(n_wrong, 'row')} decided wrongly"),
        ("Experts", f"{n_experts}", count(n_experts * content.n_layers, "hyperplane")),
    ]
    if has_training_rows(content) and content.held_out is not None:
        tiles.insert(0, ("Error on held-out rows", percent(content.held_out[0].error or 0.0), "when it was fitted"))
    shown = "".join(
        f'<div><dt>{name}</dt><dd><span class="figure">{figure}</span>{note}</dd></div>' for name, figure, note in tiles
    )
    return f'<dl class="tiles">{shown}</dl>'


# Scores.


def scores_section(content: Content) -> str:
    """Scores beside those of others, and calibration."""
    low, high = (percent(end) for end in content.scores[0].error_interval or (0.0, 1.0))
    told = (
        f"On {count(len(content.codes), content.noun)}. So many rows leave the error of this model uncertain: "
        f"{low} to {high} ({LEVEL:.0%} interval). Smaller is better in all columns. The majority vote knows the shares "
        "of the classes among these very rows, and nothing else."
    )
    if content.overlap is not None and content.overlap.has_training_rows:
        told = f"{content.overlap.in_words()} {told}"
    if not all(score.is_comparable for score in content.scores):
        told += " Scores on other rows are beside them, and compared with none: other rows are easier or harder."
    lines = "".join(_score_line(score, content.scores) for score in content.scores)
    scores = table("Scores", ["Method", "Error", "Log-loss, nats", "Brier score"], lines, "scores")
    return f"{paragraphs([told])}{scores}<h3>Do its probabilities come true?</h3>{_calibration(content)}"


def _score_line(score: Score, scores: tuple[Score, ...]) -> str:
    cells = []
    for key in ("error", "log_loss", "brier"):
        value = getattr(score, key)
        known = [getattr(other, key) for other in scores if other.is_comparable and getattr(other, key) is not None]
        text = "\u2013" if value is None else percent(value) if key == "error" else f"{value:.4f}"
        # The best is also told in words: bold type is not read out.
        if score.is_comparable and value is not None and len(known) > 1 and value == min(known):
            text = f'<strong>{text}</strong> <span class="note">best</span>'
        cells.append(f"<td>{text}</td>")
    return f'<tr><th scope="row">{escape(score.name)}</th>{"".join(cells)}</tr>'


def _calibration(content: Content) -> str:
    event = words.event_of(content)
    chart = charts.calibration_chart(content.calibration, f"probability of {event}", f"share that was {event}")
    keys = {
        "dot": "share seen and its band",
        "missed": "the same, where the band misses",
        "guide": "comes true exactly",
        "bar": "rows in the bin",
    }
    legend = "".join(f'<span><span class="key {kind}"></span>{text}</span>' for kind, text in keys.items())
    heads = ["Bin", "Rows", "Mean probability", "Share seen", f"{LEVEL:.0%} band", "Agrees"]
    numbers = table("Calibration", heads, _calibration_lines(content.calibration))
    return (
        f'<div class="side"><figure>{chart}<p class="legend">{legend}</p></figure>'
        f"<div>{paragraphs(words.calibration_sentences(content))}"
        f"<details><summary>The same as a table</summary>{numbers}</details></div></div>"
    )


def _calibration_lines(calibration: Calibration) -> str:
    lines = []
    for place, low in enumerate(calibration.lower.tolist()):
        band = calibration.bands[place]
        lines.append(
            f'<tr><th scope="row">{low:.3f} to {low + 1 / N_BINS:.3f}</th><td>{calibration.counts[place]:,}</td>'
            f"<td>{calibration.predicted[place]:.3f}</td><td>{calibration.observed[place]:.3f}</td>"
            f"<td>{band[0]:.3f} to {band[1]:.3f}</td><td>{'yes' if calibration.is_covered[place] else 'no'}</td></tr>"
        )
    return "".join(lines)


# Rules.


def rules_section(content: Content) -> str:
    """The regions of the experts, labeling by labeling."""
    told = (
        f"The best {content.one_of}, at a threshold of {THRESHOLD:g}. Features are in the units of the rows, the one "
        "of the largest effect first; the factors of the others are relative to it."
    )
    return paragraphs([told]) + "".join(_rules_of(side) for side in content.sides)


def _rules_of(side: Side) -> str:
    """A list of one labeling's experts; those that never say yes are only counted."""
    items, n_weak = [], 0
    for number in range(len(side.rules)):
        said, done = words.rule_words(side, number)
        if TOO_WEAK in said:
            n_weak += 1
            continue
        head, _, rest = said.partition(": ")
        items.append(
            f'<li><p><strong>{escape(head)}</strong>: {escape(rest)}</p><p class="note">{escape(done)}</p></li>'
        )
    left = []
    if n_weak:
        left.append(f"{count(n_weak, 'expert')} {'is' if n_weak == 1 else 'are'} {TOO_WEAK}.")
    if side.n_experts > len(side.rules):
        n_left = count(side.n_experts - len(side.rules), "lighter expert")
        left.append(f"{n_left} beyond the {MAX_RULES} heaviest.")
    notes = "".join(f'<p class="note">{text}</p>' for text in left)
    return (
        f'<h3>Experts for “{escape(side.target)}”</h3><p class="theorem">{escape(side.polytopes.theorem)}</p>'
        f'<ul class="rules">{"".join(items)}</ul>{notes}'
    )


# Weights and fit.


def weights_section(content: Content) -> str:
    """Sorted weights with bands, labeling by labeling."""
    told = (
        "The heavier an expert, the larger the part of lambda it can give. Experts have no identity from one "
        f"{content.one_of} to the next, so weights are compared by rank: bars are medians, lines the spread over "
        f"{words.what_spread(content)}."
    )
    if content.has_draws:
        told += " An expert whose line reaches zero may not be needed."
    figures = [_weights_figure(content, side, number) for number, side in enumerate(content.sides)]
    return f'{paragraphs([told])}<div class="grid-of-charts">{"".join(figures)}</div>'


def _weights_figure(content: Content, side: Side, number: int) -> str:
    said = words.weights_sentence(content, side)
    bands = "; ".join(
        f"{rank}: {middle:.2g} ({low:.2g} to {high:.2g})"
        for rank, (low, middle, high) in enumerate(side.weight_bands.tolist(), 1)
    )
    # The labeling of a class itself has the second color, as its side of the map has.
    color = 1 - number % len(content.posterior.regressions[0].labelings)
    label = f"Weights by rank, median and spread. {bands}"
    chart = charts.weights_chart(side.weight_bands, label, f"weight side{color}")
    return f"<figure><figcaption>{escape(said)}</figcaption>{chart}</figure>"


def fit_section(content: Content) -> str:
    """Traces and diagnostics of chains, or the likelihood of modes."""
    figures = []
    for side in content.sides:
        caption = f"Experts for “{side.target}”: log-likelihood of the training rows"
        if content.inference == "gibbs":
            traces = side.posterior.log_likelihood
            label = f"{caption}, {count(len(traces), 'chain')} over {count(traces.shape[1], 'sweep')}"
            chart = charts.trace_chart(traces, content.first_kept, label)
            caption += f", one line a chain; {_discarded(content.first_kept)}"
        else:
            values = side.posterior.draws.log_likelihood.tolist()
            label = f"{caption} by mode: {', '.join(f'{value:.5g}' for value in values)}"
            chart = charts.modes_chart(values, label)
            caption += " by mode, the best one ringed"
        figures.append(f"<figure><figcaption>{escape(caption)}.</figcaption>{chart}</figure>")
    told = paragraphs(words.fit_sentences(content))
    return f'{told}<div class="grid-of-charts">{"".join(figures)}</div>{_diagnoses(content)}'


def _discarded(n_sweeps: int) -> str:
    """Return the part of a caption that tells of the burn-in."""
    if n_sweeps == 1:
        return "the first sweep (shaded) was discarded"
    return f"the first {n_sweeps:,} sweeps (shaded) were discarded"


def _diagnoses(content: Content) -> str:
    if not content.diagnoses:
        return ""
    lines = "".join(
        f'<tr><th scope="row">{escape(item.name)}</th><td>{item.r_hat:.3f}</td><td>{item.bulk_ess:.0f}</td>'
        f"<td>{item.tail_ess:.0f}</td><td>{'yes' if item.is_fine else 'no'}</td></tr>"
        for item in content.diagnoses[:MAX_DIAGNOSES]
    )
    heads = ["Quantity", "R-hat", "Effective draws, center", "Effective draws, tails", "Chains agree"]
    return f"<details><summary>R-hat and effective draws</summary>{table('Diagnostics', heads, lines)}</details>"
