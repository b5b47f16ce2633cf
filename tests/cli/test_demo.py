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
    assert "report.html in a browser" in printed
    assert "Two half rings" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    model = softpolytope.load_model(tmp_path / "out" / "model.softpolytope")
    said = [line.strip() for line in printed.splitlines() if line.startswith("  for class ")]
    regions = [(polytopes.target, region) for polytopes in model.polytopes() for region in polytopes.regions]
    assert said == [f"for class {target}: {region.in_words()}" for target, region in regions]
    assert {target for target, _ in regions} == {0, 1}
    X, y = make_double_moon(300, noise=0.25, random_state=9)
    assert model.score(X, y) > 0.9
    picture = ET.parse(tmp_path / "out" / "picture.svg").getroot()  # noqa: S314  # our own file
    kinds = [element.tag.split("}")[1] for element in picture]
    assert kinds.count("circle") == 400
    assert kinds.count("line") >= 2
    assert np.isfinite([float(element.get("cx")) for element in picture if element.get("cx")]).all()


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
