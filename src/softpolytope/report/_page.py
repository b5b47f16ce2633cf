"""Puts the page together: one file that needs no other."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from softpolytope.report._given import ReportOptions
from softpolytope.report._payload import make_payload
from softpolytope.report._sections import make_sections, titles_of
from softpolytope.report._summary import Content, summarize_model

# In the order in which each needs those before it.
SCRIPTS = (
    "decode.js",
    "model.js",
    "explain.js",
    "contours.js",
    "surface.js",
    "draw.js",
    "mapparts.js",
    "map.js",
    "table.js",
    "page.js",
)


def write_report(  # noqa: PLR0913  # what a report is about, and what it may be given besides
    classifier: Any,
    X: ArrayLike,
    y: ArrayLike,
    path: str | Path,
    *,
    feature_names: Sequence[str] | None = None,
    title: str | None = None,
    baselines: Mapping[str, Mapping[str, float]] | None = None,
    elsewhere: Mapping[str, Mapping[str, float]] | None = None,
    held_out: Mapping[str, Mapping[str, float]] | None = None,
    raw_columns: Sequence[str] | None = None,
    raw_rows: Any = None,
) -> None:
    """Write one HTML page about a fitted classifier and how it does on test rows.

    The page needs no network and no other file. It tells what the model is, how often it is right, its half-spaces as
    rules, how it was fitted, and what it says of every row; a map evaluates the model in the browser.

    Parameters
    ----------
    classifier : classifier
        One of the four of this package, fitted, with any number of classes and features. Of a `TableClassifier` give
        its `named_classifier()`, and rows by its `encode`.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Test rows, as the classifier takes them. Rows that it was trained on are recognized by the fingerprint in the
        model: the page then says so first, and judges the model by the other rows and by `held_out`.
    y : array-like of shape (n_samples,)
        Their labels.
    path : str or Path
        The file to write.
    feature_names : sequence of str, optional
        Names of the features, by default those of the data frame the classifier was fitted with.
    title : str, optional
        The heading.
    baselines : dict of str to dict, optional
        Scores of other methods on the same rows, by name: "error" (a share), "log_loss" (nats), "brier". A majority
        vote is always there.
    elsewhere : dict of str to dict, optional
        The same of scores on other rows: they are shown, and compared with nothing.
    held_out : dict of str to dict, optional
        The same of rows held out when the classifier was fitted, as `TableClassifier.held_out_` has them: its own as
        "softpolytope", those of the most frequent class as "majority vote".
    raw_columns : sequence of str, optional
        Names of the columns of `raw_rows`.
    raw_rows : array-like of shape (n_samples, n_columns), optional
        The rows as the reader knows them, texts or numbers (None or NaN where one is missing), for the table; by
        default X.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from softpolytope import SumSoftplusClassifier
    >>> from softpolytope.datasets import make_circle
    >>> from softpolytope.report import write_report
    >>> X, y = make_circle(200, random_state=0)
    >>> model = SumSoftplusClassifier(random_state=0).fit(X[::2], y[::2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "report.html"
    ...     write_report(model, X[1::2], y[1::2], path, title="Ring or disc")
    ...     "Ring or disc" in path.read_text(encoding="utf-8")
    True
    """
    given = ReportOptions(title, feature_names, baselines, raw_columns, raw_rows, elsewhere, held_out)
    page = render_page(summarize_model(classifier, X, y, given))
    # A lone surrogate is text to Python, but no file can hold it.
    Path(path).write_bytes(page.encode("utf-8", "replace"))


def render_page(content: Content) -> str:
    """The text of the page."""
    script = script_text()
    links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title in titles_of(content).items())
    title = escape(content.title)
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f"<title>{title}</title><style>{_file('page.css')}</style></head>"
        '<body><a class="skip" href="#main">Skip to the report</a>'
        f'<header><h1>{title}</h1><nav aria-label="Sections"><ol>{links}</ol></nav></header>'
        f'<main id="main" tabindex="-1">{make_sections(content)}</main>'
        "<footer><p>Written by softpolytope. Everything is in this file; it loads nothing from elsewhere.</p></footer>"
        f'<script type="application/json" id="data">{script_json(make_payload(content))}</script>'
        f"<script>{script}</script></body></html>"
    )


def script_json(data: Any) -> str:
    """JSON that may stand in a script element: no text in it can end the element or begin a comment."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def script_text() -> str:
    """The page's program, in a scope of its own."""
    return '(function () {\n"use strict";\n' + "\n".join(_file(name) for name in SCRIPTS) + "})();\n"


def _policy(script: str) -> str:
    """Nothing may be loaded and no script run but this very one, should a text ever get past the escaping."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data: blob:"


def _file(name: str) -> str:
    return files("softpolytope.report").joinpath("static", name).read_text(encoding="utf-8")
