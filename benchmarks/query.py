"""Rows that `query` asks for against rows at random: what as many labels teach.

    python benchmarks/query.py --data-home DIR    runs what docs/query.csv does not have, then the page; fifteen minutes
    python benchmarks/query.py --data-home DIR --prior default              the same with the default prior
    python benchmarks/query.py --data-home DIR --ways "query, parameters"   the same asking about parameters
    python benchmarks/query.py --page             docs/query.md and docs/query.png alone, from docs/query.csv

A pool of 400 rows of which ten at random, two of each class at least, have labels; five more are asked for at a time,
and chains are run anew on all that have labels. All ways begin with the same ten rows. Needs matplotlib.
"""

import argparse
import csv
import os
import sys
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon
from sklearn.metrics import log_loss

from softpolytope import Prior, SumStackSoftplusClassifier
from softpolytope.datasets import load_benchmark, make_circle

DOCS = Path(__file__).parent.parent / "docs"
FIELDS = ("set", "seed", "prior", "way", "n_labels", "error", "log_loss", "asked")
SETS = ("circle", "banana")
# What `query` is asked about.
WAYS = {"query": "labels", "query, parameters": "parameters", "random": None}
# Coefficients of standardised columns are Student t with two degrees of freedom and this scale: 10, or 1.
PRIORS = {"wide": Prior(precision_rate=100.0), "default": Prior()}
SCORES = {"error": "error, %", "log_loss": "log-loss"}
N_SEEDS = 10
N_POOL = 400
FIRST, BATCH, LAST = 10, 5, 60
FIT = {"inference": "gibbs", "n_chains": 2, "n_sweeps": 400}
LEGEND = {"query": "query", "query, parameters": "query about parameters", "random": "at random"}
COLOURS = {"query": "#0072b2", "query, parameters": "#009e73", "random": "#d55e00"}

PAGE = """\
# Asking for labels

`benchmarks/query.py`: a pool of 400 rows, ten of them labelled; five more at a time, those that `query` asks for or
five at random; chains run anew on all that are labelled, until sixty are. Scores of test rows, averaged over the
labels of the curve, ten seeds; the difference is paired by seed. "wide" is `Prior(precision_rate=100.0)`.

{table}

![](query.png)

On circle `query` saves about ten of the first thirty labels. On banana it is worse than rows at random, and not by
chance (p = 0.014); probably because with ten labels of that set all draws are too simple, and what they agree on,
wrongly, is asked for last. A scratch run with twenty modes in place of chains had the same outcome (mean error 34.3 %
against 28.6 % at random, five seeds). `query(X, n, about="parameters")` is BALD and its batches; in scratch runs it
asked at the rim of the rows, where a label tells little of the others, hence the default. Until that is mended: label
some rows at random first, as many as make the error fall, and let `query` choose after that.
"""


def problem(name, seed, data_home):
    """Pool and test rows with their labels."""
    if name == "banana":
        return load_benchmark(name, seed, data_home)
    return *make_circle(N_POOL, random_state=seed), *make_circle(4000, random_state=1000 + seed)


def rows_to_label(way, model, pool, labels, labelled, rng):
    """The rows to label next, by indices into the pool."""
    if not len(labelled):
        return first_rows(labels, rng)
    others = np.setdiff1d(np.arange(len(pool)), labelled)
    if way == "random":
        return rng.permutation(others)[:BATCH]
    return others[model.query(pool[others], BATCH, about=WAYS[way])]


def first_rows(labels, rng):
    """Ten rows at random, drawn again until two at least are of each class."""
    while True:
        rows = rng.permutation(len(labels))[:FIRST]
        if 2 <= labels[rows].sum() <= FIRST - 2:
            return rows


def curve(key, data_home, labelled):
    """Yield the points of a learning curve that come after those at which the given rows were labelled."""
    name, seed, prior, way = key
    pool, labels, X_test, y_test = problem(name, seed, data_home)

    def fitted():
        model = SumStackSoftplusClassifier(**FIT, prior=PRIORS[prior], random_state=seed)
        return model.fit(pool[labelled], labels[labelled])

    model = fitted() if len(labelled) else None
    while len(labelled) < LAST:
        # A generator for every step, so that a run that was interrupted goes on as it would have.
        rng = np.random.default_rng([seed, SETS.index(name), len(labelled)])
        asked = rows_to_label(way, model, pool, labels, labelled, rng)
        labelled = np.concatenate([labelled, asked])
        model = fitted()
        chances = model.predict_proba(X_test)
        error = 100.0 * np.mean(chances.argmax(axis=1) != y_test)
        loss = log_loss(y_test, chances, labels=[0, 1])
        yield len(labelled), f"{error:.3f}", f"{loss:.5f}", " ".join(map(str, asked))


