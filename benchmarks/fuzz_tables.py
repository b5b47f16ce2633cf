"""Read damaged and unusual tables: none may end a command with a traceback, hang it or exhaust the memory.

    python benchmarks/fuzz_tables.py --files 100000 --frames 10000

Every file is a valid CSV, Parquet or svmlight file with bytes flipped, cut, repeated or inserted, or with cells, lines
or the header replaced by unusual ones. `softpolytope predict` must write a file and exit with 0, or exit with 2 and
leave nothing; inferring a schema for a fit must work or raise a TableError.

Every data frame has a few columns of random types, gaps and names, in pandas, polars, Arrow and a dict. All of them
must give the same encoded rows or be refused alike, by an error that names the column or the row; some are fitted.
"""

import argparse
import contextlib
import datetime as dt
import faulthandler
import io
import random
import resource
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path

import numpy as np

from softpolytope import SoftplusClassifier, TableClassifier
from softpolytope.cli import main as run_command
from softpolytope.exceptions import TableError
from softpolytope.tabular import ColumnSelection, infer_schema, open_table, read_rows

ENDINGS = (".csv", ".svm", ".parquet")
# Growth of the process over the whole run, in MB, that is not a sign of a file having filled the memory.
ALLOWANCE = 700
STRANGE = [
    b"", b'"', b'""', b"'", b"\n", b"\r", b"\r\n", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b",", b";",
    b"\t", b"|", b"#", b":", b"NA", b"nan", b"inf", b"-inf", b"1e999", b"1_000", b"0x10", b"1,5", b"--1", b"+", b"1e",
    b"1:1", b"999999999:1", b"-1:1", b"0:1", b"qid:3", b"2024-01-02", b"12:30", b"\xd9\xa1", b" ", b"A" * 500,
    b"9" * 400, b"1e-400", b"y", b"label", b"True", b"None", b"=1+1", b"\x1a", b"a\x00", b"\xf0\x9f\x98\x80",
]  # fmt: skip


