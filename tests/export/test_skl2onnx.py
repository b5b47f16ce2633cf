"""Pipelines converted by skl2onnx compute the probabilities of the model."""

import sys

import numpy as np
import pytest
from exports import POOLS, fitted, run_onnx
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from softpolytope import SoftplusClassifier
from softpolytope.estimators._classifiers import CLASSIFIERS
from softpolytope.export import register_with_skl2onnx

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("kind", ["binary", pytest.param("three", marks=pytest.mark.slow), "one side"])
def test_onnx_of_a_pipeline(kind, pool):
    """skl2onnx converts a scaler and a classifier, in double and in single precision."""
    skl2onnx = pytest.importorskip("skl2onnx")
    register_with_skl2onnx(list(CLASSIFIERS.values()))
    model, _ = fitted(kind, pool=pool)
    X, codes = load_iris(return_X_y=True)
    y = codes if kind == "three" else np.where(codes == 1, "middle", "other")
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-5)):
        for opset in (17, 18, None):  # None is skl2onnx's own choice
            start = X[:1].astype(dtype)
            exported = skl2onnx.to_onnx(pipeline, start, options={"zipmap": False}, target_opset=opset)
            label, probabilities = run_onnx(exported, X.astype(dtype))
            assert probabilities == pytest.approx(pipeline.predict_proba(X.astype(dtype)), abs=tolerance)
            assert label.tolist() == pipeline.predict(X.astype(dtype)).tolist()


def test_pipelines_need_skl2onnx(monkeypatch):
    """Without skl2onnx, the error has the command that installs it."""
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r"pip install softpolytope\[onnx\]"):
        register_with_skl2onnx([SoftplusClassifier])
