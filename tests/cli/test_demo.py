"""The demo, and the command as a whole."""

import re
import subprocess
import sys
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import softpolytope
from softpolytope.cli import main
from softpolytope.datasets import make_double_moon


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_demo_fits_explains_draws_and_saves(tmp_path, capsys):
    """A table in which softpolytope beats logistic regression, half-spaces, picture, report and model."""
    assert main(["demo", "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    errors = {
        name: float(line[24:].split()[0])
        for line in printed.splitlines()
        for name in ("logistic regression", "support vector machine", "softpolytope")
        if line.startswith(name + " ")
    }
    assert errors["softpolytope"] < errors["logistic regression"]
    for target in (0, 1):
        listed = re.findall(rf"for class {target}: Expert (\d+), weight ([\d.]+):", printed)
        assert [int(number) for number, _ in listed] == list(range(1, len(listed) + 1))
        weights = [float(weight) for _, weight in listed]
        assert weights == sorted(weights, reverse=True)
    assert "report.html (open it in a browser" in printed
    assert "Two half rings" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    model = softpolytope.load_model(tmp_path / "out" / "model.softpolytope")
    said = [line.strip() for line in printed.splitlines() if line.startswith("  for class ")]
    regions = [(polytopes.target, region) for polytopes in model.polytopes() for region in polytopes.regions]
    assert said == [f"for class {target}: {region.in_words()}" for target, region in regions]
    assert {target for target, _ in regions} == {0, 1}
    X, y = make_double_moon(300, noise=0.25, random_state=9)
    assert model.score(X, y) > 0.9
    picture = ET.parse(tmp_path / "out" / "picture.svg").getroot()  # noqa: S314  # our own file
    (axes,) = (group for group in picture.iter() if group.get("id") == "axes_1")
    names = [group.get("id", "").partition("_")[0] for group in axes]
    collections = [group for group, name in zip(axes, names, strict=True) if name == "PathCollection"]
    dots = [element for group in collections for element in group.iter() if element.tag.endswith("}use")]
    assert len(dots) == 400
    assert np.isfinite([float(element.get(axis)) for element in dots for axis in "xy"]).all()
    assert sum(name in ("QuadContourSet", "line2d") for name in names) >= 2  # regions and half-spaces


def test_command_line(capsys):
    """Help without a command, the version, and an unknown command."""
    assert main([]) == 2
    assert "demo" in capsys.readouterr().out
    command = [sys.executable, "-m", "softpolytope.cli", "--version"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert run.stdout.strip() == f"softpolytope {softpolytope.__version__}"
    with pytest.raises(SystemExit) as stop:
        main(["dance"])
    assert stop.value.code == 2


@pytest.mark.parametrize("command", [["demo"], ["figures", "--out", "x"]])
def test_seeds_are_checked(command, capsys):
    """Before anything is made."""
    with pytest.raises(SystemExit) as stop:
        main([*command, "--seed", "-1"])
    assert stop.value.code == 2
    assert "expected an integer from 0 to 4294967295; got '-1'" in capsys.readouterr().err
