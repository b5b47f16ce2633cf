"""The report in a real browser: a headless Chromium or Chrome of this machine, driven by Playwright."""

import os
import shutil
import time

import numpy as np
import pytest
from axe_playwright_python.base import AXE_FILE_PATH
from playwright.sync_api import sync_playwright

from softpolytope.report import write_report

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
CHROMIUM = os.environ.get("SOFTPOLYTOPE_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium or Chrome on PATH; SOFTPOLYTOPE_BROWSER may name one"),
]
PATIENCE = 30.0


class Browser:
    """One page of a browser that records console messages, errors and requests."""

    def __init__(self, page):
        self.page = page
        self.messages, self.requests = [], []
        page.on("console", lambda message: self.messages.append(message.text))
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def run(self, script, *arguments):
        """Run a script as the body of a function of the page and return its result."""
        # The text goes into the expression itself: the page's content security policy forbids eval.
        return self.page.evaluate(f"(given) => (function () {{ {script} }}).apply(null, given)", list(arguments))


@pytest.fixture(scope="module")
def chromium():
    """One browser process for all tests."""
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        process = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        yield process
        process.close()


@pytest.fixture
def visit(chromium, tmp_path):
    """Write the report of a model and open it; in a theme, at a width."""
    contexts = []

    def go(model, X, y, theme="light", width=1200, **given):
        write_report(model, X, y, tmp_path / "report.html", **given)
        contexts.append(chromium.new_context(color_scheme=theme, viewport={"width": width, "height": 900}))
        browser = Browser(contexts[-1].new_page())
        browser.page.goto((tmp_path / "report.html").as_uri())
        settle(browser)
        return browser

    yield go
    for context in contexts:
        context.close()


def settle(browser):
    """Wait until the map is drawn in full and its text is up to date."""
    end = time.monotonic() + PATIENCE
    while browser.run("return document.getElementById('map-canvas').dataset.state") != "ready":
        assert time.monotonic() < end, "the map was not drawn in time"
        time.sleep(0.02)
    time.sleep(0.4)


def picture(browser):
    """The pixels of the map."""
    return browser.run("return document.getElementById('map-canvas').toDataURL()")


def text(browser, name):
    """The text of an element."""
    return browser.run("return document.getElementById(arguments[0]).textContent", name)


def change(browser, name, value):
    """Set a control as a user does, events included."""
    browser.run(
        """const item = document.getElementById(arguments[0]);
        item.value = arguments[1];
        for (const kind of ["input", "change"]) item.dispatchEvent(new Event(kind, { bubbles: true }));""",
        name,
        str(value),
    )
    settle(browser)


def click(browser, selector):
    """Click an element."""
    browser.run("document.querySelector(arguments[0]).click()", selector)
    settle(browser)


def column(browser, number):
    """Texts of a column of the table."""
    return browser.run(
        """const lines = [...document.querySelectorAll("#rows-table tbody tr")];
        return lines.map((line) => line.cells[arguments[0]].innerText);""",
        number,
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_loads_without_errors_or_requests(visit, any_model, theme):
    """The console stays empty and nothing but the file itself is fetched."""
    browser = visit(*any_model, theme=theme)
    assert browser.messages == []
    assert len(browser.requests) == 1
    assert browser.requests[0].endswith("report.html")
    assert "At threshold 0.50" in text(browser, "map-text")


def test_hostile_texts_do_not_run(visit, modes):
    """Neither while the page is parsed nor when its script shows them."""
    model, X, y = modes
    evil = "</script><img src=x onerror='window.hit = 1'><script>window.hit = 1</script>"
    rows = [[evil, k] for k in range(len(X))]
    browser = visit(model, X, y, title=evil, feature_names=[evil, "n"], raw_columns=[evil, "k"], raw_rows=rows)
    assert column(browser, 6)[0].startswith(evil[:40])
    click(browser, ".more")
    assert browser.run("return window.hit") is None
    assert browser.page.title() == evil
    assert browser.messages == []


def test_probabilities_agree(visit, any_model):
    """The page computes the same as `predict_proba`, to 1e-9."""
    model, X, y = any_model
    browser = visit(model, X, y)
    found = browser.run("return arguments[0].map((x) => softpolytope.probabilities(x))", X.tolist())
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=0, atol=1e-9)


