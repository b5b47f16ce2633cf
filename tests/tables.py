"""Tables for tests: customers with numbers, categories, missing values, dates and identifiers."""

import functools
import tempfile
from pathlib import Path

import numpy as np

from softpolytope import SoftplusClassifier, SumSoftplusClassifier, TableClassifier
from softpolytope.tabular import ColumnSelection, infer_schema, open_table, read_rows

HEADER = ["id", "age", "income", "color", "when", "children", "buys"]
FEATURES = ["age", "income", "color", "children"]


@functools.cache
def customers(n_rows=120):
    """Rows of text as a CSV file has them."""
    rng = np.random.default_rng(0)
    rows = []
    for number in range(n_rows):
        age, income, children = rng.integers(18, 80), rng.gamma(3.0, 12.0), rng.integers(0, 4)
        color = rng.choice(["red", "blue", "dark green, or so"])
        buys = (income > 35.0 and age < 60) or (color == "red" and children >= 2)
        rows.append(
            [
                f"c{number:04d}",
                "" if rng.random() < 0.1 else str(age),
                f"{income:.2f}",
                "NA" if rng.random() < 0.1 else str(color),
                f"2024-0{1 + number % 9}-{1 + number % 28:02d}",
                str(children),
                "yes" if buys else "no",
            ]
        )
    return rows


def write_csv(path, rows, header=HEADER):
    """Write rows, text with commas in quotes."""
    lines = [",".join(f'"{cell}"' if "," in cell else cell for cell in row) for row in [header, *rows]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@functools.cache
def fitted():
    """A small model of the customers."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_csv(Path(folder) / "train.csv", customers())
        classifier = SumSoftplusClassifier(random_state=0, max_experts=3, inference="map", n_restarts=2)
        return TableClassifier(classifier).fit(path, "buys", drop=["id", "when"])


def raw_row(row):
    """A row of text as a dict of the model's columns, None where a value is missing."""
    cells = dict(zip(HEADER, row, strict=True))
    return {
        name: None if cells[name] in ("", "NA") else cells[name] if name == "color" else float(cells[name])
        for name in FEATURES
    }


def encode_columns(columns, **options):
    """Rows of a table, encoded by what is learned from it."""
    table = open_table({**columns, "y": [0, 1] * (len(next(iter(columns.values()))) // 2)})
    plan = infer_schema(table, ColumnSelection("y", **options))
    rows, _ = read_rows(table, plan)
    encoder = plan.encoder.with_medians(rows)
    encoder.impute(rows)
    return encoder, rows


def small_model(**columns):
    """A model of a few categories."""
    size = len(next(iter(columns.values())))
    table = {**columns, "y": ["a", "b"] * (size // 2)}
    classifier = SoftplusClassifier(inference="map", n_restarts=1, random_state=0)
    return TableClassifier(classifier, categorical=list(columns)).fit(table, "y")
