"""Old keywords and attributes keep working for one release."""

import numpy as np
import pytest

from softpolytope._deprecation import accept_old_keyword
from softpolytope.geometry import Counterfactuals, ExpertRegion, Explanation, LabelingPolytopes
from softpolytope.inspection.displays import DecisionDisplay, ExpertWeightsDisplay, LatentCountsDisplay
from softpolytope.model import Features


@accept_old_keyword("colour", "color")
def paint(color="red"):
    """Return the color."""
    return color


def test_old_keyword_is_accepted_with_a_warning():
    """The value arrives under the new name."""
    with pytest.warns(FutureWarning, match=r"'colour' is now 'color'"):
        assert paint(colour="blue") == "blue"


def test_new_keyword_gives_no_warning():
    """Warnings are errors in this suite."""
    assert paint(color="blue") == "blue"


def test_both_names_are_refused():
    """Neither is preferred in silence."""
    with pytest.raises(TypeError, match="both were given"):
        paint(color="blue", colour="red")


@pytest.mark.parametrize("display", [DecisionDisplay, ExpertWeightsDisplay, LatentCountsDisplay])
def test_displays_accept_the_old_spelling(display):
    """`labelling` was the keyword before; what fails after the warning is that there is no fitted model."""
    with pytest.warns(FutureWarning, match=r"'labelling' is now 'labeling'"), pytest.raises(Exception, match=r".+"):
        display.from_estimator(object(), [[0.0, 0.0]], labelling=0)


def test_counterfactuals_have_their_old_attributes():
    """`decided` and `otherwise` are now `predicted` and `counterfactual_class`."""
    features = Features(("x",), np.ones(1), np.zeros(1), np.ones(1))
    found = Counterfactuals(
        np.zeros((1, 1)), np.ones((1, 1)), np.ones(1), np.array(["a"]), np.array(["b"]), features, np.arange(1)
    )
    with pytest.warns(FutureWarning, match=r"'decided' is now 'predicted'"):
        assert found.decided.tolist() == ["a"]
    with pytest.warns(FutureWarning, match=r"'otherwise' is now 'counterfactual_class'"):
        assert found.otherwise.tolist() == ["b"]
    with pytest.warns(FutureWarning, match=r"'most_features' is now 'max_features'"):
        assert "x +1" in found.in_words(most_features=1)


@pytest.mark.parametrize(
    ("method", "old"),
    [
        (Explanation.in_words, "most_experts"),
        (Explanation.votes_in_words, "most_experts"),
        (ExpertRegion.in_words, "most_terms"),
        (LabelingPolytopes.in_words, "most_terms"),
    ],
)
def test_texts_accept_the_old_limits(method, old):
    """`most_...` is now `max_...`; what fails after the warning is that there is no such object."""
    with pytest.warns(FutureWarning, match=f"'{old}' is now 'max"), pytest.raises((AttributeError, TypeError)):
        method(object(), **{old: 1})