def test_text_counts_the_rows_as_python_does(visit, modes):
    """The counts are those of `predict_proba` at the threshold."""
    model, X, y = modes
    browser = visit(model, X, y)
    change(browser, "map-threshold", 0.3)
    n_yes = int((model.predict_proba(X)[:, 1] > 0.3).sum())
    assert f"At threshold 0.30, {n_yes} of {len(X)} test rows" in text(browser, "map-text")


def test_threshold_changes_the_picture(visit, any_model):
    """Setting it back restores the picture."""
    browser = visit(*any_model)
    before = picture(browser)
    change(browser, "map-threshold", 0.8)
    assert picture(browser) != before
    change(browser, "map-threshold", 0.5)
    assert picture(browser) == before


def test_switching_an_expert_off_shows_the_best_draw_without_it(visit, modes):
    """The text names the view, the picture differs from the best draw's, and the average restores everything."""
    browser = visit(*modes)
    average = picture(browser)
    click(browser, "input[name=view][value=best]")
    best = picture(browser)
    before = text(browser, "map-text")
    assert "best mode only." in before
    assert best != average
    click(browser, "#map-experts input")
    assert picture(browser) != best
    assert "1 expert switched off" in text(browser, "map-text")
    assert text(browser, "map-text") != before
    click(browser, "input[name=view][value=average]")
    assert picture(browser) == average


def test_expert_switch_leaves_the_average(visit, modes):
    """Experts are those of the best mode, so the map switches to that view."""
    browser = visit(*modes)
    click(browser, "#map-experts input")
    assert browser.run("return document.querySelector('input[name=view]:checked').value") == "best"


def test_features_classes_and_held_row_change_the_picture(visit, several):
    """Each choice shows another plane, and the two features are never the same."""
    browser = visit(*several)
    seen = [picture(browser)]
    for name, value in (("map-class", 2), ("map-hold", "row"), ("map-row", 7), ("map-dots", "none")):
        change(browser, name, value)
        assert picture(browser) not in seen
        seen.append(picture(browser))
    first = browser.run("return document.getElementById('map-first').value")
    second = browser.run("return document.getElementById('map-second').value")
    change(browser, "map-first", second)
    assert browser.run("return document.getElementById('map-second').value") == first


def test_keyboard_moves_a_cross_and_reports_its_probability(visit, any_model):
    """The text has the probability of the model at the cross, with other features at their medians."""
    browser = visit(*any_model)
    before = picture(browser)
    browser.run(
        """const map = document.getElementById("map-canvas");
        map.focus();
        map.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));"""
    )
    settle(browser)
    assert picture(browser) != before
    assert "P(" in text(browser, "map-cross")


def test_dots_have_tooltips(visit, modes):
    """The tooltip names the row under the pointer and its probability."""
    browser = visit(*modes)
    shown = browser.run(
        """const map = document.getElementById("map-canvas"), box = map.getBoundingClientRect();
        const tip = document.getElementById("map-tip");
        for (let x = 0; x < box.width; x += 6) for (let y = 0; y < box.height; y += 6) {
          map.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + x, clientY: box.top + y }));
          if (!tip.hidden) return tip.innerText;
        }"""
    )
    assert "Row " in shown
    assert "P(ring) = " in shown


def test_every_column_sorts(visit, any_model):
    """Up and down, as aria-sort says, and the focus stays on the heading."""
    model, X, y = any_model
    browser = visit(model, X, y)
    change(browser, "rows-size", 100)
    n_columns = browser.run("return document.querySelectorAll('#rows-table thead th').length")
    for number in range(n_columns):
        for wanted in ("ascending", "descending"):
            head = f"#rows-table thead th:nth-child({number + 1})"
            browser.run("document.querySelector(arguments[0]).click()", f"{head} button")
            if browser.run("return document.querySelector(arguments[0]).ariaSort", head) != wanted:
                browser.run("document.querySelector(arguments[0]).click()", f"{head} button")
            assert browser.run("return document.querySelector(arguments[0]).ariaSort", head) == wanted
            assert browser.run("return document.activeElement.closest('th').cellIndex") == number
    click(browser, "#rows-table thead th:first-child button")
    assert [int(cell) for cell in column(browser, 0)] == list(range(min(len(X), 100)))


