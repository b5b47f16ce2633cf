"""Numbers of a report against plain ways to get them."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.metrics import brier_score_loss, log_loss

from softpolytope import SumSoftplusClassifier
from softpolytope.report import _payload as payload
from softpolytope.report import _text as words
from softpolytope.report._payload import encoded_column, kept_draws, largest_difference, make_payload
from softpolytope.report._scores import Calibration, calibration_of, majority_score
from softpolytope.report._sections import scores_section, weights_section
from softpolytope.report._summary import ReportOptions, summarize_model, weight_bands

NOTHING = ReportOptions()


def decoded(item):
    """Numbers out of base64, as the page decodes them."""
    import base64  # noqa: PLC0415  # used here only

    return np.frombuffer(base64.b64decode(item["data"]), dtype="<" + item["type"])


def test_scores_are_those_of_scikit_learn(any_model):
    """Error, log-loss and, with two classes, the Brier score."""
    model, X, y = any_model
    own = summarize_model(model, X, y, NOTHING).scores[0]
    probabilities = model.predict_proba(X)
    assert own.error == pytest.approx(1.0 - model.score(X, y))
    assert own.log_loss == pytest.approx(log_loss(y, probabilities, labels=model.classes_))
    if len(model.classes_) == 2:
        assert own.brier == pytest.approx(brier_score_loss(y == model.classes_[1], probabilities[:, 1]))
    assert own.error_interval[0] <= own.error <= own.error_interval[1] or own.error == 0.0


def test_majority_vote_knows_the_shares():
    """Its log-loss is the entropy of the labels."""
    found = majority_score(np.array([0, 0, 0, 1]), 2)
    assert found.error == 0.25
    assert found.log_loss == pytest.approx(stats.entropy([0.75, 0.25]))
    assert found.brier == pytest.approx(0.75 * 0.25)


def test_baselines_are_beside_it(modes):
    """Those given are there, with what is missing left open."""
    scores = summarize_model(*modes, ReportOptions(baselines={"SVM": {"error": 0.1}, "LR": {"log_loss": 0.3}})).scores
    assert [(score.name, score.error, score.log_loss) for score in scores[2:]] == [
        ("SVM", 0.1, None),
        ("LR", None, 0.3),
    ]


def test_scores_on_other_rows_are_compared_with_nothing(modes):
    """They are shown, and neither they nor the model are called better or best for it."""
    elsewhere = {"LR, elsewhere": {"error": 0.0, "log_loss": 0.0}, "SVM, elsewhere": {"error": 1.0}}
    content = summarize_model(*modes, ReportOptions(elsewhere=elsewhere))
    assert [(score.name, score.error, score.is_comparable) for score in content.scores[2:]] == [
        ("LR, elsewhere", 0.0, False),
        ("SVM, elsewhere", 1.0, False),
    ]
    assert not any("elsewhere" in check.text for check in words.checks(content))
    told = scores_section(content)
    assert "compared with none" in told
    for name in elsewhere:
        assert "best" not in told.partition(name)[2].partition("</tr>")[0]
    # What is of these rows is compared as ever.
    own = told.partition("This model")[2].partition("</tr>")[0]
    assert own.count("best") == 3
    given = ReportOptions(baselines={"LR": {"error": 0.0}}, elsewhere={"SVM, elsewhere": {"error": 0.0}})
    content = summarize_model(*modes, given)
    assert [check.text for check in words.checks(content) if "did better" in check.text] == [
        "LR did better in error or log-loss; see section 2."
    ]
    assert "compared with none" not in scores_section(summarize_model(*modes, NOTHING))


@pytest.mark.parametrize("values", [{"error": 12.5}, {"log_loss": float("nan")}])
def test_impossible_baselines_are_refused(modes, values):
    """Per cent in the place of shares, and numbers that are none."""
    with pytest.raises(ValueError, match="baselines"):
        summarize_model(*modes, ReportOptions(baselines={"SVM": values}))
    with pytest.raises(ValueError, match="elsewhere"):
        summarize_model(*modes, ReportOptions(elsewhere={"SVM": values}))


def test_calibration_has_fifteen_bins_and_beta_bands(rng):
    """Bands are quantiles of Beta(k + 1/2, n - k + 1/2)."""
    probabilities = rng.random(3000)
    is_true = rng.random(3000) < probabilities
    found = calibration_of(probabilities, is_true)
    assert found.counts.sum() == 3000
    assert len(found.counts) == 15
    inside = (probabilities >= 2 / 15) & (probabilities < 3 / 15)
    k, n = is_true[inside].sum(), inside.sum()
    np.testing.assert_allclose(found.bands[2], stats.beta(k + 0.5, n - k + 0.5).ppf([0.055, 0.945]))
    assert (~found.is_covered).sum() <= found.most_misses
    # The test has teeth: probabilities that are too large are seen.
    assert (~calibration_of(probabilities, rng.random(3000) < probabilities**2).is_covered).sum() > found.most_misses


def test_probabilities_of_zero_and_one_have_a_bin():
    """The last bin holds its right end."""
    assert calibration_of(np.array([0.0, 1.0]), np.array([False, True])).lower.tolist() == [0.0, 14 / 15]


def test_rules_are_those_of_the_polytopes(modes):
    """In the order of weights, with the votes they have on the test rows, under the names given."""
    model, X, y = modes
    content = summarize_model(model, X, y, ReportOptions(feature_names=["east", "north"]))
    for side, item in zip(content.sides, model.polytopes(0.5), strict=True):
        votes = item.votes(X)
        for number, (rule, region) in enumerate(zip(side.rules, item.regions, strict=False)):
            own = votes[region.expert - 1]
            assert (rule.n_yes, rule.n_right) == (own.sum(), (y[own] == item.target).sum())
            said = words.rule_words(side, number)[0]
            assert said == region.in_words().replace("x0", "east").replace("x1", "north")


def test_weights_are_compared_by_rank(chains):
    """Bands are quantiles of the sorted weights over draws."""
    draws = chains[0].posterior_.regressions[0].labelings[0].draws
    largest = [draws[number].expert_weights[draws[number].is_active].max() for number in range(len(draws))]
    np.testing.assert_allclose(weight_bands(draws)[0], np.quantile(largest, [0.055, 0.5, 0.945]))


def test_modes_are_compared_not_trusted(modes):
    """Plain modes have agreement but no intervals; chains the reverse."""
    content = summarize_model(*modes, NOTHING)
    assert not content.has_draws
    assert content.agreement.n_modes == 3
    assert 0.0 <= content.agreement.same_decision <= 1.0
    assert any("not draws" in sentence for sentence in words.fit_sentences(content))
    assert "low" not in make_payload(content)["rows"]
    assert 'inference="gibbs"' in words.checks(content)[-1].text
    assert "may not be needed" not in weights_section(content)


def test_few_bootstrapped_modes_are_said_to_be_few(modes):
    """Their intervals are shown, and what is wrong with them; of enough modes nothing is."""
    model, X, y = modes
    for n_restarts, is_few in ((3, True), (18, False)):
        fitted = clone(model).set_params(bootstrap=True, n_restarts=n_restarts).fit(X, y)
        content = summarize_model(fitted, X, y, NOTHING)
        assert "low" in make_payload(content)["rows"]
        assert ("too few for 89%" in words.checks(content)[-1].text) is is_few
        assert "may not be needed" in weights_section(content)


def test_intervals_are_those_of_predict_interval(chains, several):
    """Of the second of two classes, or of the class decided for."""
    for model, X, y in (chains, several):
        rows = make_payload(summarize_model(model, X, y, NOTHING))["rows"]
        wanted = model.predict_interval(X)
        if wanted.ndim == 3:
            wanted = wanted[np.arange(len(X)), np.searchsorted(model.classes_, model.predict(X))]
        np.testing.assert_allclose(np.column_stack([decoded(rows["low"]), decoded(rows["high"])]), wanted, atol=1e-7)


def test_rows_travel_nearly_exactly(any_model):
    """Values to single precision of their range, labels and decisions exactly."""
    model, X, y = any_model
    rows = make_payload(summarize_model(model, X, y, NOTHING))["rows"]
    for column, wanted in zip(rows["values"], X.T, strict=True):
        found = decoded(column)
        found = np.array(column["list"])[found] if "list" in column else column["start"] + found.astype(float)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6 * np.ptp(wanted))
    assert model.classes_[decoded(rows["labels"])].tolist() == list(y)
    assert model.classes_[decoded(rows["decisions"])].tolist() == model.predict(X).tolist()


@pytest.mark.parametrize(
    ("column", "kind", "listed"),
    [
        (np.array([3.0, 1.0, 3.0]), "u1", [1, 3]),
        (np.array(["b", None, "a"], dtype=object), "u1", ["", "a", "b"]),
        (np.array([True, False], dtype=object), "u1", ["False", "True"]),
        (np.array([1.5, np.nan], dtype=object), "u1", [1.5, None]),
        (np.array([None, 10.0, 9.0, None], dtype=object), "u1", [9, 10, None]),
        (np.array([None, None], dtype=object), "u1", [""]),
        (np.array([1.5, np.inf], dtype=object), "u1", ["1.5", "inf"]),
        (np.array(["x" * 100], dtype=object), "u1", ["x" * 59 + "\u2026"]),
        (np.arange(300) + 1.6e9, "f4", None),
        (1e305 * np.arange(300.0), "f8", None),
    ],
)
def test_columns_take_little_room(column, kind, listed):
    """Few values are listed, many numbers are counted from the smallest."""
    found = encoded_column(column)
    assert found["type"] == kind
    assert found.get("list") == listed
    if kind == "f4":
        assert (found["start"] + decoded(found).astype(float)).tolist() == column.tolist()


def test_many_numbers_with_holes_stay_numbers():
    """NaN travels among them."""
    column = np.array([None, *range(300), None], dtype=object)
    found = encoded_column(column)
    assert (found["type"], found["start"]) == ("f4", 0.0)
    np.testing.assert_array_equal(decoded(found), [np.nan, *range(300), np.nan])


def test_no_number_is_nan(any_model):
    """What goes to the page is JSON that every browser reads."""
    json.dumps(make_payload(summarize_model(*any_model, NOTHING)), allow_nan=False)


def test_too_many_rows_leave_the_certain_ones_out(modes, monkeypatch):
    """Wrong rows and the least certain stay, and the page is told which."""
    monkeypatch.setattr(payload, "MAX_CHARACTERS_OF_PROBABILITY", 900)
    monkeypatch.setattr(payload, "MAX_CHARACTERS_OF_VALUES", 200)
    content = summarize_model(*modes, NOTHING)
    rows = make_payload(content)["rows"]
    numbers = decoded(rows["numbers"])
    assert rows["n"] == len(numbers) < rows["nAll"] == len(content.codes)
    assert set(np.flatnonzero(content.is_wrong)) <= set(numbers.tolist())
    assert rows["nValues"] < rows["n"]
    assert sum(len(column["data"]) for column in rows["values"]) <= 200
    left = np.setdiff1d(np.arange(rows["nAll"]), numbers)
    certainty = np.abs(content.probabilities[:, 1] - 0.5)
    right = numbers[~content.is_wrong[numbers]]
    assert certainty[left].min() >= certainty[right].max()


def test_many_draws_are_thinned(chains, monkeypatch):
    """As many as there is room for, evenly spaced, and the page says how far off that is."""
    content = summarize_model(*chains, NOTHING)
    assert len(kept_draws(content)) == content.n_draws
    assert largest_difference(content) == 0.0
    monkeypatch.setattr(payload, "MAX_HYPERPLANES", 40)
    kept = kept_draws(content)
    assert 1 <= len(kept) < content.n_draws
    assert kept[0] == 0
    assert largest_difference(content) > 0.0


def test_rows_beyond_the_training_range_are_counted(modes):
    """One feature outside is enough."""
    model, X, y = modes
    before = summarize_model(model, X, y, NOTHING).n_outside
    moved = X.copy()
    moved[np.flatnonzero((np.abs(X) < 1).all(axis=1))[0], 1] = 50.0
    assert summarize_model(model, moved, y, NOTHING).n_outside == before + 1


def test_checks_speak_of_what_is_wrong(modes):
    """A model no better than the majority, few rows, a single class."""
    model, X, y = modes
    swapped = np.where(y == "ring", "disc", "ring")
    marks = {check.text[:12]: check.mark for check in words.checks(summarize_model(model, X, swapped, NOTHING))}
    assert marks["It errs on 9"] == "bad"
    assert any("only 150 test rows" in check.text for check in words.checks(summarize_model(model, X, y, NOTHING)))
    of_one = summarize_model(model, X[y == "ring"], y[y == "ring"], NOTHING)
    assert words.checks(of_one)[0].text.startswith("All test rows are “ring”")


def test_data_frames_and_sparse_rows():
    """Rows as pandas and SciPy hold them, without a warning about names."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    y = (frame["a"] > frame["b"]).to_numpy()
    model = SumSoftplusClassifier(max_experts=2, n_restarts=1, random_state=0)
    content = summarize_model(model.fit(frame, y), frame, pd.Series(y), NOTHING)
    assert content.features.names == ("a", "b", "c")
    assert content.classes == ("False", "True")
    rows = sparse.csr_matrix(frame.to_numpy())
    make_payload(summarize_model(model.fit(rows, y), rows, y, NOTHING))


