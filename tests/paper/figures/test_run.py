"""Files that a run of the figures leaves."""

from softpolytope.paper import FigureProtocol, reproduce_figures


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
