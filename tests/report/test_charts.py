"""Shapes of the charts against the numbers they show."""

import numpy as np
import pytest

from softpolytope.report._charts import calibration_chart, modes_chart, ticks, trace_chart, weights_chart
from softpolytope.report._scores import Calibration


def shapes(chart, kind):
    """Return the attributes of the shapes of a class."""
    return [shape.attributes for shape in chart.shapes if shape.attributes.get("class") == kind]


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [
        (0.0, 1.0, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (-3.2, 7.9, [-2.0, 0.0, 2.0, 4.0, 6.0]),
        (0.5, 3.5, [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5]),
    ],
)
def test_ticks_are_round(low, high, wanted):
    """Numbers are multiples of 1, 2 or 5 times a power of ten within the bounds."""
    np.testing.assert_allclose(ticks(low, high, 6), wanted, atol=1e-12)


def test_calibration_marks_misses_by_shape():
    """Bins whose band misses are squares, others are circles; bars have the numbers of rows."""
    bands = np.array([[0.0, 0.2], [0.8, 0.9]])
    calibration = Calibration(
        np.array([0.0, 0.4]), np.array([10, 20]), np.array([0.1, 0.5]), np.array([0.1, 0.85]), bands
    )
    chart = calibration_chart(calibration, "probability", "share")
    assert len(shapes(chart, "dot")) == len(shapes(chart, "dot missed")) == 1
    assert len(shapes(chart, "band")) == len(shapes(chart, "band missed")) == 1
    assert [shape.tooltip for shape in chart.shapes if shape.tooltip] == ["10 rows", "20 rows"]
    assert float(shapes(chart, "dot")[0]["cx"]) == pytest.approx(chart.x(0.1), abs=0.05)
    assert float(shapes(chart, "dot")[0]["cy"]) == pytest.approx(chart.y(0.1), abs=0.05)


def test_weights_have_a_bar_and_a_line_each():
    """Bars end at the median, lines at the bounds."""
    chart = weights_chart(np.array([[1.0, 2.0, 3.0], [0.0, 0.5, 1.0]]), "label", "weight side1")
    bars, lines = shapes(chart, "weight side1"), shapes(chart, "whisker")
    assert float(bars[0]["y"]) == pytest.approx(chart.y(2.0), abs=0.05)
    assert lines[1]["d"] == f"M{chart.x(2.0):.1f} {chart.y(0.0):.1f}V{chart.y(1.0):.1f}"


def test_traces_stay_within_the_frame():
    """Early sweeps far below the others are clipped, and discarded sweeps are shaded."""
    traces = np.array([[-1e6, *np.linspace(-10.0, -8.0, 99)], np.linspace(-9.0, -8.5, 100)])
    chart = trace_chart(traces, 50, "label")
    lines = [shape.attributes["points"].split() for shape in chart.shapes if shape.tag == "polyline"]
    heights = [float(point.split(",")[1]) for line in lines for point in line]
    assert 0.0 <= min(heights) <= max(heights) <= chart.height
    assert [len(line) for line in lines] == [100, 100]
    assert float(shapes(chart, "discarded")[0]["width"]) == pytest.approx(chart.x(50.0) - chart.x(0.0), abs=0.05)
    assert not shapes(trace_chart(traces, 0, "label"), "discarded")


def test_best_mode_is_marked():
    """One dot differs from the others."""
    chart = modes_chart([-30.0, -10.0, -20.0], "label")
    assert len(shapes(chart, "dot")) == 2
    assert float(shapes(chart, "dot best")[0]["cx"]) == pytest.approx(chart.x(2.0), abs=0.05)


def test_long_labels_are_cut():
    """Texts fit beside the axes."""
    chart = modes_chart([0.0], "label")
    chart.add_axes("x" * 100, "y")
    assert max(len(shape.text) for shape in chart.shapes) == 44