@pytest.mark.parametrize("n_rows", [90, 450])
def test_numbers_with_holes_sort_by_size(visit, modes, n_rows):
    """As a list of values and in single precision; missing values come last in both directions."""
    model, X, y = modes
    numbers = [None if k % 9 == 3 else (-1) ** k * 0.37 * (k * 7 % n_rows) for k in range(n_rows)]
    chosen = np.arange(n_rows) % len(X)
    browser = visit(model, X[chosen], y[chosen], raw_columns=["n"], raw_rows=[[value] for value in numbers])
    change(browser, "rows-size", 100)
    place = browser.run("return document.querySelectorAll('#rows-table thead th').length") - 1
    known = sorted(value for value in numbers if value is not None)
    missing = [None] * (n_rows - len(known))
    for wanted in (known + missing, known[::-1] + missing):
        click(browser, f"#rows-table thead th:nth-child({place + 1}) button")
        assert [numbers[int(cell)] for cell in column(browser, 0)] == wanted[:100]
        click(browser, "#rows-last")
        assert [numbers[int(cell)] for cell in column(browser, 0)] == wanted[100 * ((n_rows - 1) // 100) :]
        assert column(browser, place)[-len(missing) :] == [""] * len(missing)
    assert browser.messages == []


def test_least_certain_come_first_and_misclassified_can_be_selected(visit, modes):
    """The order is the same as in Python."""
    model, X, y = modes
    browser = visit(model, X, y)
    wanted = np.argsort(np.abs(model.predict_proba(X)[:, 1] - 0.5), kind="stable")
    assert [int(cell) for cell in column(browser, 0)] == wanted[:25].tolist()
    click(browser, "#rows-wrong")
    wrong = wanted[(model.predict(X) != y)[wanted]]
    assert [int(cell) for cell in column(browser, 0)] == wrong[:25].tolist()
    assert f"{len(wrong)} misclassified rows" in text(browser, "rows-status")


def test_pages_turn(visit, modes):
    """To the last page and back; buttons are disabled where there is nowhere to go."""
    browser = visit(*modes)
    first = column(browser, 0)
    assert browser.run("return document.getElementById('rows-back').disabled")
    click(browser, "#rows-last")
    assert text(browser, "rows-page") == "Page 6 of 6"
    assert browser.run("return document.getElementById('rows-next').disabled")
    click(browser, "#rows-first")
    assert column(browser, 0) == first


def test_ten_thousand_rows(visit, modes):
    """All are on the page, sort and can be filtered."""
    model = modes[0]
    X = np.random.default_rng(5).normal(size=(10_000, 2))
    y = np.where((X**2).sum(axis=1) > 1.2, "ring", "disc")
    browser = visit(model, X, y)
    change(browser, "rows-size", 100)
    click(browser, "#rows-table thead th:nth-child(2) button")
    lowest = np.argsort(model.predict_proba(X)[:, 1].astype(np.float32), kind="stable")
    assert [int(cell) for cell in column(browser, 0)] == lowest[:100].tolist()
    click(browser, "#rows-wrong")
    assert f"of {(model.predict(X) != y).sum():,} misclassified rows" in text(browser, "rows-status")
    assert browser.messages == []


def test_fits_narrow_screens(visit, any_model):
    """At 360 pixels nothing sticks out; wide tables scroll in their own frame."""
    browser = visit(*any_model, width=360)
    assert browser.run("return document.documentElement.scrollWidth") <= 360


def test_prints_the_map_as_a_picture(visit, modes):
    """Before printing there is an image with the map's text, and the table is whole."""
    browser = visit(*modes)
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run("return document.getElementById('map-print').src").startswith("data:image/png")
    assert "At threshold" in browser.run("return document.getElementById('map-print').alt")
    assert len(column(browser, 0)) == len(modes[1])
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert len(column(browser, 0)) == 25
    assert len(browser.page.pdf()) > 10_000


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 360])
def test_axe_finds_no_fault(visit, any_model, theme, width):
    """Contrast, names, roles, structure, with details of a row and all tables open."""
    browser = visit(*any_model, theme=theme, width=width)
    browser.run("for (const item of document.querySelectorAll('details')) item.open = true")
    click(browser, ".more")
    browser.page.evaluate(AXE_FILE_PATH.read_text(encoding="utf-8"))
    found = browser.page.evaluate("axe.run().then((found) => found.violations)")
    assert [(item["id"], item["impact"], item["nodes"][0]["html"][:200]) for item in found] == []
