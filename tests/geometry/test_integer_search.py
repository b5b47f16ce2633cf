"""Integer features: recognized in training, kept in files, integers in counterfactuals, at a bounded cost."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse

from softpolytope import SumStackSoftplusClassifier, load_model
from softpolytope.export._archive import read_archive, write_archive
from softpolytope.geometry._decision_boundary import Decision
from softpolytope.geometry._integer_search import Lattice, Tangents, nearest_on_lattice

QUICK = {"random_state": 0, "n_restarts": 1, "max_experts": 3, "inference": "map"}


def patients(n_rows=300):
    """Return rows of a binary feature, an age in years, a real number, a price in halves and very large integers."""
    rng = np.random.default_rng(5)
    X = np.column_stack(
        [
            rng.integers(0, 2, n_rows),
            rng.integers(20, 80, n_rows),
            rng.normal(size=n_rows),
            rng.integers(0, 9, n_rows) / 2.0,
            rng.integers(1, 9, n_rows) * 2.0**60,
        ]
    )
    return X, (X[:, 0] + X[:, 1] / 30.0 + X[:, 2] + rng.normal(0.0, 0.3, n_rows) > 2.2).astype(int)


IS_INTEGER = [True, True, False, False, False]


@pytest.fixture(scope="module")
def model():
    """Return a model of the patients."""
    return SumStackSoftplusClassifier(**QUICK).fit(*patients())


def integers_of(fitted):
    """Return the features recognized as integers."""
    return fitted.polytopes()[0].features.is_integer.tolist()


def test_integer_features_are_recognized(model):
    """Integer features are recognized in dense or sparse rows, at once or in batches; one fraction rules them out."""
    X, y = patients()
    assert integers_of(model) == IS_INTEGER
    assert integers_of(SumStackSoftplusClassifier(**QUICK).fit(sparse.csr_array(X), y)) == IS_INTEGER
    batches = SumStackSoftplusClassifier(**QUICK)
    batches.partial_fit(X[:200], y[:200], classes=[0, 1]).partial_fit(X[200:], y[200:])
    assert integers_of(batches) == IS_INTEGER
    X[250, 1] += 0.5
    assert integers_of(batches.partial_fit(X[200:], y[200:])) == [True, False, False, False, False]
    assert integers_of(SumStackSoftplusClassifier(**QUICK).fit(X, y)) == [True, False, False, False, False]


@pytest.mark.parametrize("is_sparse", [False, True])
def test_partitioned_rows_have_the_same_integers(is_sparse):
    """The summary of a partitioned fit recognizes the same features as a fit in memory."""
    da = pytest.importorskip("dask.array")
    X, y = patients()
    chunks = da.from_array(X, chunks=(100, 5))
    rows = chunks.map_blocks(sparse.csr_array) if is_sparse else chunks
    fitted = SumStackSoftplusClassifier(**QUICK).fit(rows, da.from_array(y, chunks=100), max_memory="1GB")
    assert integers_of(fitted) == IS_INTEGER


def test_files_keep_integer_features(model, tmp_path):
    """A model file stores them; files of earlier versions load without any."""
    path, old = tmp_path / "model", tmp_path / "old"
    model.save(path)
    assert integers_of(load_model(path)) == IS_INTEGER
    header, arrays = read_archive(path)
    del arrays["integer_features"]
    write_archive(old, header, arrays)
    loaded = load_model(old)
    assert integers_of(loaded) == [False] * 5
    row = patients()[0][:1]
    np.testing.assert_array_equal(loaded.counterfactual(row).points, model.counterfactual(row, integer=()).points)


def test_counterfactuals_keep_integers_by_default(model):
    """Years stay integers, a binary feature at most switches, and every point flips the prediction."""
    X, _ = patients()
    found = model.counterfactual(X[:4])
    assert found.is_found.all()
    assert (found.points[:, :2] == np.round(found.points[:, :2])).all()
    assert set(found.points[:, 0]) <= {0.0, 1.0}
    assert (model.predict(found.points) == found.counterfactual_class).all()
    assert (found.counterfactual_class != found.predicted).all()
    np.testing.assert_array_equal(found.points, model.counterfactual(X[:4], integer=[0, 1]).points)


def test_users_can_choose_the_integer_features(model):
    """Users can choose no integers, other integers, or wider bounds of a switch; fractions are then nearer."""
    X, _ = patients()
    default, plain = model.counterfactual(X[:4]), model.counterfactual(X[:4], integer=())
    assert (plain.distances <= default.distances * (1.0 + 1e-9)).all()
    assert (plain.points[:, :2] != np.round(plain.points[:, :2])).any()
    ages = model.counterfactual(X[:4], integer=[1]).points
    assert (ages[:, 1] == np.round(ages[:, 1])).all()
    assert (ages[:, 0] != np.round(ages[:, 0])).any()
    wide = model.counterfactual(X[:4], bounds={0: (-5, 5)}, fixed=[1, 2, 3, 4])
    assert set(wide.points[wide.is_found, 0]) - {0.0, 1.0}


def test_integer_must_be_auto_or_a_list(model):
    """The message says what is allowed."""
    with pytest.raises(ValueError, match=r"integer must be \"auto\" or a list .* got the text 'x0'\. Write \['x0'\]"):
        model.counterfactual(patients()[0][:1], integer="x0")


def test_rows_with_fractions_may_keep_them(model):
    """A row may contain a fraction in an integer feature; if that feature changes, it becomes an integer."""
    row = patients()[0][:1].copy()
    row[0, 1] = 40.5
    fixed = model.counterfactual(row, fixed=[0, 2, 3, 4])
    assert fixed.points[0, 1] in {40.5, *range(200)}
    assert fixed.points[0, 1] != 40.5


def test_switches_have_no_small_change():
    """The text of a vote mentions no fractional change of a binary feature."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 300), rng.normal(size=300)])
    model = SumStackSoftplusClassifier(**QUICK).fit(X, X[:, 0] + 0.1 * X[:, 1] > 0.5)
    text = str(model.explain(X[:5]))
    assert "(it depends most on x0)" in text
    assert "if x0 changes" not in text


