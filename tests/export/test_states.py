"""Model files hold the state from which a fit continues: a loaded model continues to the same bits."""

import copy
import functools
from dataclasses import replace

import numpy as np
import pytest
from model_fixtures import FIXTURES, fixture_module
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons

from softpolytope import Prior, SumSoftplusClassifier, SumStackSoftplusClassifier, TableClassifier, load_model
from softpolytope.exceptions import ModelFileError
from softpolytope.export._archive import read_archive, write_archive

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SMALL = {"max_experts": 4, "n_layers": 2, "random_state": 0}
MODES = {"inference": "map", "n_restarts": 2}
CHAINS = {"inference": "gibbs", "start": "random", "n_chains": 2, "n_sweeps": 16}
KINDS = [
    "map",
    "map of few rows",
    pytest.param("map of three", marks=pytest.mark.slow),
    "collapsed",
    "paper",
    pytest.param("chains of three", marks=pytest.mark.slow),
    "batches",
    "batch after fit",
]


def rows_of(kind):
    """Rows and labels."""
    if "three" in kind:
        X, y = load_iris(return_X_y=True)
        return X[::2], y[::2]
    return make_moons(60 if kind == "map of few rows" else 200, noise=0.25, random_state=1)


def start_online(kind):
    """A fitted classifier."""
    return copy.deepcopy(_start(kind))


@functools.cache
def _start(kind):
    X, y = rows_of(kind)
    chains = CHAINS | {"scan": "paper" if kind == "paper" else "auto"}
    is_chains = kind in ("collapsed", "paper", "chains of three")
    prior = Prior(precision_shape=2.0, precision_rate="learned")
    options = SMALL | {"warm_start": True, "prior": prior} | (chains if is_chains else MODES)
    model = SumStackSoftplusClassifier(**options)
    if kind == "batches":
        return model.partial_fit(X[:80], y[:80], classes=[0, 1]).partial_fit(X[80:120], y[80:120])
    return model.fit(X, y)


def went_on(model, kind):
    """The same classifier after more rows or sweeps."""
    X, y = rows_of(kind)
    if kind.startswith("batch"):
        return model.partial_fit(X[120:170], y[120:170]).partial_fit(X[170:], y[170:])
    if model.inference_ == "gibbs":
        return model.set_params(n_sweeps=24).fit(X, y)
    return model.fit(X[:-20], y[:-20])


def assert_same_model(one, other, X):
    """Probabilities, draws and traces to the last bit."""
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X))
    for ours, theirs in zip(one.posterior_.regressions, other.posterior_.regressions, strict=True):
        for side, opposite in zip(ours.labelings, theirs.labelings, strict=True):
            assert np.array_equal(side.draws.coefficients, opposite.draws.coefficients)
            assert np.array_equal(side.draws.expert_weights, opposite.draws.expert_weights)
            assert np.array_equal(side.log_likelihood, opposite.log_likelihood)


@pytest.mark.parametrize("kind", KINDS)
def test_loaded_then_continued_is_continued(kind, tmp_path):
    """To the last bit, and once more after another file; a fit from scratch is another model."""
    X, _ = rows_of(kind)
    model = start_online(kind)
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
    went_on(loaded, kind).save(tmp_path / "later")
    assert_same_model(loaded, went_on(model, kind), X)
    model.save(tmp_path / "unbroken")
    assert (tmp_path / "later").read_bytes() == (tmp_path / "unbroken").read_bytes()
    if not kind.startswith("batch"):
        cold = clone(model).fit(*rows_of(kind))
        if model.inference_ == "map":
            cold = clone(model).fit(*(part[:-20] for part in rows_of(kind)))
            assert not np.array_equal(cold.predict_proba(X), model.predict_proba(X))
        else:
            assert not np.array_equal(cold.predict_proba_draws(X)[:8], model.predict_proba_draws(X)[:8])