@pytest.mark.parametrize(
    ("given", "y", "message"),
    [
        ({"feature_names": ["one"]}, None, "feature_names must name the 2"),
        ({"raw_columns": ["one"]}, None, "both or neither"),
        ({"raw_columns": ["one"], "raw_rows": [["a", "b"]] * 150}, None, "raw_columns must name the 2"),
        ({"raw_rows": [["a", "b"]] * 3}, None, "one row for each of the 150"),
        ({}, ["ring"] * 3, "one label for each of the 150"),
        ({}, ["ring"] * 149 + ["square"], "'square' at row 149"),
    ],
)
def test_wrong_arguments_are_told(modes, given, y, message):
    """What was wrong, and what was seen."""
    model, X, labels = modes
    with pytest.raises(ValueError, match=message):
        summarize_model(model, X, labels if y is None else y, ReportOptions(**given))


def test_pipelines_are_refused():
    """Their last step is what a report is about."""
    with pytest.raises(ValueError, match="last step"):
        summarize_model(object(), [[0.0]], [0], NOTHING)


@pytest.mark.parametrize(
    ("n_missed", "head", "tail"),
    [
        (0, "come true: in 10", ""),
        (1, "come true: in 9", "; that 1 does not may be chance"),
        (2, "come true: in 8", "; that 2 do not may be chance"),
        (8, "do not come true everywhere: in 2", ""),
    ],
)
def test_bins_that_miss_by_chance_are_told(n_missed, head, tail):
    """Some do of a perfect model."""
    predicted = np.linspace(0.05, 0.95, 10)
    bands = np.column_stack([predicted - 0.01, predicted + 0.01])
    bands[:n_missed] += 0.02
    calibration = Calibration(predicted - 0.05, np.full(10, 50), predicted, predicted, bands)
    found = words._calibrated(SimpleNamespace(calibration=calibration, overlap=None)).text
    assert found == f"Its probabilities {head} of 10 bins the share seen agrees with the probability given{tail}."