def good_files():
    """Return the bytes of a valid file of each kind, by suffix; Parquet only if pyarrow is installed."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(30, 2)).round(3)
    colors = rng.choice(["red", "blue", "green, or so", ""], 30)
    labels = np.where(numbers[:, 0] > 0.0, "yes", "no")
    lines = [f'{a},"{c}",{b},{y}' for (a, b), c, y in zip(numbers, colors, labels, strict=True)]
    files = {".csv": ("a,c,b,y\n" + "\n".join(lines) + "\n").encode()}
    sparse = [
        f"{1 if y == 'yes' else -1} 1:{a} 3:{b} # {c}" for (a, b), c, y in zip(numbers, colors, labels, strict=True)
    ]
    files[".svm"] = ("\n".join(sparse) + "\n").encode()
    with contextlib.suppress(ImportError):
        import pyarrow as pa  # noqa: PLC0415  # an extra
        import pyarrow.parquet as pq  # noqa: PLC0415  # an extra

        out = io.BytesIO()
        columns = {
            "a": numbers[:, 0],
            "b": numbers[:, 1],
            "c": [c or None for c in colors.tolist()],
            "y": labels.tolist(),
        }
        pq.write_table(pa.table(columns), out)
        files[".parquet"] = out.getvalue()
    return files


def write_models(folder, files):
    """Save a model for each kind of file; return their paths."""
    paths = {}
    for ending, target in ((".csv", "y"), (".svm", "label")):
        table = folder / f"good{ending}"
        table.write_bytes(files[ending])
        model = TableClassifier(SoftplusClassifier(inference="map", random_state=0, n_restarts=1)).fit(table, target)
        paths[ending] = folder / f"model{ending}.softpolytope"
        model.save(paths[ending])
    return paths | {".parquet": paths[".csv"]}


def mutated(good, rng):
    """Return a damaged copy."""
    data = bytearray(good)
    for _ in range(rng.choice([1, 1, 2, 4])):
        kind = rng.randrange(6)
        start = rng.randrange(len(data) + 1)
        if kind == 0:
            for _ in range(rng.choice([1, 2, 8])):
                if data:
                    data[rng.randrange(len(data))] = rng.randrange(256)
        elif kind == 1:
            del data[start : start + rng.choice([1, 5, 50, len(data)])]
        elif kind == 2:
            data[start:start] = data[start : start + rng.randrange(1, 400)] * rng.choice([1, 1, 20])
        elif kind == 3:
            data[start:start] = rng.choice(STRANGE)
        elif kind == 4:
            data = bytearray(_with_strange_cell(bytes(data), rng))
        else:
            data = bytearray(_with_strange_line(bytes(data), rng))
    return bytes(data)


def _with_strange_cell(data, rng):
    """Return bytes with one cell replaced, if they have lines and cells."""
    lines = data.split(b"\n")
    number = rng.randrange(len(lines))
    delimiter = b"," if b"," in lines[number] else b" "
    cells = lines[number].split(delimiter)
    cells[rng.randrange(len(cells))] = rng.choice(STRANGE)
    lines[number] = delimiter.join(cells)
    return b"\n".join(lines)


def _with_strange_line(data, rng):
    """Return text with a line dropped, moved, repeated or replaced."""
    lines = data.split(b"\n")
    number = rng.randrange(len(lines))
    line = lines.pop(number)
    how = rng.randrange(4)
    if how == 1:
        lines.insert(rng.randrange(len(lines) + 1), line)
    elif how == 2:
        lines[number:number] = [line] * rng.choice([2, 100])
    elif how == 3:
        lines.insert(number, b",".join(rng.choice(STRANGE) for _ in range(rng.randrange(6))))
    return b"\n".join(lines)


def try_table(table, model, out):
    """Predict one file; return "predicted" or "refused", and raise for anything else."""
    messages = io.StringIO()
    with contextlib.redirect_stderr(messages):
        code = run_command(["predict", str(model), str(table), "-o", str(out)])
    if (code, out.exists()) not in {(0, True), (2, False)}:
        raise RuntimeError(f"exit code {code}, output {out.exists()}: {messages.getvalue()}")
    if code == 2 and not messages.getvalue().startswith("softpolytope: "):
        raise RuntimeError(f"no message about the error: {messages.getvalue()!r}")
    out.unlink(missing_ok=True)
    with contextlib.suppress(TableError):
        opened = open_table(table)
        plan = infer_schema(opened, ColumnSelection("label" if table.suffix == ".svm" else "y"))
        rows, _ = read_rows(opened, plan)
        encoder = plan.encoder.with_medians(rows)
        encoder.impute(rows)
        if not np.isfinite(rows).all():
            raise RuntimeError("an encoded row is not finite")
    return "refused" if code else "predicted"


def fuzz(n_files, seed, folder):
    """Try files; return how many were predicted and refused, by suffix."""
    rng = random.Random(seed)  # noqa: S311  # no secret
    files = good_files()
    models = write_models(folder, files)
    counts = {(ending, answer): 0 for ending in files for answer in ("predicted", "refused")}
    for number in range(n_files):
        ending = list(files)[number % len(files)]
        table = folder / f"table{ending}"
        table.write_bytes(mutated(files[ending], rng))
        try:
            counts[ending, try_table(table, models[ending], folder / "out.csv")] += 1
        except BaseException:
            kept = Path(f"fuzz-{seed}-{number}{ending}")
            kept.write_bytes(table.read_bytes())
            print(f"file {number} is kept as {kept}", file=sys.stderr)
            raise
    return counts


NAMES = [
    "a",
    "",
    " ",
    "x y",
    "a\nb",
    "Unnamed: 0",
    "0",
    "\u00e6",
    "'",
    '"',
    "index",
    "level_0",
    "__class__",
    "name" * 50,
]
KINDS = {
    "float": lambda rng: rng.choice([0.0, -1.5, 2.0, 1e-320, 1e300, 1e100, rng.random()]),
    "finite or not": lambda rng: rng.choice([1.0, 2.0, rng.random(), float("inf")]),
    "integer": lambda rng: rng.randrange(-3, 4),
    "long": lambda rng: 2**62 + rng.randrange(5),
    "text": lambda rng: rng.choice(["Oslo", "Rome", "", "NA", "None", "nan", "a, b", " x ", "\u00e9", "\x1f"]),
    "number as text": lambda rng: rng.choice(["1", "2.0", "+3", " 4", "5e0"]),
    "nearly a number": lambda rng: rng.choice(["1", "2.0", "+3", "1_0", "inf", "NaN", "0x1"]),
    "truth": lambda rng: rng.random() < 0.5,
    "day": lambda rng: dt.date(2024, 1, rng.randrange(1, 28)),
    "time": lambda rng: dt.datetime(2024, 1, 1, rng.randrange(24)),  # as tables have them
    "price": lambda rng: Decimal(rng.randrange(400)) / 100,
    "nothing": lambda _: None,
}  # fmt: skip


def random_columns(rng):
    """Return columns by name, and the names that are declared categorical."""
    n_rows = rng.choice([1, 2, 12, 12, 30])
    columns = {}
    for name in rng.sample(NAMES, rng.randrange(1, 4)):
        kind = rng.choice(list(KINDS))
        # pandas itself rounds long integers beside gaps.
        gaps = 0.0 if kind == "long" else rng.choice([0.0, 0.0, 0.2, 0.9])
        columns[name] = [None if rng.random() < gaps else KINDS[kind](rng) for _ in range(n_rows)]
    columns["y"] = [rng.choice(["no", "yes"]) for _ in range(n_rows)]
    return columns, tuple(name for name in columns if name != "y" and rng.random() < 0.2)


def make_frames(columns):
    """Return the table in every library."""
    import pandas as pd  # noqa: PLC0415  # of this part only
    import polars as pl  # noqa: PLC0415  # of this part only
    import pyarrow as pa  # noqa: PLC0415  # of this part only

    arrow = pa.table(columns)
    typed = arrow.to_pandas(types_mapper=pd.ArrowDtype)
    frames = {
        "pandas": pd.DataFrame(columns),
        "pandas of Arrow": typed,
        "polars": pl.DataFrame(columns),
        "Arrow": arrow,
    }
    return frames | {"dict": columns}


def encode_frame(frame, selection):
    """Return the encoded rows and the codes of the labels as bytes, or the error."""
    try:
        table = open_table(frame)
        plan = infer_schema(table, selection)
        rows, codes = read_rows(table, plan)
    except TableError as error:
        return str(error)
    encoder = plan.encoder.with_medians(rows)
    encoder.impute(rows)
    if not np.isfinite(rows).all():
        raise RuntimeError("an encoded row is not finite")
    return plan.target, plan.encoder.encoded_names, rows.tobytes(), codes.tobytes()


def fuzz_frames(n_frames, seed):
    """Try data frames; return how many were encoded, refused and fitted."""
    rng = random.Random(seed)  # noqa: S311  # no secret
    counts = {"encoded": 0, "refused": 0, "fitted": 0}
    for number in range(n_frames):
        columns, categorical = random_columns(rng)
        selection = ColumnSelection("y", categorical=categorical)
        found = {library: encode_frame(frame, selection) for library, frame in make_frames(columns).items()}
        is_refused = {isinstance(item, str) for item in found.values()}
        messages = [item for item in found.values() if isinstance(item, str)]
        if len(is_refused) > 1 or (not messages and len(set(found.values())) > 1):
            raise RuntimeError(f"frame {number} of seed {seed} differs between libraries: {columns}, {found}")
        if not all("column" in message or "row" in message for message in messages):
            raise RuntimeError(f"frame {number} of seed {seed} is refused without a place: {messages}")
        counts["refused" if messages else "encoded"] += 1
        if number % 20 == 0 and not messages:
            classifier = SoftplusClassifier(inference="map", random_state=0, n_restarts=1)
            try:
                TableClassifier(classifier, categorical=categorical).fit(columns, "y").predict(columns)
                counts["fitted"] += 1
            except ValueError as error:
                if "Column" not in str(error) and "samples" not in str(error):
                    raise
    return counts


def main():
    """Try the requested number of files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--frames", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    faulthandler.enable()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        fuzz(300, 0, Path(folder))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        counts = fuzz(options.files, options.seed, Path(folder))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1000
    summary = ", ".join(f"{count} {ending} {answer}" for (ending, answer), count in counts.items())
    print(f"{options.frames} data frames: {fuzz_frames(options.frames, options.seed)}")
    print(f"{options.files} files: {summary}; memory grew by {grown:.0f} MB; {time.perf_counter() - start:.0f} s")
    if grown > ALLOWANCE:
        raise SystemExit("a file made the process grow too much")


if __name__ == "__main__":
    main()
