"""The page as one HTML file.

`templates/` has the markup and the text that explains the page, `_text` and `_checks` the sentences about the model,
and `static/` has the style sheet and the scripts. Jinja2 escapes every text; only the style sheet, the scripts and the
JSON of `to_script_json` are inserted as they are.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from numpy.typing import ArrayLike

from softpolytope._deprecation import accept_old_keyword
from softpolytope._format import format_count
from softpolytope.geometry import TOO_WEAK
from softpolytope.model import FittedClassifier
from softpolytope.report._payload import make_payload
from softpolytope.report._scores import LEVEL
from softpolytope.report._sections import make_sections
from softpolytope.report._summary import MAX_RULES, THRESHOLD, ReportOptions, Summary, summarize_model

# In an order in which each follows those that it uses.
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


@accept_old_keyword("elsewhere", "reference_scores")
def write_report(  # noqa: PLR0913  # the options of the page
    classifier: FittedClassifier,
    X: ArrayLike,
    y: ArrayLike,
    path: str | Path,
    *,
    feature_names: Sequence[str] | None = None,
    title: str | None = None,
    baselines: Mapping[str, Mapping[str, float]] | None = None,
    reference_scores: Mapping[str, Mapping[str, float]] | None = None,
    held_out: Mapping[str, Mapping[str, float]] | None = None,
    raw_columns: Sequence[str] | None = None,
    raw_rows: ArrayLike | None = None,
) -> None:
    """Write one HTML page about a fitted classifier and its predictions for labeled rows.

    The page needs no network and no other file. It describes the model, its scores and calibration, its half-spaces as
    rules, the quality of the fit and the prediction for every row; on a map, the browser evaluates the model itself.

    Parameters
    ----------
    classifier : classifier
        One of the four classifiers of this package, fitted, with any number of classes and features. For a
        `TableClassifier`, pass its `named_classifier()`, and rows encoded by its `encode`.
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
        Scores of other methods on the same rows, by name: "error" (a share), "log_loss" (nats), "brier". The majority
        vote is always included.
    reference_scores : dict of str to dict, optional
        Scores of the same form that were measured on other rows. They are shown but not compared.
    held_out : dict of str to dict, optional
        Scores of the same form on rows held out during the fit, such as `TableClassifier.held_out_`: those of the
        classifier as "softpolytope", those of the most frequent class as "majority vote".
    raw_columns : sequence of str, optional
        Names of the columns of `raw_rows`.
    raw_rows : array-like of shape (n_samples, n_columns), optional
        Rows as the reader knows them, texts or numbers (None or NaN where one is missing), to show in the table; by
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
    options = ReportOptions(title, feature_names, baselines, reference_scores, held_out, raw_columns, raw_rows)
    page = render_page(summarize_model(classifier, X, y, options))
    # A lone surrogate is valid in a Python string, but no file can hold it.
    Path(path).write_bytes(page.encode("utf-8", "replace"))


def render_page(summary: Summary) -> str:
    """Render the page."""
    script = script_text()
    template = make_environment().get_template("page.html")
    return template.render(
        summary=summary,
        sections=make_sections(summary),
        policy=_security_policy(script),
        style=Markup(_read("page.css")),  # noqa: S704  # a file of this package
        data=Markup(to_script_json(make_payload(summary))),  # noqa: S704  # no text in it can end the element
        script=Markup(script),  # noqa: S704  # files of this package
    )


@cache
def make_environment() -> Environment:
    """Return the environment of the templates: all texts are escaped, and missing values are errors."""
    environment = Environment(
        # PackageLoader finds no folder in an editable install.
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"count": format_count, "enumerate": enumerate}
    environment.globals |= {
        "level": f"{LEVEL:.0%}",
        "max_rules": MAX_RULES,
        "threshold": f"{THRESHOLD:g}",
        "too_weak": TOO_WEAK,
    }
    return environment


def to_script_json(data: object) -> str:
    """Return JSON for a script element: no text in it can end the element or begin a comment."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def script_text() -> str:
    """Return the page's script, in a scope of its own."""
    return '(function () {\n"use strict";\n' + "\n".join(_read(name) for name in SCRIPTS) + "})();\n"


def _security_policy(script: str) -> str:
    """Return a policy that loads nothing and allows this script alone, in case a text ever evades the escaping."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data: blob:"


def _read(name: str) -> str:
    return files("softpolytope.report").joinpath("static", name).read_text(encoding="utf-8")
