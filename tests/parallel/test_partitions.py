"""Rows in partitions in this process: files, limits of memory, and what cannot work."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from partitioned import CHUNK, N_ROWS, model, rows, sha
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from softpolytope import Prior, SoftplusClassifier
from softpolytope.data import OneVsRest, PartitionedSampler, RowEncoding
from softpolytope.data import _partitions as data_partitions
from softpolytope.data import _sampling as sampling
from softpolytope.data import _sources as sources
from softpolytope.gibbs._block_factory import LatentBlockFactory
from softpolytope.gibbs._chain import ChainSettings
from softpolytope.gibbs._sweep import Moves
from softpolytope.gibbs._trace import Schedule
from softpolytope.optimize import _search as search
from softpolytope.parallel import _partition_blocks as places
from softpolytope.parallel import _partition_cache as cache
from softpolytope.parallel._block_state import StatelessBlockFactory
from softpolytope.parallel._blocks import read_only
from softpolytope.parallel._checkpoint import CheckpointPlan
from softpolytope.parallel._memory import Allowance, allowance, parse_bytes
from softpolytope.parallel._threads import Reporting

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")


class EnoughError(Exception):
    """Ends a fit."""


def arrays():
    """Dask arrays of the rows."""
    X, y = rows()
    return da.from_array(X, chunks=(CHUNK, 3)), da.from_array(y, chunks=CHUNK)


@pytest.fixture
def files(tmp_path):
    """Memory maps of the rows."""
    for name, array in zip("Xy", rows(), strict=True):
        np.save(tmp_path / f"{name}.npy", array)
    return [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "Xy"]


def test_order_of_a_file_does_not_matter(files, tmp_path, monkeypatch):
    """A .npy file by columns (Fortran's order) gives the bits of one by rows; a part of a map is refused as that."""
    monkeypatch.setattr(sources, "MAX_PARTITION_ROWS", 1000)  # three partitions, the last of them smaller
    X, y = files
    np.save(tmp_path / "F.npy", np.asfortranarray(X))
    by_column = np.load(tmp_path / "F.npy", mmap_mode="r")
    assert not by_column.flags.c_contiguous
    expected = sha(model("map").fit(X, y, max_memory="8GB"))
    assert sha(model("map").fit(by_column, y, max_memory="8GB")) == expected
    assert sha(model("map").fit(tmp_path / "F.npy", tmp_path / "y.npy")) == expected
    for part in (X[:100], by_column[:100], X.T, X[:, ::2]):
        with pytest.raises(ValueError, match=r"X is a slice or a transpose of a memory map"):
            model("map").fit(part, np.array(y[: len(part)]), max_memory="8GB")


@pytest.mark.parametrize("kind", ["map", "collapsed", "paper"])
def test_draws_do_not_depend_on_memory_or_threads(kind, monkeypatch):
    """Blocks that are kept, that rest, and that are made anew for every call give the same bits."""
    X, y = arrays()
    expected = sha(model(kind, n_sweeps=6).fit(X, y, max_memory="8GB"))
    visits = []
    run = cache.PartitionCache.run

    def watched(self, home, at, calls):
        visits.append((self._entries[home, at].blocks is not None, self._entries[home, at].is_compact))
        return run(self, home, at, calls)

    monkeypatch.setattr(cache.PartitionCache, "run", watched)
    for room in (0, 40_000, 300_000):
        monkeypatch.setattr(places, "allowance", lambda *_, room=room: Allowance(2**30, 2, room))
        assert sha(model(kind, n_sweeps=6, n_jobs=2).fit(X, y, max_memory="8GB")) == expected
    are_kept_and_rest = {(False, True), (True, False)} | (set() if kind == "map" else {(True, True)})
    assert set(visits) == are_kept_and_rest


@pytest.mark.parametrize("room", [0, 40_000])
def test_partitions_of_one_label(room, monkeypatch):
    """A file sorted by its labels has blocks without a count, which are built anew in the middle of a sweep."""
    X, y = rows()
    order = np.argsort(y, kind="stable")
    parts = da.from_array(X[order], chunks=(CHUNK, 3)), da.from_array(y[order], chunks=CHUNK)
    expected = sha(model("paper", n_sweeps=6).fit(*parts, max_memory="8GB"))
    monkeypatch.setattr(places, "allowance", lambda *_: Allowance(2**30, 2, room))
    assert sha(model("paper", n_sweeps=6).fit(*parts, max_memory="8GB")) == expected


class SlowFactory(StatelessBlockFactory):
    """Blocks that take their time, and count how often they are made."""

    rows_key = None

    def __init__(self):
        self.n_made = 0

    def rows(self, raw, partition):  # noqa: ARG002
        """Rows as they come."""
        return raw

    def blocks(self, rows, partition):  # noqa: ARG002
        """None at all, slowly."""
        self.n_made += 1
        time.sleep(0.02)
        return []

    def state_bytes(self, rows):  # noqa: ARG002
        """A number to be counted."""
        return 1000


def test_threads_that_share_a_home_make_its_blocks_once():
    """Nothing is made twice, and when it is given up no room is lost."""
    kept = cache.PartitionCache(lambda _: (np.zeros((2, 1)), np.zeros(2), None), Allowance(2**30, 2, 10**6))
    for home in "abc":
        factory = SlowFactory()
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _, home=home, factory=factory: kept.ensure(home, 0, factory), range(8)))
        assert factory.n_made == 1
    rows_alone = kept._used - 3000
    for home in "abc":
        kept.release(home)
    assert kept._used == rows_alone


