"""Array files, Parquet files and Dask collections as sources of partitions."""

import numpy as np
import pytest
from partitioned import CHUNK, arrays, model, rows, sha, write_files
from scipy import sparse

from softpolytope.data import _sources as sources
from softpolytope.parallel import _partition_cache as cache

da = pytest.importorskip("dask.array")


dd = pytest.importorskip("dask.dataframe")


pd = pytest.importorskip("pandas")


@pytest.fixture
def files(tmp_path):
    """Memory maps of the rows."""
    return write_files(tmp_path)


def test_order_of_a_file_does_not_matter(files, tmp_path, monkeypatch):
    """A .npy file in Fortran order gives the bits of one in C order; a slice of a map raises an error."""
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
    """Data frames keep their names, and text columns raise an error."""
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
    """Return wrong uses by name, with the error of each."""
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
def test_wrong_use_raises_before_any_work(case, monkeypatch):
    """Errors are raised before any rows are loaded."""
    X, y, keywords, message = wrong_uses()[case]
    monkeypatch.setattr(cache.PartitionCache, "run", lambda *_: pytest.fail("work was done"))
    with pytest.raises(ValueError, match=message):
        model("map").fit(X, y, **keywords)
