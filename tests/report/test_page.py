"""The page as text: structure, escaping, size."""

import base64
import hashlib
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest
from jinja2 import UndefinedError

from softpolytope import SumStackSoftplusClassifier
from softpolytope.report import write_report
from softpolytope.report._page import SCRIPTS, make_environment, script_text, to_script_json

HOSTILE = [
    "</script><script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>'",
    "<!--<script>",
    "&lt;b&gt; ${alert(1)} ]]>",
    "zażółć \u2028\u202e\U0001f600 \ud800",
]
VOID = {"meta", "img", "input", "br", "link"}


class Page(HTMLParser):
    """Elements, their attributes, and the texts of some."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.faults, self.texts = [], [], [], {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        """Note an element."""
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        """Note one that ends out of order."""
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data):
        """Keep a text by the element it is in."""
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)

    def of(self, *tags):
        """Attributes of the elements of some kinds."""
        return [attributes for tag, attributes in self.elements if tag in tags]


def written(path, model, X, y, **given):
    """The text of a report."""
    write_report(model, X, y, path / "report.html", **given)
    return (path / "report.html").read_text(encoding="utf-8")


@pytest.fixture
def page(any_model, tmp_path):
    """The parsed report of each of the models."""
    return Page(written(tmp_path, *any_model))


def test_elements_are_closed(page):
    """Every element is closed, in order."""
    assert not page.faults
    assert not page.open


def test_all_sections_are_there(page):
    """There are seven, each labeled by its heading, in the order of the links."""
    sections = [section["id"] for section in page.of("section")]
    assert sections == ["model", "scores", "rules", "map", "weights", "fit", "rows"]
    assert [link["href"] for link in page.of("a")][1:] == [f"#{name}" for name in sections]
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {section["aria-labelledby"] for section in page.of("section")} <= set(ids)


def test_headings_do_not_skip_levels(page):
    """There is one h1, and each heading is at most one level deeper than the one before."""
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h\d", tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert max(np.diff(levels)) <= 1


def test_landmarks_and_language(page):
    """Assistive technology finds the language and the main parts."""
    assert page.of("html")[0]["lang"] == "en"
    for tag in ("header", "main", "nav", "footer", "title"):
        assert page.of(tag)
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in page.of("meta")


def test_charts_have_names(page):
    """Every chart has a label for those who do not see it."""
    assert len(page.of("svg")) >= 3
    assert all(attributes["role"] == "img" and attributes["aria-label"] for attributes in page.of("svg"))


def test_nothing_is_loaded(page):
    """No element refers to another file or host, and the policy forbids it."""
    for _, attributes in page.elements:
        for name in ("src", "href", "action", "srcset", "data"):
            assert attributes.get(name, "#").startswith("#")
    policy = page.of("meta")[1]["content"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "http" not in policy


def test_data_are_json(page):
    """The data of the script can be parsed and contain rows and labelings."""
    data = json.loads(page.texts["script"][0])
    assert data["rows"]["n"] > 0
    assert all(labelings for labelings in data["model"]["regressions"])


def test_same_model_same_page(modes, tmp_path):
    """The page does not depend on time or randomness."""
    assert written(tmp_path, *modes) == written(tmp_path, *modes)


def report_about(word, path):
    """Return a page with one word in every text that a user can give."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] > 0, word + "1", word + "2")
    model = SumStackSoftplusClassifier(max_experts=2, inference="map", n_restarts=1, random_state=0).fit(X, y)
    given = {
        "feature_names": [word, word + "2", "plain"],
        "title": word,
        "baselines": {word: {"error": 0.5}},
        "raw_columns": ["id", word],
        "raw_rows": [[k, word] for k in range(60)],
    }
    return Page(written(path, model, X, y, **given))


@pytest.mark.parametrize("place", range(len(HOSTILE)))
def test_hostile_texts_stay_texts(place, tmp_path):
    """Labels, names, titles, methods and cells with markup in them add no element and no attribute."""
    found, plain = report_about(HOSTILE[place], tmp_path), report_about("word", tmp_path)
    assert not found.faults
    assert [(tag, sorted(names)) for tag, names in found.elements] == [
        (tag, sorted(names)) for tag, names in plain.elements
    ]
    # No file can hold half of a pair of surrogates.
    seen = HOSTILE[place].encode("utf-8", "replace").decode()
    assert "".join(found.texts["h1"]) == seen
    data = json.loads(found.texts["script"][0])
    assert data["features"]["names"] == [seen, seen + "2", "plain"]
    assert data["classes"] == [seen + "1", seen + "2"]
    assert data["rows"]["raw"][1]["list"] == [seen]


