"""Contents of the sections, ready for their templates: `model` goes to `templates/model.html`, and so on."""

from collections.abc import Iterator
from typing import NamedTuple

from softpolytope._format import format_count
from softpolytope.geometry import TOO_WEAK
from softpolytope.report._charts import Chart, calibration_chart, modes_chart, trace_chart, weights_chart
from softpolytope.report._checks import check_model
from softpolytope.report._payload import kept_draws, max_difference
from softpolytope.report._scores import LEVEL, N_BINS, Calibration, Score
from softpolytope.report._summary import LabelingSummary, Summary
from softpolytope.report._text import (
    fit_caption,
    fit_sentences,
    model_paragraph,
    percent,
    rule_sentences,
    weights_caption,
)

# Diagnoses listed in the table; probabilities at single rows of many classes would fill pages.
MAX_DIAGNOSES = 40


class Tile(NamedTuple):
    """One of the figures at the top of the page."""

    name: str
    figure: str
    note: str


class ScoreCell(NamedTuple):
    """One score in the table of scores."""

    text: str
    is_best: bool


def make_sections(summary: Summary) -> list[dict[str, object]]:
    """Return the sections in their order, each with the name of its template, its title and its contents."""
    return [
        {"name": "model", "title": "About the model"} | _model(summary),
        {"name": "scores", "title": "Scores and calibration"} | _scores(summary),
        {"name": "rules", "title": "Experts as rules", "labelings": list(map(_rule_list, summary.labelings))},
        {
            "name": "map",
            "title": "Decision map",
            "n_kept": len(kept_draws(summary)),
            "max_difference": max_difference(summary),
        },
        {"name": "weights", "title": "Expert weights", "figures": _weights_figures(summary)},
        {"name": "fit", "title": "Quality of the fit"} | _fit(summary),
        {"name": "rows", "title": f"The {summary.row_noun}s"},
    ]


def _model(summary: Summary) -> dict[str, object]:
    return {"tiles": _tiles(summary), "paragraph": model_paragraph(summary), "checks": check_model(summary)}


def _tiles(summary: Summary) -> list[Tile]:
    own, majority = summary.scores[:2]
    low, high = (percent(end) for end in own.error_interval or (0.0, 1.0))
    where = ""
    if summary.has_training_rows:
        where = f" on {'old and new ' if summary.row_noun == 'row' else ''}{summary.row_noun}s"
    n_wrong, n_planes = int(summary.is_wrong.sum()), summary.n_experts * summary.n_layers
    rows = f"{summary.row_noun.capitalize()}s"
    tiles = [
        Tile(f"Error{where}", percent(own.error or 0.0), f"{low} to {high}, {LEVEL:.0%} interval"),
        Tile(f"Log-loss{where}", f"{own.log_loss:.3f}", f"majority vote {majority.log_loss:.3f}"),
        Tile(f"Brier score{where}", f"{own.brier:.3f}", f"majority vote {majority.brier:.3f}"),
        Tile(rows, f"{len(summary.codes):,}", f"{format_count(n_wrong, 'row')} misclassified"),
        Tile("Experts", f"{summary.n_experts}", format_count(n_planes, "hyperplane")),
    ]
    if summary.has_training_rows and summary.held_out is not None:
        tiles.insert(
            0, Tile("Error on held-out rows", percent(summary.held_out[0].error or 0.0), "measured when it was fitted")
        )
    return tiles


def _scores(summary: Summary) -> dict[str, object]:
    event = f"“{summary.classes[1]}”" if len(summary.classes) == 2 else "the predicted class"
    return {
        "interval": [percent(end) for end in summary.scores[0].error_interval or (0.0, 1.0)],
        "scores": [(score.name, list(_score_cells(score, summary.scores))) for score in summary.scores],
        "has_reference_scores": not all(score.is_comparable for score in summary.scores),
        "event": event,
        "chart": calibration_chart(summary.calibration, f"probability of {event}", f"share that was {event}"),
        "n_bins": N_BINS,
        "bins": list(_bin_cells(summary.calibration)),
    }


def _score_cells(score: Score, scores: tuple[Score, ...]) -> Iterator[ScoreCell]:
    for key in ("error", "log_loss", "brier"):
        value = getattr(score, key)
        known = [getattr(other, key) for other in scores if other.is_comparable and getattr(other, key) is not None]
        shown = "\u2013" if value is None else percent(value) if key == "error" else f"{value:.4f}"
        is_best = score.is_comparable and value is not None and len(known) > 1 and value == min(known)
        yield ScoreCell(shown, is_best)


def _bin_cells(calibration: Calibration) -> Iterator[list[str]]:
    numbers = (calibration.lower, calibration.counts, calibration.predicted, calibration.observed)
    columns = (*numbers, calibration.bands, calibration.is_covered)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for low, n_rows, predicted, observed, band, is_covered in rows:
        edges, interval = f"{low:.3f} to {low + 1 / N_BINS:.3f}", f"{band[0]:.3f} to {band[1]:.3f}"
        yield [edges, f"{n_rows:,}", f"{predicted:.3f}", f"{observed:.3f}", interval, "yes" if is_covered else "no"]


def _rule_list(labeling: LabelingSummary) -> dict[str, object]:
    """List the experts of one labeling; those that never vote yes are only counted."""
    sentences = [rule_sentences(labeling, number) for number in range(len(labeling.rules))]
    rules = [(*region.split(": ", 1), votes) for region, votes in sentences if TOO_WEAK not in region]
    return {
        "target": labeling.target,
        "theorem": labeling.polytopes.theorem,
        "rules": rules,
        "n_weak": len(sentences) - len(rules),
        "n_left_out": labeling.n_experts - len(sentences),
    }


def _weights_figures(summary: Summary) -> list[tuple[str, Chart]]:
    n_labelings = len(summary.model.posterior.regressions[0].labelings)
    figures = []
    for number, labeling in enumerate(summary.labelings):
        bands = "; ".join(
            f"{rank}: {middle:.2g} ({low:.2g} to {high:.2g})"
            for rank, (low, middle, high) in enumerate(labeling.weight_bands.tolist(), 1)
        )
        # The labeling of a class itself has the second color, like its side of the map.
        kind = f"weight side{1 - number % n_labelings}"
        chart = weights_chart(labeling.weight_bands, f"Weights by rank, median and spread. {bands}", kind)
        figures.append((weights_caption(summary, labeling), chart))
    return figures


def _fit(summary: Summary) -> dict[str, object]:
    diagnoses = [
        [
            item.name,
            f"{item.r_hat:.3f}",
            f"{item.bulk_ess:.0f}",
            f"{item.tail_ess:.0f}",
            "yes" if item.is_fine else "no",
        ]
        for item in summary.diagnoses[:MAX_DIAGNOSES]
    ]
    figures = [(fit_caption(summary, labeling), _fit_chart(summary, labeling)) for labeling in summary.labelings]
    return {"sentences": fit_sentences(summary), "figures": figures, "diagnoses": diagnoses}


def _fit_chart(summary: Summary, labeling: LabelingSummary) -> Chart:
    start = f"Experts for “{labeling.target}”: training log-likelihood"
    if summary.model.inference == "gibbs":
        traces = labeling.posterior.log_likelihood
        label = f"{start}, {format_count(len(traces), 'chain')} over {format_count(traces.shape[1], 'sweep')}"
        return trace_chart(traces, summary.model.n_burn_in, label)
    values = labeling.posterior.draws.log_likelihood.tolist()
    return modes_chart(values, f"{start} by {summary.draw_noun}: {', '.join(f'{value:.5g}' for value in values)}")