@pytest.mark.parametrize("kind", ["map", "collapsed", "batches"])
def test_without_its_state_a_model_does_not_continue(kind, tmp_path):
    """It says what is missing, and still predicts; a clone starts from scratch."""
    X, y = rows_of(kind)
    model = start_online(kind)
    model.save(tmp_path / "m")
    model.save(tmp_path / "lean", state=False)
    assert (tmp_path / "lean").stat().st_size < 0.8 * (tmp_path / "m").stat().st_size
    loaded = load_model(tmp_path / "lean")
    with pytest.raises(
        ValueError, match=r"warm_start cannot continue.*does not hold the state of the fit.*clone"
    ) as error:
        loaded.fit(X, y)
    assert "last fit was made without it" not in str(error.value)
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    if model.inference_ == "map":
        with pytest.raises(ValueError, match=r"partial_fit cannot continue.*does not hold the state"):
            loaded.partial_fit(X, y)
    cold = clone(loaded).fit(X, y)
    assert np.array_equal(cold.predict_proba(X), clone(model).fit(X, y).predict_proba(X))
    assert loaded.set_params(warm_start=False).fit(X, y).predict(X).shape == y.shape


@pytest.mark.parametrize("name", ["map", "gibbs"])
def test_files_of_earlier_versions_do_not_continue(name):
    """They hold no state."""
    X, is_inside = fixture_module().rows()
    with pytest.raises(ValueError, match=r"warm_start cannot continue.*written by an earlier version"):
        load_model(FIXTURES / f"{name}.softpolytope").fit(X, is_inside if name == "gibbs" else is_inside.astype(int))


def test_a_fit_after_batches_says_that_it_starts_from_scratch(tmp_path):
    """In memory as from a file."""
    X, y = rows_of("batches")
    model = start_online("batches")
    model.save(tmp_path / "m")
    for own in (model, load_model(tmp_path / "m")):
        with pytest.warns(UserWarning, match="starts from scratch: the last rows were given to partial_fit"):
            own.fit(X, y)


@pytest.mark.parametrize("inference", ["map", "gibbs"])
def test_table_models_continue(inference, tmp_path):
    """In memory and from a file alike; a table of other columns is refused."""
    table = fixture_module().table()
    own = MODES if inference == "map" else CHAINS | {"n_chains": 1, "n_sweeps": 10}
    classifier = SumSoftplusClassifier(max_experts=3, random_state=0, warm_start=True, **own)
    model = TableClassifier(classifier).fit(table, "inside")
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    later = table if inference == "gibbs" else {name: cells[:50] for name, cells in table.items()}
    for one in (model, loaded):
        if inference == "gibbs":
            one.classifier.set_params(n_sweeps=20)
        one.fit(later, "inside")
    asked = {name: table[name] for name in ("size", "colour")}
    assert np.array_equal(loaded.predict_proba(asked), model.predict_proba(asked))
    if inference == "gibbs":
        assert model.classifier_.log_likelihood_[0].shape == (1, 20)
    else:
        cold = TableClassifier(clone(model.classifier)).fit(later, "inside")
        assert not np.array_equal(cold.predict_proba(asked), model.predict_proba(asked))
    before = model.predict_proba(asked)
    with pytest.raises(ValueError, match=r"warm_start continues.*they differ in colour=green"):
        model.fit(table | {"colour": ["red", "blue"] * 30}, "inside")
    assert np.array_equal(model.predict_proba(asked), before)


def test_the_weight_of_rows_is_kept(tmp_path):
    """Batches after a file count all rows before them, by their weights."""
    X, y = rows_of("map")
    model = SumStackSoftplusClassifier(**SMALL, **MODES).fit(X, y, sample_weight=np.full(len(y), 3.0))
    model.save(tmp_path / "m")
    assert load_model(tmp_path / "m")._fits[0].features.weight == 600.0