def run(path, data_home, prior, ways):
    """Append the points that the file does not have."""
    rows = read(path)
    with path.open("a", newline="") as file:
        writer = csv.writer(file)
        if not rows:
            writer.writerow(FIELDS)
        for seed in range(N_SEEDS):
            for name in SETS:
                for way in ways:
                    key = (name, seed, prior, way)
                    asked = [row["asked"] for row in rows if key_of(row) == key]
                    labelled = np.array([int(index) for text in asked for index in text.split()], dtype=int)
                    for point in curve(key, data_home, labelled):
                        writer.writerow((*key, *point))
                        file.flush()
                    print(*key, file=sys.stderr, flush=True)


def read(path):
    """The rows of the file, if there is one."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def key_of(row):
    """Which curve a row belongs to."""
    return row["set"], int(row["seed"]), row["prior"], row["way"]


def curves(rows, name, prior, way, score):
    """One score of all learning curves that are complete, by seed."""
    found = {}
    for seed in range(N_SEEDS):
        points = [float(row[score]) for row in rows if key_of(row) == (name, seed, prior, way)]
        if len(points) == 1 + (LAST - FIRST) // BATCH:
            found[seed] = points
    return found


def area(points):
    """Mean height of a learning curve: the area below it by its width."""
    return np.trapezoid(points) / (len(points) - 1)


def line(rows, name, prior, way, score):
    """A line of the table, or none if there is nothing to compare."""
    asked, random = (curves(rows, name, prior, which, score) for which in (way, "random"))
    seeds = sorted(asked.keys() & random.keys())
    if len(seeds) < 2:
        return None
    areas = np.array([[area(found[seed]) for seed in seeds] for found in (asked, random)])
    differences = areas[0] - areas[1]
    deviation = differences.std(ddof=1) / np.sqrt(len(seeds))
    digits = 1 if score == "error" else 3
    cells = (
        name,
        prior,
        way,
        SCORES[score],
        *(f"{mean:.{digits}f}" for mean in areas.mean(axis=1)),
        f"{differences.mean():+.{digits + 1}f} ± {deviation:.{digits + 1}f}",
        f"{(differences < 0.0).sum()} of {len(seeds)}",
        f"{wilcoxon(differences).pvalue:.3f}",
    )
    return "| " + " | ".join(cells) + " |"


def table(rows):
    """The table as Markdown."""
    head = ("set", "prior", "way", "score", "asked", "at random", "difference", "seeds won", "Wilcoxon p")
    lines = ["| " + " | ".join(head) + " |", "| --- " * len(head) + "|"]
    for prior in PRIORS:
        for way in [way for way in WAYS if way != "random"]:
            lines += [line(rows, name, prior, way, score) for name in SETS for score in SCORES]
    return "\n".join(item for item in lines if item is not None)


def plot(rows, path):
    """Mean error by the number of labels, with bands of one standard error, one panel per set."""
    import matplotlib as mpl  # noqa: PLC0415  # only the page needs it

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(1, len(SETS), figsize=(9.0, 3.6), layout="constrained")
    n_labels = np.arange(FIRST, LAST + 1, BATCH)
    for ax, name in zip(axes, SETS, strict=True):
        for way, colour in COLOURS.items():
            found = np.array(list(curves(rows, name, "wide", way, "error").values()))
            if not len(found):
                continue
            mean, deviation = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(len(found))
            ax.plot(n_labels, mean, color=colour, label=LEGEND[way], marker="o", markersize=3)
            ax.fill_between(n_labels, mean - deviation, mean + deviation, color=colour, alpha=0.2, linewidth=0)
        ax.set(title=name, xlabel="labels", ylabel="test error, %", xlim=(FIRST, LAST), ylim=(0.0, None))
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.25)
    axes[0].legend(frameon=False)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main():
    """Run what is missing, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data-home", default=os.environ.get("SOFTPOLYTOPE_DATA"))
    parser.add_argument("--prior", choices=tuple(PRIORS), default="wide")
    parser.add_argument("--ways", nargs="+", choices=tuple(WAYS), default=("query", "random"))
    parser.add_argument("--page", action="store_true", help="write the page only")
    options = parser.parse_args()
    path = DOCS / "query.csv"
    if not options.page:
        # Chains this short often disagree; it is what they are worth here that is measured.
        warnings.simplefilter("ignore")
        run(path, options.data_home, options.prior, options.ways)
    rows = read(path)
    plot(rows, DOCS / "query.png")
    (DOCS / "query.md").write_text(PAGE.format(table=table(rows)))


if __name__ == "__main__":
    main()