def test_threads_do_not_take_more_room_than_there_is():
    """Room is looked for and taken in one step."""
    kept = cache.PartitionCache(lambda _: (np.zeros((2, 1)), np.zeros(2), None), Allowance(2**30, 2, 20_500))
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda home: kept.ensure(str(home), 0, SlowFactory()), range(60)))
    in_memory = sum(entry.blocks is not None for entry in kept._entries.values())
    assert in_memory == 20
    assert kept._used <= 20_500


@pytest.mark.parametrize("kind", ["map", "collapsed"])
def test_blocks_are_given_up_when_they_have_served(kind, monkeypatch):
    """A fit of several classes does not fill memory with the blocks of those that are done."""
    X, y = rows()
    y = y + (X[:, 2] > 1.0)
    places_made = []
    of = places.open_partition_store
    monkeypatch.setattr(
        "softpolytope.estimators._base.open_partition_store",
        lambda *given: places_made.append(of(*given)) or places_made[-1],
    )
    left = []
    close = places.LocalPartitionStore.close
    monkeypatch.setattr(
        places.LocalPartitionStore, "close", lambda self: left.append(len(self.cache._entries)) or close(self)
    )
    model(kind, n_sweeps=4).fit(da.from_array(X, chunks=(CHUNK, 3)), da.from_array(y, chunks=CHUNK), max_memory="8GB")
    assert left == [0]


def test_sizes_count_rows_that_blocks_copy(rng):
    """Slices of sparse rows are copies, and the paper's scan repeats positive rows of a weight."""
    raw = rng.normal(size=(500, 20)) * (rng.random((500, 20)) < 0.5)
    y, weights = np.repeat([0, 1], 250), np.repeat([1.0, 40.0], 250)
    settings = ChainSettings(3, 1, Prior(precision_rate=3.0), Moves.of("paper"), Schedule(10, 5, 5))
    one, zero = np.ones(21), np.zeros(21)
    encoding = RowEncoding(np.array([0, 1]), np.ones(2), zero, one, one, zero.astype(bool))
    factory = LatentBlockFactory(settings, labeling=OneVsRest(encoding, 1))
    for X, given in ((raw, weights), (sparse.csr_array(raw), None), (sparse.csr_array(raw), weights)):
        encoded = encoding.encode((X, y, given))
        blocks = factory.blocks(encoded, 0)
        designs = [block._rows.design for block in blocks]
        taken = sum(d.data.nbytes + d.indices.nbytes if sparse.issparse(d) else d.nbytes for d in designs)
        assert factory.compact_bytes(encoded) > taken


def test_calls_that_return_nothing_wait_for_one_that_does(files, monkeypatch):
    """They are made in its visit of the rows, with the arguments that were given."""
    loads = []
    load = sources.FileSource.load
    monkeypatch.setattr(sources.FileSource, "load", lambda self, part: loads.append(part) or load(self, part))
    monkeypatch.setattr(places, "allowance", lambda *_: Allowance(2**30, 1, 0))
    monkeypatch.setattr(sources, "MAX_PARTITION_ROWS", 1024)
    source = sources.open_source(*files, None, has_client=False, is_limited=True)
    with places.open_partition_store(source, None, 2**30, 1) as store:
        blocks = store.blocks(AddingFactory())
        number = np.array([1.0])
        blocks.broadcast(Adding.add, number)
        number[:] = 100.0
        blocks.broadcast(Adding.add, number)
        assert not loads
        assert blocks.sum(Adding.value) == 3 * 101.0
        assert blocks.map(Adding.value) == [101.0] * 3
    assert loads == [0, 0, 1, 1, 2, 2, 0, 1, 2]  # once to make blocks, and for each of two visits


