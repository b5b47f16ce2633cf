"""What is said about rows and labels that cannot be used."""

from functools import partial

import numpy as np
import pytest
from sklearn.datasets import make_moons

from softpolytope import SumSoftplusClassifier

X, y = make_moons(60, noise=0.2, random_state=0)


def model():
    """A small one."""
    return SumSoftplusClassifier(max_experts=2, n_restarts=1, random_state=0)


def mixed_labels(kind):
    """Numbers, or bools, and text."""
    if kind in ("object", "category"):
        return pytest.importorskip("pandas").Series([0, "a"] * 30, dtype=kind)
    return {"list": [0, "a"] * 30, "tuple": (True, "a") * 30, "array": np.array([0, "a", 1.5] * 20, dtype=object)}[kind]


@pytest.mark.parametrize("kind", ["list", "tuple", "array", "object", "category"])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_labels_that_mix_numbers_and_text_are_named(kind, method):
    """As text, 0 would become '0', which equals no label given; as objects, they have no order."""
    labels = mixed_labels(kind)
    call = partial(model().partial_fit, classes=["0", "a"]) if method == "partial_fit" else model().fit
    with pytest.raises(ValueError, match=r"labels must be all text or all numbers; y holds both 'a' and (0|True)"):
        call(X, labels)


def test_classes_that_mix_numbers_and_text_are_named():
    """In the first call of `partial_fit`, and in later ones."""
    wrong = "all text or all numbers; classes holds both 'a' and 0"
    with pytest.raises(ValueError, match=wrong):
        model().partial_fit(X, y, classes=[0, "a"])
    begun = model().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=wrong):
        begun.partial_fit(X, y, classes=[0, "a"])


@pytest.mark.parametrize("chunk", [20, 30])
def test_mixed_labels_of_partitions_are_named(chunk):
    """Within a partition, and from one to the next."""
    array = pytest.importorskip("dask.array")
    labels = np.array([0] * 30 + ["a"] * 30, dtype=object)
    given = array.from_array(X, chunks=(chunk, 2)), array.from_array(labels, chunks=chunk)
    with pytest.raises(ValueError, match=r"all text or all numbers; y.* holds both 'a' and 0"):
        model().fit(*given, max_memory="8GB")


def test_lists_of_one_kind_are_taken_as_before():
    """Numbers of two types, text, bools: labels come back as they were."""
    for labels in ([0, 1.0], ["a", "b"], [True, False]):
        found = model().fit(X, labels * 30)
        assert found.classes_.tolist() == sorted(labels)


def test_missing_labels_of_a_list_of_text_are_named():
    """NumPy would make the text 'nan' of one."""
    with pytest.raises(ValueError, match="y has no label at row 1, but nan"):
        model().fit(X[:4], ["a", float("nan"), "b", "b"])


METHODS = ["predict", "predict_proba", "decision_function", "predict_proba_draws", "explain", "counterfactual"]


@pytest.mark.parametrize("method", METHODS)
def test_text_at_prediction_is_named_as_in_fit(method):
    """Its column, by name where there are names, and the value."""
    pd = pytest.importorskip("pandas")
    plain = model().fit(X, y)
    for rows in (np.array([[0.5, "red"]], dtype=object), [["0.5", "red"]]):
        with pytest.raises(ValueError, match=r"Column 1 of X holds 'red', which is not a number\. Encode"):
            getattr(plain, method)(rows)
    named = model().fit(pd.DataFrame(X, columns=["a", "b"]), y)
    with pytest.raises(ValueError, match=r"Column 'b' of X holds 'red', which is not a number\. Encode"):
        getattr(named, method)(pd.DataFrame({"a": [0.5], "b": ["red"]}))


def test_wrong_names_come_before_text():
    """A column that the model does not know need not hold numbers: what is said is that it does not know it."""
    pd = pytest.importorskip("pandas")
    named = model().fit(pd.DataFrame(X, columns=["a", "b"]), y)
    with pytest.raises(ValueError, match=r"(?s)feature names should match.*- id"):
        named.predict(pd.DataFrame({"id": ["c01"], "a": [0.5], "b": [0.5]}))
