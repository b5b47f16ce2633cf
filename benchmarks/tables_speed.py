"""Measure reading, encoding and predicting a table of 300,000 rows, 8 numbers and 2 columns of text.

    python benchmarks/tables_speed.py                      this version, two minutes
    python benchmarks/tables_speed.py --also PYTHON        beside the version that another interpreter has installed
    python benchmarks/tables_speed.py --readers            pyarrow, polars and the standard library, and their sizes

Prints processor seconds (the best of three), for commands without those of ten rows, wall-clock seconds where it says
so, and MB of peak memory.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path

import numpy as np

N_ROWS = 300_000
COLORS = ["red", "green", "blue", "dark green, or so", ""]
WORKER = "--worker"


def write_table(path, n_rows):
    """Write the file; the label depends on numbers and text."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 8)).round(6)
    color, city = rng.choice(COLORS, n_rows), rng.choice([f"city {number}" for number in range(30)], n_rows)
    label = np.where((X[:, 0] > 0.3) & (X[:, 1] < 0.5) | (city == "city 3"), "yes", "no")
    with path.open("w") as file:
        file.write(",".join([*(f"x{number}" for number in range(8)), "color", "city", "label"]) + "\n")
        for row, *texts in zip(X.tolist(), color, city, label, strict=True):
            cells = [f'"{text}"' if "," in text else text for text in texts]
            file.write(",".join([*map(str, row), *cells]) + "\n")


def best(function):
    """Return the least processor seconds of three calls."""
    seconds = []
    for _ in range(3):
        start = time.process_time()
        function()
        seconds.append(time.process_time() - start)
    return min(seconds)


def measure_in_process(folder):
    """Print seconds of encoding and predicting in this process, as JSON."""
    import pandas as pd  # noqa: PLC0415  # of the worker only
    import polars as pl  # noqa: PLC0415  # of the worker only
    import pyarrow as pa  # noqa: PLC0415  # of the worker only

    from softpolytope import load_model  # noqa: PLC0415  # of the worker only
    from softpolytope.tabular import (  # noqa: PLC0415  # of the worker only
        ColumnSelection,
        infer_schema,
        open_table,
        read_rows,
    )

    model = load_model(folder / "model")
    frame = pd.read_csv(folder / "table.csv", keep_default_na=False)
    frames = {"pandas": frame, "polars": pl.from_pandas(frame), "pyarrow": pa.Table.from_pandas(frame)}
    found = {f"encode, {name}": best(lambda table=table: model.encode(table)) for name, table in frames.items()}
    rows = model.encode(frame)
    found["predict encoded rows"] = best(lambda: model.classifier_.predict_proba(rows))

    def read_for_fit():
        table = open_table(folder / "table.csv")
        read_rows(table, infer_schema(table, ColumnSelection("label")))

    found["infer the schema of the file and encode it"] = best(read_for_fit)
    print(json.dumps(found))


def measure_readers(path):
    """Print seconds and installed sizes of three readers; raise unless they read the same bits."""
    import polars as pl  # noqa: PLC0415  # of this part only
    import pyarrow as pa  # noqa: PLC0415  # of this part only
    import pyarrow.csv  # noqa: PLC0415  # of this part only

    def read_by_arrow():
        types = dict.fromkeys(names, pa.string())
        options = pa.csv.ConvertOptions(column_types=types, strings_can_be_null=False)
        table = pa.csv.read_csv(path, pa.csv.ReadOptions(use_threads=False), None, options)
        return [table[name].cast(pa.float64()).to_numpy() for name in names[:8]]

    def read_by_polars():
        table = pl.read_csv(path, infer_schema=False)
        return [table[name].cast(pl.Float64).to_numpy() for name in names[:8]]

    def read_by_library():
        with path.open(newline="") as file:
            columns = list(zip(*csv.reader(file), strict=True))
        return [np.fromiter(map(float, column[1:]), np.float64, len(column) - 1) for column in columns[:8]]

    names = path.open().readline().strip().split(",")
    readers = {"pyarrow": read_by_arrow, "polars": read_by_polars, "csv, float": read_by_library}
    if len({b"".join(column.tobytes() for column in read()) for read in readers.values()}) > 1:
        raise SystemExit("the readers differ in some bit")
    sizes = {"polars": installed_size("polars") + installed_size("polars-runtime-32"), "csv, float": 0.0}
    print("| all cells as text, then 8 columns as numbers | seconds | MB installed |")
    print("| --- | --- | --- |")
    for name, read in readers.items():
        size = sizes[name] if name in sizes else installed_size(name)
        print(f"| {name} | {best(read):.2g} | {size:.0f} |")
    own = {name: installed_size(name) for name in ("narwhals", "numpy", "scipy", "scikit-learn")}
    print("For comparison, MB:", ", ".join(f"{name} {size:.0f}" for name, size in own.items()))


