"""Old keywords keep working for one release."""

import pytest

from softpolytope._deprecation import accept_old_keyword
from softpolytope.inspection.displays import DecisionDisplay, ExpertWeightsDisplay, LatentCountsDisplay


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
