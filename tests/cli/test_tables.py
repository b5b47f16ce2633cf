"""`softpolytope tables`, on small files made here."""

import json
import shutil
import signal
import time

import numpy as np
import pytest

from softpolytope.cli import main
from softpolytope.datasets import make_circle, make_double_moon
from softpolytope.optimize._mode import LogPosterior
from softpolytope.paper import TableProtocol
from softpolytope.paper.baselines import _logistic_regression as logistic_regression
from softpolytope.paper.tables import _fits as fits
from softpolytope.paper.tables import _measure as measure
from softpolytope.paper.tables import _page as page
from softpolytope.paper.tables import _run as command
from softpolytope.paper.tables._plan import PlannedFit, find_fit
from softpolytope.paper.tables._results import load_fit
from softpolytope.paper.tables._softplus import SoftplusRegression


@pytest.fixture(scope="module")
def data_home(tmp_path_factory):
    """Two moons under the name of titanic: 60 rows to learn from, 200 to test on."""
    folder = tmp_path_factory.mktemp("data")
    X, y = make_double_moon(260, random_state=0)
    order = np.random.default_rng(0).permutation(260)
    np.savez(
        folder / "titanic.npz",
        X=X,
        y=y,
        train_index=np.tile(order[:60], (10, 1)),
        test_index=np.tile(order[60:], (10, 1)),
    )
    return folder


@pytest.fixture
def no_pictures(monkeypatch):
    """Pages without them, which take longer than small fits."""
    monkeypatch.setattr(page, "_draw_by_depth", lambda *_: [])


def arguments(data_home, out, *more):
    """A quick run of one set."""
    return ["tables", "--data-home", str(data_home), "--out", str(out), "--quick", "--sets", "titanic", *more]


def wait_until(is_true):
    """As long as a busy machine may take."""
    deadline = time.monotonic() + 60.0
    while not is_true() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert is_true()


def contents(folder):
    """All files below a folder."""
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_fits_are_stored_and_a_second_run_changes_nothing(data_home, tmp_path, capsys):
    """Every fit leaves a file with all it takes to repeat it; the same command again runs none."""
    run = arguments(data_home, tmp_path, "--methods", "lr", "ss2", "default", "--jobs", "1")
    assert main(run) == 0
    first = contents(tmp_path)
    document = json.loads((tmp_path / "quick" / "titanic" / "ss2-0.json").read_text())
    assert document["configuration"]["n_sweeps"] == command.QUICK.n_sweeps
    assert {"result", "seed", "versions", "data", "machine", "finished"} <= set(document)
    assert "precision_rate=1e-06" in document["details"]["settings"]
    assert 0.0 <= document["result"]["error"] < 40.0
    assert "3 fits, 0 of them stored; 3 to run, 1 at a time" in capsys.readouterr().out
    assert main(run) == 0
    assert "3 fits, 3 of them stored." in capsys.readouterr().out
    assert contents(tmp_path) == first


@pytest.mark.usefixtures("no_pictures")
def test_a_missing_fit_is_run_again_with_the_same_numbers(data_home, tmp_path):
    """After an interruption only what is missing is run, with the same numbers."""
    run = arguments(data_home, tmp_path, "--methods", "sum", "--jobs", "1")
    assert main(run) == 0
    path = tmp_path / "quick" / "titanic" / "sum-0.json"
    first = json.loads(path.read_text())["result"]
    path.unlink()
    assert main(run) == 0
    second = json.loads(path.read_text())["result"]
    for name in ("error", "mean_error", "n_experts", "chosen"):
        assert first[name] == second[name]


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.slow
def test_two_processes_find_the_same_as_one(data_home, tmp_path):
    """The seeds of all methods decide everything."""
    methods = ["amm", "rvm", "default", "stack2"]
    results = []
    for n_jobs in ("1", "2"):
        assert main(arguments(data_home, tmp_path / n_jobs, "--methods", *methods, "--jobs", n_jobs)) == 0
        files = [tmp_path / n_jobs / "quick" / "titanic" / f"{method}-0.json" for method in methods]
        found = [json.loads(file.read_text())["result"] for file in files]
        results.append([[item[name] for name in ("error", "mean_error", "n_experts", "chosen")] for item in found])
    assert results[0] == results[1]


