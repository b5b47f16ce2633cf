"""Errors about rows, labels and weights that cannot be used."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError

from softpolytope import (
    SoftplusClassifier,
    SumSoftplusClassifier,
    SumStackSoftplusClassifier,
)

X, y = make_moons(60, noise=0.2, random_state=0)


def model():
    """A small one."""
    return SumSoftplusClassifier(max_experts=2, inference="map", n_restarts=1, random_state=0)


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
        with pytest.raises(ValueError, match=r"Column 1 of X holds 'red', which is not a number. TableClassifier"):
            getattr(plain, method)(rows)
    named = model().fit(pd.DataFrame(X, columns=["a", "b"]), y)
    with pytest.raises(ValueError, match=r"Column 'b' of X holds 'red', which is not a number. TableClassifier"):
        getattr(named, method)(pd.DataFrame({"a": [0.5], "b": ["red"]}))


def test_wrong_names_come_before_text():
    """A column that the model does not know need not hold numbers: what is said is that it does not know it."""
    pd = pytest.importorskip("pandas")
    named = model().fit(pd.DataFrame(X, columns=["a", "b"]), y)
    with pytest.raises(ValueError, match=r"(?s)feature names should match.*- id"):
        named.predict(pd.DataFrame({"id": ["c01"], "a": [0.5], "b": [0.5]}))


pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SHORT = {"inference": "gibbs", "start": "random", "n_sweeps": 60, "max_experts": 4, "random_state": 0}


@pytest.fixture(scope="module")
def moons():
    """Two half circles, 200 rows."""
    return make_moons(200, noise=0.2, random_state=0)


def test_class_weight_moves_the_boundary(moons):
    """A heavier class is predicted more often; "balanced" undoes an imbalance."""
    X, y = moons
    plain = SoftplusClassifier(inference="gibbs", start="random", n_sweeps=100, random_state=0)
    heavy = clone(plain).set_params(class_weight={0: 1.0, 1: 10.0})
    assert heavy.fit(X, y).predict(X).sum() > plain.fit(X, y).predict(X).sum()
    kept = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:10]])
    balanced = clone(plain).set_params(class_weight="balanced").fit(X[kept], y[kept])
    assert balanced.predict(X[kept]).sum() > clone(plain).fit(X[kept], y[kept]).predict(X[kept]).sum()


def test_bad_rows_are_named(moons):
    """The column by its name, the row by its number, and what to do."""
    pandas = pytest.importorskip("pandas")
    X, y = moons
    model = SumStackSoftplusClassifier(**SHORT)
    frame = pandas.DataFrame(X.copy(), columns=["width", "height"])
    frame.loc[7, "height"] = np.nan
    with pytest.raises(ValueError, match=r"Column 'height' of input X holds NaN at row 7") as caught:
        model.fit(frame, y)
    # The advice is two lines that work.
    advice = "\n".join(line.strip() for line in str(caught.value).splitlines() if line.startswith("    "))
    found = {"X": frame, "y": y}
    exec(advice, found)  # noqa: S102  # the text of our own error
    assert found["model"].score(frame, y) > 0.9
    bad = sparse.csr_matrix(X)
    bad.data[2 * 5 + 1] = np.inf
    with pytest.raises(ValueError, match=r"Column 1 of input X holds inf \(infinity\) at row 5"):
        model.fit(bad, y)
    with pytest.raises(ValueError, match="y holds only one class"):
        model.fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match=r"sample_weight must be finite and >= 0; got -1.0 at row 3"):
        model.fit(X, y, sample_weight=np.where(np.arange(len(y)) == 3, -1.0, 1.0))
    with pytest.raises(ValueError, match="class 1 has no row of positive weight"):
        model.fit(X, y, sample_weight=(y == 0).astype(float))
    with pytest.raises(ValueError, match="integer weights"):
        SumStackSoftplusClassifier(**SHORT, scan="paper").fit(X, y, sample_weight=np.full(len(y), 0.5))
    with pytest.raises(NotFittedError):
        SumStackSoftplusClassifier().predict(X)


SMALL = {"max_experts": 6, "inference": "map", "n_restarts": 3, "random_state": 0}


@pytest.mark.parametrize("kind", ["array", "frame", "sparse", "batch", "dask"])
@pytest.mark.parametrize("standardize", [True, False])
def test_columns_too_small_are_named(moons, kind, standardize):
    """No double could hold their coefficients: an error says that they are small, and which."""
    X, y = moons
    X = X * [1.0, 1e-310]
    model = SumSoftplusClassifier(**SMALL, standardize=standardize)
    call = partial(model.fit, X, y)
    if kind == "frame":
        call = partial(model.fit, pytest.importorskip("pandas").DataFrame(X, columns=["plain", "tiny"]), y)
    elif kind == "sparse":
        call = partial(model.fit, sparse.csr_array(X), y)
    elif kind == "batch":
        call = partial(model.partial_fit, X, y, classes=[0, 1])
    elif kind == "dask":
        array = pytest.importorskip("dask.array")
        call = partial(model.fit, array.from_array(X, chunks=(50, 2)), array.from_array(y, chunks=50), max_memory="8GB")
    names = "'tiny'" if kind == "frame" else "1"
    with pytest.raises(ValueError, match=f"^Column {names} of X holds numbers of at most .*e-310 .* so small"):
        call()


def test_coefficients_that_overflow_are_named(moons):
    """Those of numbers hardly large enough: what is said is that the column is small."""
    X, y = moons
    chain = {"inference": "gibbs", "n_sweeps": 40, "n_chains": 1, "max_experts": 3, "random_state": 0}
    with pytest.raises(ValueError, match=r"coefficients of column 1 of X overflow .* deviation is .*e-308\. Multiply"):
        SumSoftplusClassifier(**chain).fit(X * [1.0, 4.5e-308], y)


def test_class_weights_by_name():
    """Classes that are not named have weight one, in batches too; an unknown class or a bad weight is an error."""
    X, y = load_iris(return_X_y=True)
    few = SMALL | {"n_restarts": 1}
    weighted = SumStackSoftplusClassifier(**few, class_weight={1: 2.0})
    weighted.partial_fit(X, y, classes=[0, 1, 2])
    weighted.partial_fit(X[:100], y[:100])
    repeated = np.concatenate([np.arange(150), np.arange(50, 100)])
    one = clone(weighted).fit(X, y).predict_proba(X)
    assert np.array_equal(one, SumStackSoftplusClassifier(**few).fit(X[repeated], y[repeated]).predict_proba(X))
    with pytest.raises(ValueError, match=r"class_weight names 5, which is none of the classes \[0, 1, 2\]"):
        clone(weighted).set_params(class_weight={0: 1.0, 5: 2.0}).fit(X, y)
    with pytest.raises(ValueError, match=r"class_weight must be finite and >= 0; got -1\.0 for class 2"):
        clone(weighted).set_params(class_weight={2: -1.0}).fit(X, y)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda pd, X: pd.DataFrame({"a": X[:, 0], "b": ["q"] * len(X)}), "Column 'b' of X holds 'q'"),
        (lambda pd, X: pd.DataFrame({"a": X[:, 0], "when": pd.Timestamp("2020-01-01")}), "Column 'when' of X holds"),
        (lambda pd, X: [[row[0], "low"] for row in X.tolist()], "Column 1 of X holds 'low'"),  # noqa: ARG005
    ],
)
def test_columns_without_numbers_are_named(make, message, moons):
    """With what is in them, and what to do."""
    pd = pytest.importorskip("pandas")
    X, y = moons
    with pytest.raises(ValueError, match=message):
        SumStackSoftplusClassifier(**SMALL).fit(make(pd, X), y)


def test_missing_labels_are_named(moons):
    """By their row."""
    X, y = moons
    given = np.array(["no", "yes"], dtype=object)[y]
    given[17] = None
    with pytest.raises(ValueError, match="y has no label at row 17"):
        SumStackSoftplusClassifier(**SMALL).fit(X, given)
