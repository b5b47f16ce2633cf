"""Fitted models: classes, labels and features."""

import numpy as np
import pytest

from softpolytope import SoftplusClassifier
from softpolytope.model import class_index, encode_labels, fitted_model
from softpolytope.model._fitted import Features

CLASSES = np.array(["no", "perhaps", "yes"])


def test_classes_have_their_index():
    """By default the second of two; three or more have no default."""
    assert class_index("yes", CLASSES) == 2
    assert class_index(None, CLASSES[:2]) == 1
    with pytest.raises(ValueError, match="must be one of the classes"):
        class_index(None, CLASSES)
    with pytest.raises(ValueError, match="got 'maybe'"):
        class_index("maybe", CLASSES)


def test_labels_become_codes():
    """An unknown label is named with its row, and so is a wrong shape."""
    assert encode_labels(["yes", "no", "yes"], CLASSES, 3).tolist() == [2, 0, 2]
    with pytest.raises(ValueError, match="'maybe' at row 1"):
        encode_labels(["yes", "maybe"], CLASSES, 2)
    with pytest.raises(ValueError, match="one label for each of the 3 rows"):
        encode_labels(["yes", "no"], CLASSES, 3)


def test_switches_are_integers_with_two_values():
    """A feature from 0 to 1 is one only if it was integer in all rows."""
    lower, upper = np.zeros(3), np.array([1.0, 1.0, 2.0])
    features = Features(("a", "b", "c"), np.ones(3), lower, upper, np.array([True, False, True]))
    assert features.is_switch.tolist() == [True, False, False]
    assert not Features(("a", "b", "c"), np.ones(3), lower, upper).is_switch.any()


def test_only_classifiers_of_this_package_have_a_model():
    """Other objects are named in the error; a classifier gives its fitted model."""
    X, y = np.array([[-1.0], [-0.5], [0.5], [1.0]] * 5), np.array([0, 0, 1, 1] * 5)
    model = fitted_model(SoftplusClassifier(inference="map", random_state=0).fit(X, y), "a test")
    assert (model.n_features, model.inference, model.targets) == (1, "map", [(1, 0)])
    with pytest.raises(ValueError, match=r'requires posterior draws of chains.*inference="map"'):
        model.check_has_chains("diagnostics()")
    with pytest.raises(ValueError, match="a test needs a classifier of softpolytope; got object"):
        fitted_model(object(), "a test")