@pytest.mark.usefixtures("no_pictures")
def test_a_failed_fit_stops_no_other(data_home, tmp_path, capsys, monkeypatch):
    """Its traceback is stored and the exit code is 1; the next run tries it again."""
    run = arguments(data_home, tmp_path, "--methods", "lr", "svm", "--jobs", "1")
    with monkeypatch.context() as patch:
        patch.setattr(logistic_regression, "tune", lambda *_: 1 / 0)
        assert main(run) == 1
    told = capsys.readouterr()
    assert "  failed; the traceback is in" in told.out
    assert "lr-0.failed.txt. The same command runs it again." in told.err
    failure = tmp_path / "quick" / "titanic" / "lr-0.failed.txt"
    assert "ZeroDivisionError" in failure.read_text()
    assert (tmp_path / "quick" / "titanic" / "svm-0.json").is_file()
    assert main(run) == 0
    assert not failure.exists()
    assert "2 fits, 1 of them stored" in capsys.readouterr().out


@pytest.mark.usefixtures("no_pictures")
def test_the_fit_of_a_damaged_file_is_run_again(data_home, tmp_path, capsys):
    """It is named, and stops nothing."""
    run = arguments(data_home, tmp_path, "--methods", "lr", "--jobs", "1")
    assert main(run) == 0
    path = tmp_path / "quick" / "titanic" / "lr-0.json"
    whole = json.loads(path.read_text())["result"]
    path.write_text("{")
    assert main(run) == 0
    assert f"{path} is damaged" in capsys.readouterr().err
    assert json.loads(path.read_text())["result"]["error"] == whole["error"]


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.filterwarnings("ignore:fitting was stopped early")
def test_a_stopped_library_fit_is_not_kept(data_home, tmp_path, monkeypatch):
    """The classifier itself swallows Ctrl-C, and would predict by what it has."""
    maximize = LogPosterior.maximize

    def stopped(log_posterior, mode, blocks, precision_rate, rule, is_stopped):
        signal.raise_signal(signal.SIGINT)
        wait_until(is_stopped)
        return maximize(log_posterior, mode, blocks, precision_rate, rule, is_stopped)

    run = arguments(data_home, tmp_path, "--methods", "default", "--jobs", "1")
    monkeypatch.setattr(LogPosterior, "maximize", stopped)
    assert main(run) == 130
    assert not (tmp_path / "quick" / "titanic" / "default-0.json").exists()