def test_all_integers_are_searched_exhaustively():
    """With ten binary features the nearest of all 1,024 rows is found."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (400, 10)).astype(float)
    y = X[:, :4].sum(axis=1) + X[:, 4] * X[:, 5] + rng.normal(0.0, 0.3, 400) > 2.5
    model = SumStackSoftplusClassifier(**QUICK).fit(X, y)
    found = model.counterfactual(X[:10])
    rows = np.array(list(product([0.0, 1.0], repeat=10)))
    codes, scale = model.predict(rows), found.features.scale
    for row, predicted, distance in zip(X[:10], found.predicted, found.distances, strict=True):
        nearest = np.linalg.norm((rows[codes != predicted] - row) / scale, axis=1).min()
        assert distance == pytest.approx(nearest, rel=1e-12)


@pytest.mark.parametrize(
    ("n_integer", "n_free"), [(4, 0), (60, 0), (4, 5), pytest.param(60, 5, marks=pytest.mark.slow)]
)
def test_cost_does_not_grow_with_integer_features(n_integer, n_free, monkeypatch):
    """Evaluations per row stay below a bound for few and many integer features, alone or beside others.

    Before, neighbors alone were (2 n)^2 choices a round, and each a search of its own beside free features.
    """
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (300, n_integer + n_free)).astype(float)
    X[:, n_integer:] = rng.normal(size=(300, n_free))
    score = X @ rng.normal(size=n_integer + n_free)
    model = SumStackSoftplusClassifier(**QUICK).fit(X, score > np.median(score))
    n_evaluated = 0
    scores = Decision.scores

    def counted(self, rows):
        nonlocal n_evaluated
        n_evaluated += len(rows)
        return scores(self, rows)

    monkeypatch.setattr(Decision, "scores", counted)
    found = model.counterfactual(X[:3], integer=list(range(n_integer)))
    assert found.is_found.all()
    assert n_evaluated / 3 < 100_000


def test_greedy_guesses_find_what_rounding_misses():
    """A plane needs forty of sixty switches, and the continuous answer, two thirds of each, rounds to all."""
    lattice = Lattice(np.zeros(60), np.arange(60), np.ones(60), np.zeros(60), np.ones(60))
    normal = np.ones(60)
    tangents = Tangents(np.full((1, 60), 40.0 / 60.0), normal[None])

    def solve(bases):
        return np.where((bases @ normal >= 40.0)[:, None], bases, np.nan)

    found = nearest_on_lattice(lattice, tangents, solve)
    assert found.sum() == 40.0


def test_rows_that_no_change_can_flip():
    """No answer exists if the prediction is constant over the integer features, unless the other may change."""
    X = np.column_stack([np.linspace(-2.0, 2.0, 120), np.arange(120) % 4])
    model = SumStackSoftplusClassifier(**QUICK).fit(X, (X[:, 0] > 0.0).astype(int))
    found = model.counterfactual(X[[0, 119]], fixed=["x0"], integer=["x1"], bounds={"x1": (0, 3)})
    assert not found.is_found.any()
    mixed = model.counterfactual(X[[0, 119]], integer=["x1"], bounds=(np.array([-2.0, 0.0]), np.array([2.0, 3.0])))
    assert mixed.is_found.all()


@pytest.fixture(scope="module")
def counts():
    """Return a model of two counts and a real number."""
    rng = np.random.default_rng(0)
    X = rng.poisson(3.0, (300, 3)).astype(float)
    X[:, 2] = rng.normal(size=300)
    model = SumStackSoftplusClassifier(random_state=0, inference="map", n_restarts=2)
    return model.fit(X, (X[:, 0] + X[:, 1] > 6.0) ^ (X[:, 2] > 1.0)), X


def test_integers_stay_integers(counts):
    """Integer features are integers at the answer, and no nearer choice of them flips the prediction."""
    model, X = counts
    found = model.counterfactual(X[:15], integer=[0, 1], fixed=[2], bounds={0: (0, 12), 1: (0, 12)})
    choices = np.stack(np.meshgrid(np.arange(13.0), np.arange(13.0)), axis=-1).reshape(-1, 2)
    scale = found.features.scale[:2]
    for row, distance, predicted in zip(X[:15], found.distances, found.predicted, strict=True):
        candidates = np.column_stack([choices, np.full(len(choices), row[2])])
        flips = model.predict(candidates) != predicted
        best = np.linalg.norm((choices[flips] - row[:2]) / scale, axis=1).min(initial=np.inf)
        np.testing.assert_allclose(distance, best, rtol=1e-12)


@pytest.mark.slow
def test_integer_and_real_features_together(counts):
    """With a real feature beside them, integer features stay integers, and changing them too is never worse."""
    model, X = counts
    found = model.counterfactual(X[:6], integer=[0, 1])
    alone = model.counterfactual(X[:6], fixed=[0, 1])
    assert (found.points[:, :2] == np.round(found.points[:, :2])).all()
    assert (model.predict(found.points) != found.predicted).all()
    assert (found.distances <= alone.distances * (1.0 + 1e-9)).all()