def edits_of(header, arrays):
    """States that no fit leaves behind, each with what is edited."""
    state = header["regressions"][0]["state"]
    for key in state:
        yield key, {name: value for name, value in state.items() if name != key}, arrays
        for strange in (None, -1, "x", [[]], {}, 1e308):
            yield key, {**state, key: strange}, arrays
    for key in state["model"]:
        yield key, {**state, "model": {**state["model"], key: -1}}, arrays
    for name in [name for name in arrays if name.startswith(("0.state.0.", "0.state.units"))]:
        array = arrays[name]
        yield name, state, {key: value for key, value in arrays.items() if key != name}
        yield name, state, {**arrays, name: array[:-1] if array.shape[0] else np.ones(1, dtype=array.dtype)}
        yield name, state, {**arrays, name: array[..., None]}
        yield name, state, {**arrays, name: array.astype(bool) if array.dtype != bool else array.astype(float)}
        if array.dtype == np.float64 and array.size:
            yield name, state, {**arrays, name: np.full_like(array, np.nan)}
        if array.dtype == np.int64 and array.size:
            for strange in (np.iinfo(np.int64).max, np.iinfo(np.int64).min, -1):
                changed = array.copy()
                changed[-1] = strange
                yield name, state, {**arrays, name: changed}


@pytest.mark.parametrize("kind", ["map", "collapsed", "paper", "batches"])
def test_damaged_states_are_refused(kind, tmp_path):
    """Whatever is missing, cut, of another shape or type, not a number, or out of range."""
    start_online(kind).save(tmp_path / "m")
    header, arrays = read_archive(tmp_path / "m")
    n_refused, unseen = 0, []
    for what, state, changed in edits_of(header, arrays):
        regression = {**header["regressions"][0], "state": state}
        write_archive(tmp_path / "m", {**header, "regressions": [regression]}, changed)
        try:
            load_model(tmp_path / "m")
            unseen.append(what)
        except ModelFileError:
            n_refused += 1
    assert unseen == []
    assert n_refused > 50


def test_counts_of_other_rows_are_refused(tmp_path):
    """A file that claims to be of these rows, and is not: no room is made for rows that there are not."""
    X, y = rows_of("paper")
    start_online("paper").save(tmp_path / "m")
    header, arrays = read_archive(tmp_path / "m")
    for n_rows in (2**39, 201):
        blocks = {name: np.array([0, n_rows]) for name in arrays if name.endswith("counts.blocks")}
        kept = {name: arrays[name][:0] for name in arrays if name.endswith(("counts.places", "counts.values"))}
        write_archive(tmp_path / "m", header, arrays | blocks | kept)
        with pytest.raises(ValueError, match=r"counts of (\d+|other) rows"):
            load_model(tmp_path / "m").set_params(n_sweeps=20).fit(X, y)


def test_states_of_another_model_are_refused():
    """Where the digest of rows and model was left as it is, and layers or scan are not those of the state."""
    X, y = rows_of("collapsed")
    model = start_online("collapsed")
    chains = model._fits[0].state
    for name, cut in (("coefficients", np.s_[:, :1]), ("coefficients", np.s_[:, :, :2])):
        states = [{**chain, f"state.{name}": chain[f"state.{name}"][cut]} for chain in chains.states]
        other = clone(model).fit(X, y)
        other._fits = [replace(other._fits[0], state=replace(chains, states=states))]
        with pytest.raises(ValueError, match=r"The chains to continue have coefficients of shape"):
            other.set_params(n_sweeps=20).fit(X, y)


def test_table_models_of_fractions_continue(tmp_path):
    """Labels such as 0.5 and 1.5 are fitted as 0 and 1, and named again."""
    table = fixture_module().table()
    table["inside"] = [0.5 if cell == "no" else 1.5 for cell in table["inside"]]
    options = {"inference": "gibbs", "max_experts": 2, "n_chains": 1, "n_sweeps": 8, "class_weight": {1.5: 2.0}}
    model = TableClassifier(SumSoftplusClassifier(**options, random_state=0, warm_start=True)).fit(table, "inside")
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    for own in (model, loaded):
        own.classifier.set_params(n_sweeps=12)
        own.fit(table, "inside")
    asked = {name: table[name] for name in ("size", "colour")}
    assert loaded.classes_.tolist() == [0.5, 1.5]
    assert np.array_equal(loaded.predict_proba(asked), model.predict_proba(asked))
    assert model.classifier_.log_likelihood_[0].shape == (1, 12)