@pytest.mark.usefixtures("no_pictures")
def test_a_fit_of_another_protocol_does_not_count(data_home, tmp_path, monkeypatch):
    """Results of shorter chains are not passed off as those of longer ones."""
    run = arguments(data_home, tmp_path, "--methods", "softplus", "--jobs", "1")
    assert main(run) == 0
    monkeypatch.setattr(command, "QUICK", TableProtocol(n_sweeps=60, n_draws=10))
    assert main(run) == 0
    document = json.loads((tmp_path / "quick" / "titanic" / "softplus-0.json").read_text())
    assert document["configuration"]["n_sweeps"] == 60


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--sets", "iris"], "sets must be among banana"),
        (["--methods", "xgboost"], "methods must be among lr"),
        (["--sets", "image"], "There is no file image.npz"),
    ],
)
def test_wrong_use_is_reported(data_home, tmp_path, capsys, wrong, message):
    """Before any work, in one line."""
    assert main([*arguments(data_home, tmp_path), *wrong]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize("content", ["foreign", "damaged"])
def test_a_checkpoint_that_cannot_be_used_is_put_away(content, data_home, tmp_path, monkeypatch, capsys):
    """It is reported, nothing is deleted, and the fit starts from scratch."""
    monkeypatch.setattr(PlannedFit, "is_large", True)
    run = arguments(data_home, tmp_path, "--methods", "softplus", "--jobs", "1")
    assert main(run) == 0
    path = tmp_path / "quick" / "titanic" / "softplus-0.json"
    first = json.loads(path.read_text())["result"]
    path.unlink()
    folder = tmp_path / "quick" / "checkpoints" / "titanic" / "softplus-0"
    X, y = make_circle(50, random_state=0)
    SoftplusRegression(1, 1, 0, command.QUICK).fit(X, y, folder)
    files = sorted(folder.glob("*.npz"))
    assert len(files) == 2
    if content == "damaged":
        for file in files:
            file.write_bytes(file.read_bytes()[:1000])
    unused = shutil.rmtree
    monkeypatch.setattr(measure.shutil, "rmtree", lambda *_, **__: None)
    assert main(run) == 0
    assert "and the fit started from scratch." in capsys.readouterr().out
    assert len(list(folder.glob("*.unusable"))) == 2
    again = json.loads(path.read_text())["result"]
    assert (again["error"], again["chosen"]) == (first["error"], first["chosen"])
    unused(folder)


@pytest.mark.usefixtures("no_pictures")
def test_fits_of_other_data_are_run_again(data_home, tmp_path, capsys):
    """Though the files have the same names."""
    other = tmp_path / "other"
    other.mkdir()
    with np.load(data_home / "titanic.npz") as file:
        np.savez(other / "titanic.npz", **{**file, "y": 1 - file["y"]})
    for folder, n_there in ((data_home, 0), (data_home, 1), (other, 0)):
        assert main(arguments(folder, tmp_path / "out", "--methods", "lr", "--jobs", "1")) == 0
        assert f"1 fits, {n_there} of them stored" in capsys.readouterr().out
    # A page is of one kind of data.
    assert main(arguments(data_home, tmp_path / "out", "--methods", "softplus", "--jobs", "1")) == 0
    archive = (tmp_path / "out" / "quick" / "reproduction.jsonl").read_text()
    assert [json.loads(line)["result"]["method"] for line in archive.splitlines()] == ["softplus"]


@pytest.mark.usefixtures("no_pictures")
def test_a_run_continues_from_an_archive_and_is_compared_with_one(data_home, tmp_path, capsys):
    """Fits of an archive are not run again and have its numbers; one that differs is named."""
    methods = ["--methods", "lr", "sum", "--jobs", "1"]
    assert main(arguments(data_home, tmp_path / "one", *methods)) == 0
    archive = tmp_path / "one" / "quick" / "reproduction.jsonl"
    capsys.readouterr()
    known = ["--known", str(archive), "--check", str(archive)]
    assert main(arguments(data_home, tmp_path / "two", *methods, *known)) == 0
    told = capsys.readouterr().out
    assert "2 fits, 2 of them stored" in told
    assert "2 fits are also in" in told
    assert "2 have the same numbers" in told
    assert contents(tmp_path / "two" / "quick" / "titanic") == contents(tmp_path / "one" / "quick" / "titanic")
    documents = [json.loads(line) for line in archive.read_text().splitlines()]
    documents[0]["result"]["error"] += 1.0
    documents[1]["result"]["fit_seconds"] += 1.0
    archive.write_text("".join(json.dumps(document) + "\n" for document in documents))
    assert main(arguments(data_home, tmp_path / "two", *methods, "--check", str(archive))) == 1
    told = capsys.readouterr()
    assert "1 have the same numbers" in told.out
    assert "differs: titanic/lr-0: error" in told.err
    assert "sum-0" not in told.err


@pytest.mark.usefixtures("no_pictures")
def test_an_archive_of_another_protocol_is_left_alone(data_home, tmp_path, capsys, monkeypatch):
    """Its fits are neither taken nor compared, and a comparison of nothing does not pass."""
    run = arguments(data_home, tmp_path / "one", "--methods", "sum", "--jobs", "1")
    assert main(run) == 0
    archive = str(tmp_path / "one" / "quick" / "reproduction.jsonl")
    monkeypatch.setattr(command, "QUICK", TableProtocol(n_sweeps=60, n_draws=10))
    capsys.readouterr()
    run = arguments(
        data_home, tmp_path / "two", "--methods", "sum", "--jobs", "1", "--known", archive, "--check", archive
    )
    assert main(run) == 1
    told = capsys.readouterr().out
    assert "1 fits, 0 of them stored" in told
    assert "0 fits are also in" in told


def test_a_file_that_is_not_an_archive_is_reported(data_home, tmp_path, capsys):
    """By file and line."""
    path = tmp_path / "some.jsonl"
    path.write_text('{"result": {}}\n')
    assert main(arguments(data_home, tmp_path / "out", "--known", str(path))) == 2
    assert "some.jsonl, line 1: not the result of a fit" in capsys.readouterr().err
    path.write_bytes("{}".encode("utf-16"))
    assert main(arguments(data_home, tmp_path / "out", "--known", str(path))) == 2
    assert "some.jsonl is not a text file" in capsys.readouterr().err


@pytest.fixture(scope="module")
def archive(data_home, tmp_path_factory):
    """Of a run with one fit."""
    out = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "_draw_by_depth", lambda *_: [])
        assert main(arguments(data_home, out, "--methods", "lr", "--jobs", "1")) == 0
    return out / "quick" / "reproduction.jsonl"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("error", "abc"), ("error", None), ("error", float("nan")), ("n_experts", [1.0]), ("chosen", None),
        ("set_name", "../../escaped"), ("set_name", "iris"), ("trial", 77), ("method", "xgboost"),
    ],
)  # fmt: skip
def test_numbers_that_no_fit_has_are_refused(data_home, archive, tmp_path, capsys, name, value):
    """In an archive they end the command, and nothing is written outside its folder; a file does not count."""
    document = json.loads(archive.read_text())
    document["result"][name] = value
    path = tmp_path / "some.jsonl"
    path.write_text(json.dumps(document) + "\n")
    assert main(arguments(data_home, tmp_path / "out", "--known", str(path))) == 2
    assert "some.jsonl, line 1: not the result of a fit" in capsys.readouterr().err
    assert {item.name for item in tmp_path.iterdir()} <= {"some.jsonl", "out"}
    assert not [item for item in (tmp_path / "out").rglob("*") if item.is_file()]
    file = tmp_path / "titanic" / "lr-0.json"
    file.parent.mkdir()
    file.write_text(json.dumps(document))
    with pytest.warns(RuntimeWarning, match="is damaged"):
        assert load_fit(find_fit("titanic", "lr", 0), command.QUICK, tmp_path) is None


