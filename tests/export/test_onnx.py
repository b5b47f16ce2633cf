"""ONNX exports compute the probabilities of the model."""

import numpy as np
import pytest
from exports import KINDS, POOLS, assert_same_probabilities, far_rows, fitted, run_onnx
from sklearn.datasets import load_iris

from softpolytope import SoftplusClassifier, SumSoftplusClassifier
from softpolytope.estimators._classifiers import CLASSIFIERS
from softpolytope.export import register_with_skl2onnx

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("estimate", ["best", "mean"])
@pytest.mark.parametrize("kind", KINDS)
def test_onnx_in_doubles(kind, estimate, pool):
    """Probabilities agree to 1e-12, labels are the same except for ties, and all operators are standard ones."""
    pytest.importorskip("onnx")
    model, rows = fitted(kind, estimate, pool=pool)
    exported = model.to_onnx()
    assert {node.domain for node in exported.graph.node} == {""}
    label, probabilities = run_onnx(exported, rows)
    expected = model.predict_proba(rows)
    assert probabilities == pytest.approx(expected, abs=1e-12)
    # Labelings that contradict each other with certainty give one half, to rounding.
    ranked = np.sort(expected, axis=1)
    is_decided = ranked[:, -1] - ranked[:, -2] > 1e-12
    assert is_decided.mean() > 0.8
    assert label[is_decided].tolist() == model.predict(rows)[is_decided].tolist()


@pytest.mark.parametrize("symmetric", [True, False])
def test_onnx_keeps_small_probabilities(symmetric):
    """Ratios of probabilities far below the rounding of one decide between three classes."""
    pytest.importorskip("onnx")
    X, y = load_iris(return_X_y=True)
    model = SoftplusClassifier(inference="map", n_restarts=2, symmetric=symmetric, random_state=0).fit(X, y)
    rows = far_rows(X)
    expected = model.predict_proba(rows)
    assert (expected < 1e-30).any()
    label, probabilities = run_onnx(model.to_onnx(), rows)
    assert_same_probabilities(probabilities, expected)
    assert label.tolist() == model.predict(rows).tolist()


@pytest.mark.parametrize("settings", [{"inference": "map", "n_restarts": 2}, {"n_members": 4}])
def test_onnx_where_a_predictor_overflows(settings):
    """An infinite activation makes lambda infinite, and no other draw NaN."""
    pytest.importorskip("onnx")
    X, codes = load_iris(return_X_y=True)
    model = SumSoftplusClassifier(**settings, random_state=0).fit(X[:, :1], codes == 0)
    rows = np.array([[1e308], [-1e308]])
    assert run_onnx(model.to_onnx(), rows)[1] == pytest.approx(model.predict_proba(rows), abs=1e-12)


@pytest.mark.parametrize("pool", POOLS)
def test_onnx_in_single_precision(tmp_path, pool):
    """Probabilities agree to 1e-5 at rows rounded to single precision; the file is the returned model."""
    onnx = pytest.importorskip("onnx")
    model, rows = fitted("three", "mean", pool=pool)
    exported = model.to_onnx(tmp_path / "m.onnx", input_type="float32")
    assert onnx.load(tmp_path / "m.onnx") == exported
    single = rows.astype(np.float32)
    _, probabilities = run_onnx(exported, single)
    assert probabilities.dtype == np.float32
    assert probabilities == pytest.approx(model.predict_proba(single), abs=1e-5)
    with pytest.raises(ValueError, match="input_type"):
        model.to_onnx(input_type="half")


@pytest.mark.parametrize(
    "labels", [np.array([3, 2**63 + 5], np.uint64), np.array([-1, 2**63 - 1]), np.array([0, 2**63 - 1], np.uint64)]
)
def test_onnx_labels_end_at_int64(labels):
    """Larger labels are refused, in pipelines too; the largest 64-bit integer is kept."""
    skl2onnx = pytest.importorskip("skl2onnx")
    X, codes = load_iris(return_X_y=True)
    model = SoftplusClassifier(inference="map", n_restarts=1, random_state=0).fit(X, labels[(codes == 0).astype(int)])
    if labels.max() < 2**63:
        assert run_onnx(model.to_onnx(), X)[0].tolist() == model.predict(X).tolist()
        return
    with pytest.raises(ValueError, match=r"64-bit integers.*got 9223372036854775813\. Code the classes"):
        model.to_onnx()
    register_with_skl2onnx(list(CLASSIFIERS.values()))
    with pytest.raises(ValueError, match="64-bit integers"):
        skl2onnx.to_onnx(model, X[:1], options={"zipmap": False})
