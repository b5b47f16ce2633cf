"""Agreement of representatives with all members, and the support of their rules."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

from softpolytope import SoftplusClassifier, SumSoftplusClassifier
from softpolytope.datasets import make_circle
from softpolytope.geometry import representatives_in_words, rule_support
from softpolytope.geometry._support import format_share
from softpolytope.model import Draws

LINE = np.linspace(-4.0, 4.0, 401)[:, None]


def draws(*members):
    """Draws of one feature; each expert is (intercept, slope), of weight one."""
    parts = []
    for experts in members:
        coefficients = np.array(experts, dtype=float).reshape(len(experts), 1, 2)
        parts.append((coefficients, np.ones(len(experts)), np.ones(len(experts), dtype=bool), 0.0))
    return Draws.from_parts(parts)


def test_support_is_the_share_of_members_with_such_a_region():
    """An expert votes yes beyond -intercept / slope; regions agree if they share half of the rows in either."""
    best = draws([(0.0, 5.0), (-10.0, -5.0)])  # x > 0 and x < -2
    members = draws(
        [(0.0, 5.0), (-10.0, -5.0)],  # both
        [(-5.0, 5.0), (-15.0, -5.0)],  # x > 1 and x < -3, which are within, and more than half
        [(-12.0, 5.0)],  # x > 2.4 is less than half of x > 0
        [(0.0, -5.0), (0.0, 5.0), (-10.0, 5.0)],  # x < 0 holds x < -2, which is just half of it; x > 0
    )
    support = rule_support(best, members, LINE, 0.5)
    assert support[0] == 0.75
    assert support[1] in (0.5, 0.75)  # whether half is reached depends on the rounding of the ends
    assert rule_support(best, best, LINE, 0.5).tolist() == [1.0, 1.0]


def test_experts_without_yes_votes_have_none():
    """Neither as rules, where it is not known, nor as regions that would agree with everything."""
    best, members = draws([(-100.0, 1.0), (0.0, 5.0)]), draws([(-100.0, 1.0)], [(0.0, 5.0)])
    support = rule_support(best, members, LINE, 0.5)
    assert np.isnan(support[0])
    assert support[1] == 0.5


@pytest.fixture(scope="module")
def rows():
    """A ring around a disc."""
    return make_circle(200, random_state=0)


@pytest.fixture(scope="module")
def model(rows):
    """Six members of two experts or fewer."""
    return SumSoftplusClassifier(max_experts=2, n_members=6, random_state=0).fit(*rows)


def test_rules_are_said_to_be_those_of_representatives(model):
    """With the share of rows for which they decide as all members."""
    (regression,) = model.posterior_.regressions
    found = model.polytopes()
    assert 0.5 < regression.agreement <= 1.0
    share = format_share(regression.agreement)
    assert found.notes == (f"These rules decide {share} of held-out rows as the full model of 6 members does.",)
    assert str(found).startswith(found.notes[0] + "\n")
    changed = replace(model.model_.posterior, regressions=(replace(regression, agreement=0.984),))
    (text,) = representatives_in_words(replace(model.model_, posterior=changed))
    assert "decide 98.4 % of held-out rows" in text


def test_other_models_have_no_representatives(rows):
    """Plain modes and chains; and plain modes have no support."""
    X, y = rows
    for own in ({"inference": "map", "n_restarts": 1}, {"inference": "gibbs", "n_sweeps": 4, "n_chains": 1}):
        found = SoftplusClassifier(random_state=0, **own).fit(X, y).polytopes(X=X)
        assert found.notes == ()
        assert (found[0].support is None) == (own["inference"] == "map")


def test_support_is_shown_where_rows_are_given(model, rows):
    """In text and table; sparse rows give the same."""
    X, _ = rows
    assert "support" not in str(model.polytopes())
    assert np.isnan(model.polytopes().table()["support"]).all()
    found = model.polytopes(X=X)
    labeling = model.posterior_.regressions[0].labelings[1]
    expected = rule_support(labeling.best.by_weight(), labeling.draws, X, 0.5)
    np.testing.assert_array_equal(found[1].support, expected)
    for region, share in zip(found[1].regions, expected.tolist(), strict=True):
        assert (f"support {100.0 * share:.0f} %:" in str(region)) != np.isnan(share)
    table = found.table()
    assert list(table["labeling"]) == [0] * len(found[0].regions) + [1] * len(found[1].regions)
    assert next(iter(table["target"])) == 1
    assert next(iter(table["region"])) == found[0].regions[0].in_words().split(": ", 1)[1]
    np.testing.assert_array_equal(model.polytopes(X=sparse.csr_array(X))[1].support, expected)
    with pytest.raises(ValueError, match="2 features"):
        model.polytopes(X=X[:, :1])


def test_several_classes_have_a_sentence_each():
    """One regression for each."""
    X, y = load_iris(return_X_y=True)
    model = SumSoftplusClassifier(max_experts=2, n_members=2, random_state=0).fit(X, np.array(["a", "b", "c"])[y])
    notes = model.polytopes().notes
    assert [note[: len("The rules of 'a' decide ")] for note in notes] == [f"The rules of {c!r} decide " for c in "abc"]


def test_explanations_name_the_representative(model, rows):
    """Whose experts they show; slices keep it."""
    X, y = rows
    for text in (str(model.explain(X[:2])), model.explain(X[:2])[1].in_words(1 - 1)):
        assert "experts of the representative (a single yes vote" in text
    plain = SoftplusClassifier(inference="map", n_restarts=1, random_state=0).fit(X, y)
    assert "representative" not in str(plain.explain(X[:2]))


def test_counterfactuals_are_those_of_all_members(model, rows):
    """All together predict the other class at every point, where the representatives need not."""
    X, _ = rows
    found = model.counterfactual(X[:12])
    assert found.is_found.all()
    assert (model.predict(found.points) != model.predict(X[:12])).all()
    # Just before, they do not: the change is as small as it can be in its direction.
    almost = X[:12] + 0.99 * (found.points - X[:12])
    assert (model.predict(almost) == model.predict(X[:12])).all()


def test_shares_are_not_rounded_to_all():
    """Only a share of one is."""
    assert format_share(0.99949) == "99.9 %"
    assert format_share(0.9996) == "more than 99.9 %"
    assert format_share(1.0) == "100.0 %"