def test_a_file_of_another_fit_is_refused(archive, tmp_path):
    """A copy under another name is not the result of that name."""
    (tmp_path / "titanic").mkdir()
    for trial in (0, 1):
        (tmp_path / "titanic" / f"lr-{trial}.json").write_text(archive.read_text())
    assert load_fit(find_fit("titanic", "lr", 0), command.QUICK, tmp_path) is not None
    with pytest.warns(RuntimeWarning, match="it is that of titanic/lr-0"):
        assert load_fit(find_fit("titanic", "lr", 1), command.QUICK, tmp_path) is None


@pytest.mark.usefixtures("no_pictures")
def test_an_archive_is_not_lost_to_a_page(data_home, archive, tmp_path, capsys, monkeypatch):
    """Neither one that a run is compared with, nor one with fits that the page would not have."""
    copy = tmp_path / "reproduction.jsonl"
    shutil.copy(archive, copy)
    run = arguments(
        data_home, tmp_path / "out", "--methods", "lr", "--jobs", "1", "--page", str(copy.with_suffix(".md"))
    )
    assert main([*run, "--check", str(copy)]) == 2
    assert "reproduction.jsonl is a file that is read, and would be overwritten" in capsys.readouterr().err
    assert main([*run, "--known", str(copy)]) == 0
    assert copy.read_bytes() == archive.read_bytes()
    monkeypatch.setattr(fits, "TUNING", {**fits.TUNING, "lr": -1})
    assert main([*run, "--known", str(copy)]) == 2
    assert (
        "has 1 fits with other settings or data, such as titanic/lr-0, and would lose them" in capsys.readouterr().err
    )
    assert copy.read_bytes() == archive.read_bytes()


@pytest.mark.parametrize("place", ["page.jsonl", "folder.md", "file/page.md"])
def test_a_page_that_cannot_be_written_is_reported_first(data_home, tmp_path, capsys, place):
    """Not after hours of fits."""
    (tmp_path / "folder.md").mkdir()
    (tmp_path / "file").touch()
    assert main(arguments(data_home, tmp_path / "out", "--page", str(tmp_path / place))) == 2
    told = capsys.readouterr()
    assert "fits" not in told.out
    assert place.split("/")[0] in told.err
