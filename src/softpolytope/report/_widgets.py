"""The parts of the page that its program brings to life: the map with its controls, and the table of rows."""

from collections.abc import Iterable
from html import escape

from softpolytope.report._payload import kept_draws, largest_difference
from softpolytope.report._phrases import count
from softpolytope.report._scores import LEVEL
from softpolytope.report._summary import THRESHOLD, Content


def paragraphs(texts: Iterable[str]) -> str:
    """Each text a paragraph."""
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


def select(name: str, label: str, options: Iterable[tuple[str, str]]) -> str:
    """A labeled choice between values with texts."""
    shown = "".join(f'<option value="{value}">{escape(text)}</option>' for value, text in options)
    return f'<label>{label} <select id="{name}">{shown}</select></label>'


def without_script(what: str) -> str:
    """What those see whose browser runs no program."""
    return f'<noscript><p class="missing">{what} needs JavaScript, which is off.</p></noscript>'


# The map.


def map_section(content: Content) -> str:
    """A canvas with its controls; the program adds the experts' switches, the legend and the text."""
    return (
        f"{paragraphs(_map_words(content))}{without_script('The map')}"
        f'<div class="needs-script"><div class="map-side">{_canvas()}{_map_form(content)}</div>'
        '<p id="map-text" role="status" aria-live="polite"></p>'
        '<p id="map-cross" role="status" aria-live="polite"></p></div>'
    )


def _map_words(content: Content) -> list[str]:
    if content.estimate == "mean":
        first = (
            "Your browser evaluates the model itself at every point shown. Change the threshold to see which side rows "
            f"fall on, or switch experts off to see what each contributes: experts are those of the best "
            f"{content.one_of}, so the map then shows that one instead of the average."
        )
    else:
        first = (
            f"Your browser evaluates the model itself, its best {content.one_of}, at every point shown. Change the "
            "threshold, or switch experts off to see what each contributes."
        )
    found = [first]
    if len(content.features.names) > 2:
        second = (
            "The colors are for the two features chosen, with all others held; dots are rows with their own values of "
            "the others, so a dot may lie on a color that is not its own decision."
        )
        found.append(second)
    n_kept = len(kept_draws(content))
    if content.estimate == "mean" and n_kept < content.n_draws:
        found.append(
            f"To stay quick, the average on the map is over {n_kept} of the {content.n_draws} {content.one_of}s, "
            f"evenly spaced; on the {content.noun}s its probabilities are within {largest_difference(content):.3f} of "
            "the model's. Numbers of rows below the map are by the model's own probabilities."
        )
    return found


def _canvas() -> str:
    return (
        '<div><div id="map-frame"><canvas id="map-canvas" tabindex="0" role="application" '
        'aria-roledescription="decision map" aria-label="Decision map" aria-describedby="map-keys map-text"></canvas>'
        '<div id="map-tip" role="tooltip" hidden></div></div><img id="map-print" alt="" hidden>'
        '<div id="map-legend" class="legend"></div><p id="map-keys" class="note">With the keyboard: focus the map and '
        "move the cross with the arrow keys, in larger steps with Shift; Escape removes it.</p></div>"
    )


def _map_form(content: Content) -> str:
    names = [(str(number), name) for number, name in enumerate(content.features.names)]
    classes = [(str(number), name) for number, name in enumerate(content.classes)]
    fields = [select("map-class", "Class", classes)] if len(classes) > 2 else []
    fields.append(select("map-first", "Across", names))
    if len(names) > 1:
        fields.append(select("map-second", "Up", names))
    if len(names) > 2:
        fields.append(select("map-hold", "Other features at", [("medians", "their medians"), ("row", "those of row")]))
        fields.append(
            '<label id="map-row-label" hidden>Row <input id="map-row" type="number" min="0" '
            f'max="{len(content.codes) - 1}" value="0"></label>'
        )
    fields.append(
        select("map-dots", "Dots", [("some", f"{content.noun}s"), ("wrong", "wrong ones only"), ("none", "none")])
    )
    return (
        f'<form id="map-form" aria-label="What the map shows"><div class="fields">{"".join(fields)}</div>'
        '<label class="slider">Threshold <output id="map-threshold-out" for="map-threshold">0.50</output>'
        '<input id="map-threshold" type="range" min="0.01" max="0.99" step="0.01" value="0.5"></label>'
        f'{_views(content)}<fieldset id="map-experts"><legend>Experts of the best {content.one_of}</legend></fieldset>'
        '<label class="check"><input id="map-lines" type="checkbox" checked> Outlines of regions and lines of faces'
        "</label></form>"
    )


def _views(content: Content) -> str:
    """The choice between average and best draw, if there is one."""
    if content.estimate == "best":
        return ""
    average = count(len(kept_draws(content)), content.one_of)
    return (
        '<fieldset><legend>Shown</legend><label class="check"><input type="radio" name="view" value="average" checked> '
        f'Average over {average}</label><label class="check"><input type="radio" name="view" value="best"> '
        f"Best {content.one_of} alone</label></fieldset>"
    )


# The table.


def rows_section(content: Content) -> str:
    """The table's controls and frame; the program fills it, page by page."""
    if content.has_draws:
        interval = f"Intervals hold {LEVEL:.0%} of the {content.one_of}s."
    else:
        interval = "There are no intervals: this model has modes, not draws from the posterior (section 6)."
    told = (
        f"Least certain first; press a heading to sort. {interval} The explanation is that of the best "
        f"{content.one_of}: an expert says yes if it alone lifts the probability over {THRESHOLD:g}; a criterion is "
        "one of its hyperplanes, the one on which its vote hangs; SD are standard deviations of the training rows."
    )
    pages = "".join(
        f'<button type="button" id="rows-{name.lower()}">{name}</button>' for name in ("First", "Back", "Next", "Last")
    )
    return (
        f"{paragraphs([told])}{without_script('The table')}"
        '<div class="needs-script"><form id="rows-form" aria-label="Which rows to show"><div class="fields">'
        f'<label class="check"><input id="rows-wrong" type="checkbox"> Wrong ones only '
        f"({int(content.is_wrong.sum()):,})</label>"
        '<label>Rows a page <select id="rows-size"><option>10</option><option selected>25</option><option>100</option>'
        '</select></label></div></form><p id="rows-status" role="status" aria-live="polite"></p>'
        '<div class="wide" role="region" tabindex="0" aria-label="Table of rows"><table id="rows-table">'
        f'<caption class="unseen">{content.noun.capitalize()}s with probability, label, decision and explanation'
        "</caption>"
        "<thead></thead><tbody></tbody></table></div>"
        f'<nav class="pager" aria-label="Pages of the table">{pages}<span id="rows-page"></span></nav></div>'
    )
