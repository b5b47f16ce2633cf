"""Progress on a terminal, in a log file, and over hours."""

import io
import os
import subprocess

import pytest
from commands import ENVIRONMENT, command_line, softpolytope
from sklearn.datasets import load_iris, make_moons

from softpolytope import (
    SumStackSoftplusClassifier,
)
from softpolytope.estimators import _callbacks
from softpolytope.estimators._callbacks import ProgressLine
from softpolytope.parallel._threads import Progress


class Terminal(io.StringIO):
    """Text that says it is shown on a terminal."""

    def isatty(self):
        """Say so."""
        return True


def written(monkeypatch, out, seconds, n_steps=10_000):
    """Return what a fit of so many seconds writes, by a clock that advances with every step."""
    now = 0.0
    monkeypatch.setattr(_callbacks.time, "monotonic", lambda: now)
    line = ProgressLine(1, out)
    for step in range(n_steps):
        now = seconds * (step + 1) / n_steps
        line(Progress(0, 0, step + 1, n_steps, "sweeps", -1.0, 2))
    return out.getvalue()


@pytest.mark.parametrize(("seconds", "n_lines"), [(5.0, 1), (60.0, 3), (3600.0, 11), (36_000.0, 65)])
def test_a_log_file_gets_few_lines(monkeypatch, seconds, n_lines):
    """After 10, 30, 70, ... seconds, then every ten minutes, and at the end; none is written over another."""
    lines = written(monkeypatch, io.StringIO(), seconds).splitlines(keepends=True)
    assert len(lines) == n_lines
    assert all(line.endswith("experts\n") and "\r" not in line for line in lines)
    assert lines[-1].startswith("100% of 10000 sweeps, 0 s left")


def test_a_terminal_is_kept_up_to_date(monkeypatch):
    """Five times a second, over the same line, which ends when the fit does."""
    text = written(monkeypatch, Terminal(), 60.0)
    assert text.count("\r") == pytest.approx(300, abs=5)
    assert text.count("\n") == 1
    assert text.endswith("\n")


def test_steps_after_the_last_write_nothing(monkeypatch):
    """A search that makes more optimizations than announced has one last line."""
    out = io.StringIO()
    monkeypatch.setattr(_callbacks.time, "monotonic", lambda: 0.0)
    line = ProgressLine(1, out)
    for step in range(1, 9):
        line(Progress(0, 0, step, 5, "optimizations", -1.0, 2))
    assert out.getvalue().count("\n") == 1


@pytest.fixture
def table(tmp_path):
    """A table that takes a second or two to learn from."""
    run = softpolytope("datasets", "make", "double_moon", "--samples", "600", "-o", "moons.csv", folder=tmp_path)
    assert run.returncode == 0
    return tmp_path


@pytest.mark.slow
def test_the_command_writes_few_lines_to_a_file(table):
    """One for each of the two fits, which take seconds here."""
    run = softpolytope("fit", "moons.csv", "--target", "y", "-o", "m", folder=table)
    assert run.returncode == 0
    assert "\r" not in run.stderr
    lines = run.stderr.splitlines()
    assert 2 <= len(lines) <= 8  # on a machine that takes minutes for it
    assert sum(line.startswith("100% of ") for line in lines) == 2


def parts(terminal):
    """What is shown on a terminal until the program on it ends."""
    with os.fdopen(terminal, "rb", buffering=0) as screen:
        try:
            while part := screen.read(4096):
                yield part
        except OSError:  # Linux says so at the end
            pass


@pytest.mark.slow
def test_the_command_shows_progress_on_a_terminal(table):
    """The line is written over on a real one."""
    ours, theirs = pytest.importorskip("pty").openpty()
    command = command_line("fit", "moons.csv", "--target", "y", "--test-size", "0", "-o", "m")
    run = subprocess.Popen(command, cwd=table, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=theirs)  # noqa: S603
    os.close(theirs)
    shown = b"".join(parts(ours))
    assert run.wait(60) == 0
    assert shown.startswith(b"\r")
    assert b"\r100% of " in shown


pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SHORT = {"inference": "gibbs", "start": "random", "n_sweeps": 60, "max_experts": 4, "random_state": 0}


@pytest.fixture(scope="module")
def moons():
    """Two half circles, 200 rows."""
    return make_moons(200, noise=0.2, random_state=0)


def test_progress_line(moons, capsys):
    """verbose=1 writes one line that ends at 100 %; nothing is written otherwise."""
    SumStackSoftplusClassifier(**SHORT).fit(*moons)
    assert capsys.readouterr() == ("", "")
    SumStackSoftplusClassifier(**SHORT, verbose=1).fit(*moons)
    lines = capsys.readouterr().err.strip().split("\r")
    assert lines[-1].startswith("100% of 240 sweeps, 0 s left; log-likelihood -")


def test_progress_of_more_sweeps_and_classes(moons, capsys):
    """A fit that continues, and one of several classes, end at 100 % as well."""
    X, y = moons
    model = SumStackSoftplusClassifier(**SHORT, warm_start=True).fit(X, y)
    model.set_params(verbose=1, n_sweeps=80).fit(X, y)
    assert capsys.readouterr().err.strip().split("\r")[-1].startswith("100% of 320 sweeps")
    X, y = load_iris(return_X_y=True)
    SumStackSoftplusClassifier(**{**SHORT, "n_sweeps": 10}, verbose=1).fit(X, y)
    assert capsys.readouterr().err.strip().split("\r")[-1].startswith("100% of 120 sweeps")


def test_scikit_learn_callbacks(moons):
    """Where scikit-learn has callbacks, they see every sweep and can stop the fit."""
    callback = pytest.importorskip("sklearn.callback")

    class Stop(callback.FitCallback):
        def __init__(self, after):
            self.after, self.n_seen = after, 0

        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):  # noqa: ARG002
            self.n_seen += context.task_name.startswith("sweep")
            return self.n_seen >= self.after

        def teardown(self, estimator, context):
            pass

    watch = Stop(10**6)
    SumStackSoftplusClassifier(**SHORT).set_callbacks(watch).fit(*moons)
    assert watch.n_seen == 240
    stop = Stop(200)
    with pytest.warns(UserWarning, match="stopped early"):
        model = SumStackSoftplusClassifier(**SHORT).set_callbacks(stop).fit(*moons)
    assert stop.n_seen < 240
    assert model.predict(moons[0]).shape == (200,)


SMALL = {"max_experts": 6, "inference": "map", "n_restarts": 3, "random_state": 0}


def test_progress_counts_optimizations(moons, capsys):
    """Up to all of them."""
    SumStackSoftplusClassifier(**SMALL, verbose=1).fit(*moons)
    line = capsys.readouterr().err
    assert "100% of 42 optimizations" in line
    assert "experts" in line


@pytest.mark.parametrize(("n_active", "text"), [(0, "0 experts"), (1, "1 expert"), (2, "2 experts")])
def test_progress_of_one_expert(n_active, text):
    """The noun agrees with the number of experts."""
    out = io.StringIO()
    ProgressLine(1, out)(Progress(0, 0, 5, 5, "sweeps", -1.0, n_active))
    assert out.getvalue().strip().endswith(f", {text}")