class Adding:
    """A block that adds up what it is told."""

    def __init__(self):
        self.sum = 0.0

    def add(self, number):
        """Add a number."""
        self.sum += number[0]

    @read_only
    def value(self):
        """The sum."""
        return self.sum


class AddingFactory(StatelessBlockFactory):
    """One such block for a partition."""

    rows_key = None

    def rows(self, raw, partition):  # noqa: ARG002
        """As they come."""
        return raw

    def blocks(self, rows, partition):  # noqa: ARG002
        """One."""
        return [Adding()]

    def state_bytes(self, rows):  # noqa: ARG002
        """More than there is room for."""
        return 1

    def save(self, block, number):  # noqa: ARG002
        """The sum."""
        return {"sum": np.array(block.sum)}

    def restore(self, block, number, saved):  # noqa: ARG002
        """Go on."""
        block.sum = float(saved["sum"])


def test_partitions_are_part_of_the_result():
    """Other chunks are other blocks, with other streams."""
    X, y = arrays()
    one = sha(model("collapsed").fit(X, y, max_memory="8GB"))
    other = sha(model("collapsed").fit(X.rechunk((600, 3)), y.rechunk(600), max_memory="8GB"))
    assert one != other


def test_one_partition_is_as_good_as_memory():
    """Probabilities from partitions are those of a fit in memory, but for the climbs' own tolerance."""
    X, y = rows()
    dX, dy = arrays()
    here = model("map", symmetric=True).fit(X, y)
    there = model("map", symmetric=True).fit(dX, dy, max_memory="8GB")
    assert abs(log_loss(y, here.predict_proba(X)) - log_loss(y, there.predict_proba(X))) < 0.01


def test_samples_grow_where_the_rows_are(monkeypatch):
    """The scale is chosen with a sample brought here; larger ones entry in their partitions. Memory changes nothing."""
    X, y = arrays()
    for module in (search, sampling, data_partitions):
        monkeypatch.setattr(module, "MAX_FIRST_ROWS", 300)
    monkeypatch.setattr(search, "MIN_GAIN", -10.0)  # so that all sizes are climbed with
    sizes = []
    blocks_of = PartitionedSampler.blocks
    monkeypatch.setattr(
        PartitionedSampler,
        "blocks",
        lambda self, n_rows, **given: sizes.append(n_rows) or blocks_of(self, n_rows, **given),
    )
    settings = {"prior": None, "max_experts": 3, "n_layers": 2, "n_restarts": 2, "symmetric": True}
    found = []
    for room in (10**9, 60_000, 0):
        monkeypatch.setattr(places, "allowance", lambda *_, room=room: Allowance(2**30, 2, room))
        fitted = model("map", **settings).fit(X, y, max_memory="8GB")
        found.append(sha(fitted))
    assert len(set(found)) == 1
    assert sorted(set(sizes)) == [1200, N_ROWS]
    # How good the modes of so small a model are depends on the kernels of BLAS.
    linear = LogisticRegression().fit(*rows()).score(*rows())
    assert 1.0 - fitted.score(*rows()) < 0.5 * (1.0 - linear)
    assert abs(model("map", **settings).fit(*rows()).score(*rows()) - fitted.score(*rows())) < 0.03


def test_survey_gives_the_units_of_memory():
    """Logistic regression has one mode, and it is the same in the user's units, with weights of rows and classes."""
    X, _ = rows()
    rng = np.random.default_rng(1)
    X = X * [1.0, 1e4, 1e-3] + [5.0, 0.0, 3.0]
    y = np.where(rng.random(N_ROWS) < 1.0 / (1.0 + np.exp(-X[:, 0] + 5.0)), "yes", "no")
    weights = rng.integers(0, 3, N_ROWS).astype(float)
    settings = {"fit_weight": False, "symmetric": False, "n_restarts": 1, "class_weight": "balanced"}
    settings |= {"prior": Prior(precision_rate=1.0), "inference": "map", "random_state": 0}
    here = SoftplusClassifier(**settings).fit(X, y, weights)
    parts = [da.from_array(array, chunks=(CHUNK, *array.shape[1:])) for array in (X, y.astype(object), weights)]
    there = SoftplusClassifier(**settings).fit(*parts, max_memory="8GB")
    assert there.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(there.coefficients_[0], here.coefficients_[0], rtol=1e-3, atol=1e-9)
    here_features, there_features = here._fits[0].features, there._fits[0].features
    for name in ("mean", "deviation", "lower", "upper"):
        np.testing.assert_allclose(getattr(there_features, name), getattr(here_features, name), rtol=1e-9)


