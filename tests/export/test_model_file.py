"""Model files: saved models load unchanged, and damaged files are refused."""

import random

import numpy as np
import pytest
from sklearn.datasets import load_iris

from benchmarks.fuzz_model_files import KINDS, edited, good_file, mutated, try_file
from softpolytope import (
    Prior,
    SoftplusClassifier,
    SumSoftplusClassifier,
    SumStackSoftplusClassifier,
    load_model,
)
from softpolytope.exceptions import ModelFileError
from softpolytope.export import read_archive, write_archive

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("labels", ["numbers", "text", "booleans", "three"])
def test_a_saved_model_is_the_same_model(labels, tmp_path):
    """Predictions, names, parameters and diagnostics are the same to the last bit."""
    X, codes = load_iris(return_X_y=True)
    y = {
        "numbers": (codes == 2) * 7 - 3,
        "text": np.where(codes == 1, "yes", "no"),
        "booleans": codes == 0,
        "three": codes,
    }[labels]
    prior = Prior(precision_shape=2.0)
    model = SumStackSoftplusClassifier(
        inference="gibbs", n_sweeps=24, max_experts=4, prior=prior, random_state=3, estimate="best"
    )
    model.fit(X, y)
    model.save(tmp_path / "m.softpolytope")
    again = load_model(tmp_path / "m.softpolytope")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(again.predict_proba_draws(X), model.predict_proba_draws(X))
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.get_params() == model.get_params()
    assert again.diagnostics() == model.diagnostics()
    assert again.n_experts_ == model.n_experts_
    again.save(tmp_path / "again.softpolytope")
    assert (tmp_path / "again.softpolytope").read_bytes() == (tmp_path / "m.softpolytope").read_bytes()


def test_feature_names_come_back(tmp_path):
    """Feature names are kept and checked at prediction as in scikit-learn."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [0.0, 1.0, 2.0] * 4, "b": [1.0, 0.0, 1.0] * 4})
    model = SoftplusClassifier(inference="gibbs", start="random", n_sweeps=10, random_state=0).fit(frame, [0, 1, 1] * 4)
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame[["b", "a"]])


def test_labels_of_other_types_are_refused(tmp_path):
    """Labels that JSON cannot hold give a clear error and no partial file."""
    model = SumSoftplusClassifier(inference="gibbs", start="random", n_sweeps=6, max_experts=2, random_state=0)
    model.fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    model.classes_ = np.array([(1,), (2,)], dtype=object)
    with pytest.raises(ValueError, match="cannot be saved"):
        model.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("n_files", [30, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_mutated_files(kind, n_files, tmp_path):
    """Some of the files that `benchmarks/fuzz_model_files.py` tries by the hundred thousand."""
    path = tmp_path / "m"
    good = good_file(path, kind)
    assert try_file(path, len(good)) == "loaded"
    rng = random.Random(20261115)  # noqa: S311  # no secret
    found = []
    for _ in range(n_files):
        data = mutated(good, rng)
        path.write_bytes(data)
        found.append(try_file(path, len(data)))
    assert found.count("refused") > n_files * 2 // 3
    edits = [edited(good, rng) for _ in range(n_files * 2 // 3)]
    for data in edits:
        path.write_bytes(data)
        try_file(path, len(data))


def test_hostile_contents_are_refused(tmp_path):
    """Starts of draws that wrap around are refused, and so are parameters that a file must not set."""
    path = tmp_path / "m"
    good_file(path)
    header, arrays = read_archive(path)
    limits = np.iinfo(np.int64)
    starts = arrays["0.0.draws.starts"]
    wrapped = np.array([0, limits.max, limits.min, -1, *[starts[-1]] * (len(starts) - 4)])
    write_archive(path, header, {**arrays, "0.0.draws.starts": wrapped})
    with pytest.raises(ModelFileError, match="draws do not match"):
        load_model(path)
    for name, value in (("checkpoint", "elsewhere"), ("n_jobs", "x"), ("n_sweeps", -1), ("estimate", "median")):
        edited_header = {**header, "parameters": {**header["parameters"], name: value}}
        write_archive(path, edited_header, arrays)
        with pytest.raises(ModelFileError):
            load_model(path)


def test_damaged_fingerprints_are_refused(tmp_path):
    """Hashes out of order or range, of another type, or without a valid header are refused."""
    path = tmp_path / "m"
    good_file(path)
    header, arrays = read_archive(path)
    hashes, plain = arrays["training_rows"], header["training_rows"]
    for edit in (hashes[::-1], np.repeat(hashes, 2), hashes.astype(np.int64), hashes[None]):
        write_archive(path, header, {**arrays, "training_rows": edit})
        with pytest.raises(ModelFileError):
            load_model(path)
    for name in plain:
        for value in (None, -1, 1.0, "x", True):
            write_archive(path, {**header, "training_rows": {**plain, name: value}}, arrays)
            with pytest.raises(ModelFileError):
                load_model(path)
    for name, value in (("n_halvings", 32), ("n_halvings", 31), ("checksum", 2**64)):
        write_archive(path, {**header, "training_rows": {**plain, name: value}}, arrays)
        with pytest.raises(ModelFileError):
            load_model(path)
    for value in ([], 1, "x", {}):
        write_archive(path, {**header, "training_rows": value}, arrays)
        with pytest.raises(ModelFileError):
            load_model(path)
