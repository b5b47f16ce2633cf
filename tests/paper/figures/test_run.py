"""The figures of the paper, what they need, and the files that a run leaves."""

import pytest

from softpolytope.exceptions import ReproductionError
from softpolytope.paper import FigureProtocol, reproduce_figures
from softpolytope.paper.figures._run import all_figures, missing_jobs, select_figures


def test_there_are_fifteen_figures():
    """They are numbered as in the paper, and every model has a file of its own."""
    figures = all_figures()
    assert [figure.number for figure in figures] == list(range(1, 16))
    every = {model for figure in figures for model in figure.models}
    assert len({model.name for model in every}) == len(every)


def test_figures_are_selected_by_number_and_beginning():
    """They come in the order of the paper; a name that fits none is an error that lists them."""
    assert [figure.name for figure in select_figures(["xor", "1"])] == ["circle_sum", "xor", "xor_posterior"]
    assert select_figures(None) == all_figures()
    with pytest.raises(ReproductionError, match=r"There is no figure 'square'\. Choose from 1 circle_sum, 2"):
        select_figures(["square"])


def test_a_model_of_two_figures_is_one_job(tmp_path):
    """Jobs come with the longest first; figures wait for their own jobs only."""
    figures = select_figures(["1", "2", "11"])
    jobs = missing_jobs(figures, FigureProtocol(), tmp_path)
    assert [job.name for job in jobs] == ["polya_gamma", "circle_sum"]
    assert [figure.needed_jobs for figure in figures] == [{"circle_sum"}, {"circle_sum"}, {"polya_gamma"}]


def test_leftovers_are_removed_and_lines_reported(tmp_path, monkeypatch):
    """Temporary files of a killed run are removed, other hidden files stay; without data, figures are skipped."""
    monkeypatch.delenv("SOFTPOLYTOPE_DATA", raising=False)
    for name in (".figure01.png.0123456789abcdef", ".notes.png", ".circle.softpolytope.fedcba9876543210"):
        (tmp_path / name).write_bytes(b"half")
    lines = []
    reproduce_figures(tmp_path, ["banana"], FigureProtocol(), report=lines.append)
    assert [path.name for path in tmp_path.iterdir()] == [".notes.png"]
    assert "Figure 7 (banana) is skipped" in lines[0]
    assert lines[-1].startswith("0 figures in")