def test_files_are_partitions(files, tmp_path, monkeypatch):
    """A memory map, its path, and the same chunks of a Dask array give the same draws; all partitions are read."""
    monkeypatch.setattr(sources, "MAX_PARTITION_ROWS", CHUNK)
    monkeypatch.setattr(sources, "MIN_PARTITION_ROWS", CHUNK)
    X, y = arrays()
    expected = sha(model("collapsed").fit(X, y, max_memory="8GB"))
    assert sha(model("collapsed").fit(*files, max_memory="8GB")) == expected
    path = tmp_path / "X.npy"
    assert sha(model("collapsed").fit(path, rows()[1], max_memory="8GB")) == expected


def test_parquet_row_groups_are_partitions(tmp_path):
    """Columns have names, labels and weights are columns, and draws are those of the same chunks."""
    pytest.importorskip("pyarrow")
    X, y = rows()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=y, weight=1.0)
    path = tmp_path / "rows.parquet"
    frame.to_parquet(path, row_group_size=CHUNK)
    dX, dy = arrays()
    fitted = model("collapsed").fit(path, "label", "weight", max_memory="8GB")
    assert sha(fitted) == sha(model("collapsed").fit(dX, dy, max_memory="8GB"))
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="no column 'nothing'"):
        model("map").fit(path, "nothing", max_memory="8GB")


def test_sparse_chunks(rng):
    """Sparse rows in partitions are fitted as sparse, and predict as well as in memory."""
    X = sparse.random_array((1200, 30), density=0.1, rng=rng, format="csr")
    y = (X.sum(axis=1) > 1.5).astype(int)
    dense = da.from_array(X.toarray(), chunks=(300, 30))
    dX = dense.map_blocks(sparse.csr_matrix)
    fitted = model("map").fit(dX, da.from_array(y, chunks=300), max_memory="8GB")
    assert fitted.score(X, y) > 0.9
    assert sha(fitted) != sha(model("map").fit(dense, da.from_array(y, chunks=300), max_memory="8GB"))


def test_data_frames_have_names():
    """Partitions of data frames, whose lengths are unknown; names are kept, and text columns refused."""
    X, y = rows()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=np.where(y, "in", "out"))
    table = dd.from_pandas(frame, npartitions=4)
    fitted = model("map", max_experts=3, n_layers=2).fit(table[["a", "b", "c"]], table["label"], max_memory="8GB")
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]
    assert fitted.classes_.tolist() == ["in", "out"]
    assert fitted.score(frame[["a", "b", "c"]], frame["label"]) > 0.9
    with pytest.raises(ValueError, match="'label' of X are not numeric"):
        model("map").fit(table, table["label"], max_memory="8GB")


def wrong_uses():
    """What cannot work, and what is said of it."""
    X, y = arrays()
    plain, labels = rows()
    unknown = X[X[:, 0] > 0.0]
    short = da.from_array(labels[:-100], chunks=CHUNK)
    return {
        "columns in chunks": (X.rechunk((CHUNK, 2)), y, {"max_memory": "8GB"}, r"rechunk\(\{1: -1\}\)"),
        "unknown sizes": (unknown, y, {"max_memory": "8GB"}, "compute_chunk_sizes"),
        "other chunks": (X, y.rechunk(300), {"max_memory": "8GB"}, r"rechunk\(\(X.chunks\[0\],\)\)"),
        "labels missing": (X, short, {"max_memory": "8GB"}, "2300 entries .* 2400 rows"),
        "plain labels": (X, labels, {"max_memory": "8GB"}, "y is a ndarray"),
        "no client": (X, y, {}, "no Dask client"),
        "client of nothing": (plain, labels, {"client": object()}, "client requires rows that are not in memory"),
        "no client at all": (X, y, {"client": "here"}, "must be a distributed.Client; got str"),
        "limit of nothing": (plain, labels, {"max_memory": "8GB"}, "max_memory requires rows that are not in memory"),
        "no size": (X, y, {"max_memory": "much"}, 'such as "4GB"'),
        "too little": (X, y, {"max_memory": "1MB"}, "uses .* MB already"),
        "no file": ("nowhere.parquet", "y", {"max_memory": "8GB"}, "no such file"),
    }


