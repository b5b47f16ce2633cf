"""`softpolytope report`: a page from a model file and a table."""

import pytest
from tables import customers, fitted, write_csv

from softpolytope import TableClassifier
from softpolytope.cli import main
from softpolytope.cli._evaluation import scores
from softpolytope.cli.report import _baselines
from softpolytope.tabular import open_table
from softpolytope.tabular.plan import read_labelled

pytest.importorskip("softpolytope.report")


def test_a_page_is_written(tmp_path, capsys):
    """Whole or not at all."""
    fitted().save(tmp_path / "m")
    table = write_csv(tmp_path / "data.csv", customers())
    page = tmp_path / "r.html"
    assert main(["report", str(tmp_path / "m"), "--data", str(table), "-o", str(page)]) == 0
    assert "Written: " in capsys.readouterr().out
    assert "<html" in page.read_text(encoding="utf-8").lower()
    table.write_text("age,income,colour,children,buys\n1,2,red,3,perhaps\n")
    page.unlink()
    assert main(["report", str(tmp_path / "m"), "--data", str(table), "-o", str(page)]) == 2
    assert "line 2, column 'buys': 'perhaps' is none of the classes no, yes" in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"m", "data.csv"}


def test_scores_of_other_rows_say_so(tmp_path):
    """Baselines go with the page only if they were measured on the same rows; else under another name."""
    model = fitted()
    rows, codes = read_labelled(open_table(write_csv(tmp_path / "d.csv", customers())), model.encoder_, model.target_)
    own = scores(model.classifier_.predict_proba(rows), codes)
    held_out = {"logistic regression": {"error": 0.2, "log_loss": 0.5}, "softpolytope": own}
    same = TableClassifier.from_parts(model.encoder_, model.target_, model.classifier_, held_out)
    assert _baselines(same, rows, codes) == {"logistic regression": {"error": 0.2, "log_loss": 0.5}}
    assert all("held out" in name for name in _baselines(same, rows[:-9], codes[:-9]))
    assert _baselines(model, rows, codes) == {}