def test_script_data_cannot_end_the_script():
    """Characters that could end the script or begin a comment are escaped, and the data stay the same."""
    text = to_script_json(HOSTILE[:4])
    assert not set("<>&") & set(text)
    assert json.loads(text) == HOSTILE[:4]
    assert "</script" not in script_text()


def test_raw_rows_are_what_the_table_shows(modes, tmp_path):
    """Columns as the user knows them, numbers and texts."""
    model, X, y = modes
    rows = [[f"city {k % 3}", k, None] for k in range(len(X))]
    data = json.loads(
        Page(written(tmp_path, model, X, y, raw_columns=["c", "k", "gone"], raw_rows=rows)).texts["script"][0]
    )
    assert [column["name"] for column in data["rows"]["raw"]] == ["c", "k", "gone"]
    assert data["rows"]["raw"][0]["list"] == ["city 0", "city 1", "city 2"]
    assert data["rows"]["raw"][2]["list"] == [""]


def test_one_row_and_one_class(modes, tmp_path):
    """A single row makes a page."""
    model, X, y = modes
    assert "All test rows are" in written(tmp_path, model, X[:1], y[:1])


def test_bootstrapped_modes_have_intervals(tmp_path):
    """The page has intervals and says that they are approximate."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    model = SumStackSoftplusClassifier(max_experts=2, n_members=4, random_state=0)
    text = written(tmp_path, model.fit(X, X[:, 0] > 0), X, X[:, 0] > 0)
    assert "so their spread approximates that of the posterior" in text
    assert "With 4 members, the Monte Carlo error of probabilities at 10 training rows is at most 0." in text
    assert "low" in json.loads(Page(text).texts["script"][0])["rows"]


@pytest.mark.slow
def test_ten_thousand_rows_take_less_than_two_megabytes(tmp_path):
    """With twenty features, all values fit; with sixty, those of the most certain rows are left out."""
    rng = np.random.default_rng(2)
    for n_features in (20, 60):
        X = rng.normal(size=(10_000, n_features))
        y = (X[:, :2] ** 2).sum(axis=1) > 1.4
        model = SumStackSoftplusClassifier(max_experts=5, inference="map", n_restarts=2, random_state=0).fit(
            X[:300], y[:300]
        )
        text = written(tmp_path, model, X, y)
        data = json.loads(Page(text).texts["script"][0])
        assert len(text.encode()) < 2_000_000
        assert data["rows"]["n"] == 10_000
        assert (data["rows"]["nValues"] == 10_000) == (n_features == 20)


def test_all_scripts_and_templates_are_used_and_short():
    """No file in the installed folders is left over or over the limits of the style guide."""
    room = files("softpolytope.report")
    scripts = [item for item in (room / "static").iterdir() if item.name.endswith(".js")]
    assert {item.name for item in scripts} == set(SCRIPTS)
    templates = list((room / "templates").iterdir())
    sections = {"model", "scores", "rules", "map", "weights", "fit", "rows"}
    assert {item.name for item in templates} == {f"{name}.html" for name in {"page", "macros"} | sections}
    assert all(len(item.read_text(encoding="utf-8").splitlines()) < 350 for item in (*scripts, *templates))


def test_templates_escape_and_refuse_missing_values():
    """Texts are escaped without a filter, and a misspelled name is an error."""
    environment = make_environment()
    template = environment.from_string("{{ text }}")
    assert template.render(text="<b>'\"&") == "&lt;b&gt;&#39;&#34;&amp;"
    with pytest.raises(UndefinedError, match="text"):
        template.render()
    assert not any(
        "|safe" in (environment.loader.get_source(environment, name)[0]) for name in environment.list_templates()
    )


def test_policy_has_the_hash_of_the_script(page):
    """The browser runs this script and no other."""
    script = page.texts["script"][-1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in page.of("meta")[1]["content"]


def test_old_keyword_still_works(modes, tmp_path):
    """`elsewhere` is the old name of `reference_scores`."""
    with pytest.warns(FutureWarning, match="'elsewhere' is now 'reference_scores'"):
        assert "A method" in written(tmp_path, *modes, elsewhere={"A method": {"error": 0.1}})


def test_importing_the_package_does_not_import_the_template_engine():
    """Only the report needs it."""
    program = "import sys, softpolytope; print('jinja2' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603
    assert run.stdout.strip() == "False"