@pytest.mark.parametrize("case", wrong_uses())
def test_wrong_use_is_said_before_any_work(case, monkeypatch):
    """Nothing is loaded before the error."""
    X, y, keywords, message = wrong_uses()[case]
    monkeypatch.setattr(cache.PartitionCache, "run", lambda *_: pytest.fail("work was done"))
    with pytest.raises(ValueError, match=message):
        model("map").fit(X, y, **keywords)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X, _: X.__setitem__((900, 1), np.nan), "partition 2: Column 1 of input X holds NaN at row 100"),
        (lambda _, y: y.__setitem__(1300, np.nan), "no label at row 100 of partition 3"),
        (lambda _, y: y.__setitem__(slice(None), 1.0), "only one class"),
    ],
)
def test_bad_rows_are_found_by_the_survey(spoil, message):
    """Partition, row and column are named."""
    X, y = rows()
    y = y.astype(float)
    spoil(X, y)
    with pytest.raises(ValueError, match=message):
        model("map").fit(da.from_array(X, chunks=(CHUNK, 3)), da.from_array(y, chunks=CHUNK), max_memory="8GB")


def test_what_needs_rows_in_memory_says_so():
    """The bootstrap, and chains of the paper's scan that are to go on in this process."""
    X, y = arrays()
    with pytest.raises(ValueError, match="bootstrap=True"):
        model("map", bootstrap=True).fit(X, y, max_memory="8GB")
    with pytest.raises(ValueError, match="use a checkpoint"):
        model("paper", warm_start=True).fit(X, y, max_memory="8GB")


@pytest.mark.parametrize("kind", ["collapsed", "paper"])
def test_checkpoint_of_partitions(kind, tmp_path):
    """A fit that was stopped goes on from its checkpoint to the same draws; only the last counts are kept."""
    X, y = arrays()
    expected = sha(model(kind).fit(X, y, max_memory="8GB"))
    plan = CheckpointPlan(tmp_path, every_sweeps=3)
    tell = Reporting.tell

    def stop(self, progress):
        tell(self, progress)
        if progress.n_done == 7:
            raise EnoughError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Reporting, "tell", stop)
        with pytest.raises(EnoughError):
            model(kind, checkpoint=plan).fit(X, y, max_memory="8GB")
    assert len(list(tmp_path.rglob("counts*"))) == (1 if kind == "paper" else 0)
    assert sha(model(kind, checkpoint=plan).fit(X, y, max_memory="8GB")) == expected


MEMORY = """
import sys
from pathlib import Path
import numpy as np
from softpolytope import SumStackSoftplusClassifier
from softpolytope.parallel._memory import resident_bytes
X, y = (np.load(f"{sys.argv[1]}/{name}.npy", mmap_mode="r") for name in "Xy")
model = SumStackSoftplusClassifier(max_experts=4, n_layers=2, symmetric=False, random_state=0, n_jobs=2,
    inference="gibbs", scan=sys.argv[2], start="random", n_sweeps=2, n_chains=1)
limit = resident_bytes() + float(sys.argv[3])  # what the interpreter and its libraries take differs between machines
model.fit(X, y, max_memory=limit)
lines = Path("/proc/self/status").read_text().splitlines()  # what getrusage says includes the parent's peak
print(1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / limit)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell a process's peak")
@pytest.mark.parametrize("scan", ["collapsed", "paper"])
def test_memory_stays_within_its_limit(scan, tmp_path, rng):
    """Peak memory of a process, measured: at most 1.1 times the limit, which the rows and their state exceed by far."""
    n_rows, room = 600_000, 210e6
    X = rng.standard_normal((n_rows, 40))
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", X[:, 0] > X[:, 1] ** 2)
    state = n_rows * 4 * 8 * 7
    assert X.nbytes + state > 1.5 * room
    command = [sys.executable, "-c", MEMORY, str(tmp_path), scan, str(room)]
    run = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) <= 1.1


def test_sizes_and_shares():
    """Texts become bytes; the memory is shared, and too little of it is refused."""
    assert parse_bytes("3 MiB") == 3 * 2**20
    with pytest.raises(ValueError, match="max_memory"):
        parse_bytes("-3GB")
    shared = allowance(8 * 10**9, 10**8, 4)
    assert shared.n_in_flight == 4
    with pytest.raises(ValueError, match="smaller partitions"):
        allowance(10**9, 10**9, 4)