def installed_size(name):
    """Return the size of the files of a distribution in MB."""
    found = [Path(file.locate()) for file in metadata.files(name) or []]
    return sum(path.stat().st_size for path in found if path.is_file()) / 1e6


def run(python, *arguments):
    """Return wall-clock and processor seconds and peak MB of a command."""
    start = time.perf_counter()
    child = os.posix_spawn(python, [python, *arguments], os.environ)
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{arguments} failed")
    return np.array([time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3])


def measure(python, folder):
    """Return all figures of an interpreter."""
    worker = subprocess.run(  # noqa: S603  # the interpreters that the user names
        [python, __file__, WORKER, str(folder)], check=True, capture_output=True, text=True
    )
    found = json.loads(worker.stdout)

    def predict(name):
        arguments = ("predict", str(folder / "model"), str(folder / f"{name}.csv"), "-o", str(folder / "out.csv"))
        return np.min([run(python, "-m", "softpolytope.cli", *arguments) for _ in range(3)], axis=0)

    ten, all_rows, fourfold = predict("ten"), predict("table"), predict("fourfold")
    found["softpolytope predict, after start-up"] = all_rows[1] - ten[1]
    found["softpolytope predict of ten rows, wall-clock"] = ten[0]
    found["softpolytope predict of ten rows"] = ten[1]
    found["python -c 'import sklearn.base'"] = np.min(
        [run(python, "-c", "import sklearn.base") for _ in range(3)], axis=0
    )[1]
    found["softpolytope --version, wall-clock"] = min(
        run(python, "-m", "softpolytope.cli", "--version")[0] for _ in range(3)
    )
    found["peak MB of predict"], found["peak MB of predict, four times the rows"] = all_rows[2], fourfold[2]
    return found


def main():
    """Print the table."""
    if WORKER in sys.argv:
        measure_in_process(Path(sys.argv[-1]))
        return
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--also", metavar="PYTHON", help="interpreter with another version of softpolytope")
    parser.add_argument("--readers", action="store_true", help="compare readers of CSV files instead")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    from softpolytope import SumStackSoftplusClassifier, TableClassifier  # noqa: PLC0415  # not of the worker

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder / "table.csv", N_ROWS)
        if options.readers:
            measure_readers(folder / "table.csv")
            return
        lines = (folder / "table.csv").read_text().splitlines(keepends=True)
        (folder / "ten.csv").write_text("".join(lines[:11]))
        (folder / "fourfold.csv").write_text("".join([lines[0], *(lines[1:] * 4)]))
        (folder / "train.csv").write_text("".join(lines[:3001]))
        model = TableClassifier(SumStackSoftplusClassifier(random_state=0)).fit(folder / "train.csv", "label")
        model.save(folder / "model")
        interpreters = [python for python in (options.also, sys.executable) if python]
        columns = [measure(python, folder) for python in interpreters]
    print(f"| {N_ROWS:,} rows | {' | '.join(['before', 'now'][-len(columns) :])} |")
    print(f"| --- {'| --- ' * len(columns)}|")
    for key in columns[-1]:
        print(f"| {key} | {' | '.join(f'{found[key]:.3g}' for found in columns)} |")


if __name__ == "__main__":
    main()
