"""`softpolytope figures`, with few sweeps: its files, and what happens when it is stopped."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from softpolytope import load_model
from softpolytope.cli import main
from softpolytope.datasets._benchmark import VARIABLE

FEW = ["--sweeps", "10", "--polya-gamma-draws", "2000"]
PAPER_SETS = ("banana", "breast_cancer", "titanic", "waveform", "german", "image", "ijcnn1", "a9a")


def check_files(folder):
    """Every file is whole: pictures can be read, models loaded; nothing else is there."""
    for path in Path(folder).iterdir():
        if path.suffix == ".png":
            with Image.open(path) as picture:
                picture.load()
        elif path.suffix == ".npz":
            with np.load(path) as file:
                assert file["counts"].sum() > 0
        else:
            assert path.suffix == ".softpolytope"
            load_model(path)


def written(folder):
    """Names and times of the models."""
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir() if path.suffix != ".png"}


def make_sets(folder, rng):
    """Tiny files in the layouts of the benchmark sets."""
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    X[y == 1] += 1.0
    for name in PAPER_SETS[:6]:
        np.savez(folder / f"{name}.npz", X=X, y=y, train_index=[np.arange(40)], test_index=[np.arange(40, 60)])
    np.savez(folder / "ijcnn1.npz", X_train=X, y_train=y, X_test=X, y_test=y)
    ones = {f"{part}_indices": np.tile([0, 2], 60) + np.repeat(y, 2) for part in ("train", "test")}
    starts = {f"{part}_indptr": np.arange(61) * 2 for part in ("train", "test")}
    np.savez(folder / "a9a.npz", **ones, **starts, y_train=y, y_test=y, n_features=4)


@pytest.mark.slow
def test_figures_are_drawn_and_drawn_again_without_fitting(tmp_path, capsys):
    """Pictures and models; a second run fits nothing, another seed does."""
    command = ["figures", "--out", str(tmp_path), *FEW, "--jobs", "1", "--only", "1", "11"]
    assert main(command) == 0
    check_files(tmp_path)
    names = {path.name for path in tmp_path.glob("*.png")}
    assert names == {"figure01_circle_sum.png", "figure11_polya_gamma.png"}
    printed = capsys.readouterr().out
    assert "2 fits to run, 1 at a time" in printed
    assert "[2/2]" in printed
    assert "left" in printed

    before = written(tmp_path)
    assert set(before) == {"circle_sum.softpolytope", "polya_gamma.npz"}
    (tmp_path / "figure01_circle_sum.png").unlink()
    assert main(command) == 0
    assert (tmp_path / "figure01_circle_sum.png").is_file()
    assert written(tmp_path) == before
    assert "to run" not in capsys.readouterr().out

    assert main([*command[:-1], "--seed", "1"]) == 0
    changed = {name for name, when in written(tmp_path).items() if when != before[name]}
    assert changed == {"circle_sum.softpolytope"}


def test_without_data(tmp_path, capsys, monkeypatch):
    """Figures of the benchmark sets are skipped, with the reason."""
    monkeypatch.delenv(VARIABLE, raising=False)
    assert main(["figures", "--out", str(tmp_path), *FEW, "--only", "banana", "9"]) == 0
    printed = capsys.readouterr().out
    for number in (7, 8, 9):
        assert f"Figure {number} (" in printed
    assert "data_home is not set" in printed
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_with_data(tmp_path, rng):
    """Weights on all eight sets; the two large ones start at modes."""
    home, out = tmp_path / "home", tmp_path / "out"
    home.mkdir()
    make_sets(home, rng)
    command = ["figures", "--out", str(out), "--data-home", str(home), *FEW, "--jobs", "1", "--only", "weights"]
    assert main(command) == 0
    check_files(out)
    assert {path.name for path in out.glob("*.png")} == {
        "figure09_weights_sum.png",
        "figure10_weights_sum_stack.png",
    }
    assert load_model(out / "a9a_sum.softpolytope").start == "map"
    assert load_model(out / "image_sum_stack_5.softpolytope").start == "random"


def test_unknown_names(tmp_path, capsys):
    """A name that fits no figure ends the command, with those there are."""
    assert main(["figures", "--out", str(tmp_path), "--only", "square"]) == 2
    assert "There is no figure 'square'. Choose from 1 circle_sum, 2" in capsys.readouterr().err


def stopped_command(folder, number, *options):
    """Run the command in processes of its own, stop them once the first model is there; its code and messages."""
    command = [sys.executable, "-m", "softpolytope.cli", "figures", "--out", str(folder / "out"), *options]
    with (folder / "messages").open("w+") as messages:
        process = subprocess.Popen(command, stdout=messages, stderr=messages, start_new_session=True)  # noqa: S603
        while not list((folder / "out").glob("*.softpolytope")) and process.poll() is None:
            time.sleep(0.02)
        os.killpg(process.pid, number)
        code = process.wait(timeout=60)
        messages.seek(0)
        return code, messages.read()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_command_goes_on(tmp_path, number):
    """Killed or stopped, it leaves whole files only; again, it keeps what is there and makes the rest."""
    options = ["--only", "1", "3", "--sweeps", "400"]
    code, messages = stopped_command(tmp_path, number, *options, "--jobs", "2")
    if number == signal.SIGINT:
        assert code == 130, messages
        assert "Run the same command again to continue." in messages
        assert "Traceback" not in messages
    folder = tmp_path / "out"
    check_files(folder)
    before = written(folder)
    assert before
    assert main(["figures", "--out", str(folder), *options, "--jobs", "1"]) == 0
    check_files(folder)
    assert len(list(folder.glob("*.png"))) == 2
    after = written(folder)
    assert {name: after[name] for name in before} == before
