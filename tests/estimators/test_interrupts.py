"""Ctrl-C while a classifier is fitted: it is raised whatever is under way, and what was reached is of use."""

import signal
import threading
from itertools import count

import numpy as np
import pytest
from partitioned import sha
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

from softpolytope import SumStackSoftplusClassifier
from softpolytope.gibbs._chain import Chain
from softpolytope.optimize._mode import LogPosterior

# Chains so short are not expected to agree.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

CHAINS = {"inference": "gibbs", "start": "random", "n_chains": 2, "n_sweeps": 100_000, "n_burn_in": 5}
FITS = {
    "map": {"inference": "map"},
    "bootstrap": {"n_members": 4},
    "bootstrap, two threads": {"n_members": 4, "n_jobs": 2},
    "map, two threads": {"inference": "map", "n_jobs": 2},
    "collapsed": CHAINS,
    "collapsed, two threads": CHAINS | {"n_jobs": 2},
    "collapsed, eight threads": CHAINS | {"n_jobs": 8},  # more than chains: the blocks have them
    "paper": CHAINS | {"scan": "paper"},
    "start at modes": CHAINS | {"start": "map"},
}
ROWS = {
    "two classes": make_moons(200, noise=0.2, random_state=0),
    "three classes": load_iris(return_X_y=True),
}


@pytest.fixture(autouse=True)
def _ctrl_c_is_heard():
    """A shell's background jobs ignore Ctrl-C, and with them their Python."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def press(monkeypatch):
    """Have Ctrl-C pressed at the n-th sweep or optimization, once."""

    def at(n_before):
        calls = count()

        def pressing(function):
            def call(*given, **named):
                if next(calls) == n_before:
                    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
                return function(*given, **named)

            return call

        monkeypatch.setattr(Chain, "advance", pressing(Chain.advance))
        monkeypatch.setattr(LogPosterior, "maximize", pressing(LogPosterior.maximize))

    return at


def model(kind, **changes):
    """A small model that is fitted in one of several ways."""
    return SumStackSoftplusClassifier(**{"max_experts": 4, "random_state": 0} | FITS[kind] | changes)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("kind", FITS)
def test_ctrl_c_is_raised(kind, rows, press):
    """Not swallowed, and not turned into another error."""
    press(3)
    with pytest.raises(KeyboardInterrupt):
        model(kind).fit(*ROWS[rows])


@pytest.mark.parametrize("kind", ["map", "bootstrap", "collapsed", "paper"])
def test_ctrl_c_is_raised_with_rows_in_partitions(kind, press, tmp_path):
    """Rows that are read part by part are no exception."""
    press(3)
    X, y = ROWS["two classes"]
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(KeyboardInterrupt):
        model(kind).fit(tmp_path / "X.npy", y, max_memory="8GB")


def test_ctrl_c_ends_sweeps_of_huge_weights(press):
    """A sweep over rows that stand for 1e15 each ends soon enough for it to be heard."""
    press(8)
    X, y = ROWS["two classes"]
    with pytest.raises(KeyboardInterrupt):
        model("collapsed").fit(X[:40], y[:40], sample_weight=np.full(40, 1e15))


@pytest.mark.parametrize("kind", ["map", "collapsed"])
def test_cross_validation_has_no_score_of_an_interrupted_fit(kind, press):
    """It ends, as with any other classifier."""
    press(20)
    with pytest.raises(KeyboardInterrupt):
        cross_val_score(model(kind), *ROWS["two classes"], cv=3)


def test_what_was_reached_stays(press):
    """Draws made by then predict, and warm_start continues to those of one run."""
    X, y = ROWS["two classes"]
    press(60)
    interrupted = model("collapsed", warm_start=True)
    with pytest.raises(KeyboardInterrupt):
        interrupted.fit(X, y)
    n_done = interrupted.log_likelihood_[0].shape[1]
    assert 10 <= n_done < 100_000
    assert interrupted.predict_proba_draws(X).shape[0] > 0
    n_sweeps = n_done + 30
    resumed = interrupted.set_params(n_sweeps=n_sweeps).fit(X, y).log_likelihood_[0]
    assert np.array_equal(resumed, model("collapsed", n_sweeps=n_sweeps).fit(X, y).log_likelihood_[0])


def test_before_the_first_draw_nothing_stays(press):
    """Neither does the fit before, which it would be taken for."""
    X, y = ROWS["two classes"]
    found = model("collapsed", n_sweeps=20).fit(X, y)
    press(3)
    with pytest.raises(KeyboardInterrupt):
        found.set_params(n_sweeps=100_000, n_burn_in=50_000).fit(X, y)
    with pytest.raises(NotFittedError):
        found.predict(X)


def test_ctrl_c_in_the_last_sweep_is_raised_once(press):
    """Though nothing is left to do; going on with the same chains is then no interrupted fit."""
    X, y = ROWS["two classes"]
    found = model("collapsed", n_chains=1, n_sweeps=20, warm_start=True, symmetric=False)
    press(19)
    with pytest.raises(KeyboardInterrupt):
        found.fit(X, y)
    assert found.log_likelihood_[0].shape == (1, 20)
    with pytest.warns(UserWarning, match="nothing to do"):
        found.fit(X, y)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("map", {"n_restarts": 2}),
        ("bootstrap", {}),
        ("bootstrap, two threads", {}),
        ("map, two threads", {"n_restarts": 2}),
        ("paper", {"n_sweeps": 40, "n_draws": 10}),
    ],
)
def test_a_checkpoint_resumes_to_the_same_bits(kind, changes, rows, press, tmp_path):
    """In another classifier, as in another process."""
    plain = model(kind, **changes).fit(*ROWS[rows])
    press(6)
    with pytest.raises(KeyboardInterrupt):
        model(kind, checkpoint=tmp_path, **changes).fit(*ROWS[rows])
    assert any(tmp_path.rglob("*.npz"))
    assert sha(model(kind, checkpoint=tmp_path, **changes).fit(*ROWS[rows])) == sha(plain)
