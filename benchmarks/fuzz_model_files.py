"""Load damaged and hostile model files: none may run code, crash, or allocate more memory than it declares.

    python benchmarks/fuzz_model_files.py --files 100000

Every file is a valid one, of chains or of modes and with the state of the fit, with bytes flipped, cut, repeated or
inserted, or with an edited header under correct checksums. It must load as a model that predicts, or raise a
ModelFileError; memory may peak slightly above twice the file's size.
"""

import argparse
import io
import json
import random
import sys
import tempfile
import time
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np

from softpolytope import SumStackSoftplusClassifier, load_model
from softpolytope.exceptions import ModelFileError

# What reading a header and making the objects takes, whatever the size of the arrays.
ALLOWANCE = 1_500_000
KINDS = ("chains", "modes", "batches")


def good_file(path, kind="chains"):
    """Write a small model of chains, modes or batches with the state of its fit, and return its bytes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    options = {"max_experts": 3, "n_layers": 2, "class_weight": {0: 1.0, 1: 2.0}, "random_state": 0, "warm_start": True}
    inference = {"inference": "gibbs", "scan": "paper", "n_sweeps": 12} if kind == "chains" else {"inference": "map"}
    model = SumStackSoftplusClassifier(**options, **inference)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "batches":
            model.partial_fit(X[:30], y[:30], classes=[0, 1]).partial_fit(X[30:], y[30:])
        else:
            model.fit(X, y)
    model.save(path)
    return path.read_bytes()


def mutated(good, rng):
    """Return a damaged copy."""
    kind = rng.randrange(6)
    data = bytearray(good)
    if kind == 0:
        for _ in range(rng.choice([1, 2, 8, 64])):
            data[rng.randrange(len(data))] = rng.randrange(256)
    elif kind == 1:
        del data[rng.randrange(len(data)) :]
    elif kind == 2:
        start = rng.randrange(len(data))
        data[start:start] = data[start : start + rng.randrange(1, 400)]
    elif kind == 3:
        start = rng.randrange(len(data))
        del data[start : start + rng.randrange(1, 200)]
    elif kind == 4:
        # The end of the archive is where its directory, sizes and counts are.
        for _ in range(rng.choice([1, 2, 4])):
            data[-1 - rng.randrange(min(len(data), 1500))] = rng.randrange(256)
    else:
        return edited(good, rng)
    return bytes(data)


def edited(good, rng):
    """Return a copy with a changed header or array, under correct checksums."""
    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    if rng.random() < 0.7:
        document = json.loads(members["model.json"])
        _edit(document, rng)
        members["model.json"] = json.dumps(document).encode()
    else:
        name = rng.choice([name for name in members if name != "model.json"])
        raw = bytearray(members[name])
        if raw:
            place = rng.randrange(len(raw))
            raw[place : place + 8] = rng.choice([b"\xff" * 8, b"\x00" * 8, bytes(rng.randrange(256) for _ in range(8))])
            members[name] = bytes(raw[: rng.choice([len(members[name]), len(raw)])])
    out = io.BytesIO()
    method = rng.choice([zipfile.ZIP_STORED] * 4 + [zipfile.ZIP_DEFLATED])
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, raw in members.items():
            archive.writestr(name, raw)
    return out.getvalue()


STRANGE = [
    None,
    True,
    -1,
    0,
    1,
    2**31,
    2**63,
    10**30,
    1.5,
    1e308,
    "",
    "x",
    "__import__('os')",
    [],
    {},
    [[]],
    {"prior": {}},
]


def _edit(node, rng):
    """Change one value in a tree of dicts and lists."""
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(node[key], dict | list) and node[key] and rng.random() < 0.8:
            node = node[key]
            continue
        if isinstance(node, dict) and rng.random() < 0.2:
            del node[key]
        else:
            node[key] = rng.choice(STRANGE)
        return


def try_file(path, size):
    """Load a file; return "loaded" or "refused", and raise for anything else."""
    tracemalloc.start()
    try:
        model = load_model(path)
    except ModelFileError:
        model = None
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    if peak > 2 * size + ALLOWANCE:
        raise MemoryError(f"{peak} bytes for a file of {size}")
    if model is None:
        return "refused"
    with np.errstate(all="ignore"):
        probabilities = model.predict_proba(np.zeros((2, model.n_features_in_)))
    if probabilities.shape != (2, len(model.classes_)):
        raise ValueError("a loaded model does not predict")
    return "loaded"


def main():
    """Try the requested number of files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    start, counts = time.perf_counter(), {"loaded": 0, "refused": 0}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.softpolytope"
        goods = [good_file(path, kind) for kind in KINDS]
        rng = random.Random(options.seed)  # noqa: S311  # no secret
        for number in range(options.files):
            data = mutated(goods[number % len(goods)], rng)
            path.write_bytes(data)
            try:
                counts[try_file(path, len(data))] += 1
            except Exception:
                kept = Path(f"fuzz-{options.seed}-{number}.softpolytope")
                kept.write_bytes(data)
                print(f"file {number} is kept as {kept}", file=sys.stderr)
                raise
    print(f"{options.files} files: {counts['refused']} refused, {counts['loaded']} loaded, ", end="")
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
