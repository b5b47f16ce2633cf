"""Archives of a header and arrays: anything else is refused before it is read."""

import json
import pickle
import zipfile

import numpy as np
import pytest

from softpolytope import load_model
from softpolytope.exceptions import ModelFileError
from softpolytope.export import read_archive, write_archive


def test_other_files_are_refused(tmp_path):
    """Pickles, empty files, other archives and newer versions are refused with a clear message."""
    path = tmp_path / "m"
    path.write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(ModelFileError, match="damaged or not a softpolytope model"):
        load_model(path)
    path.write_bytes(b"")
    with pytest.raises(ModelFileError):
        load_model(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", json.dumps({"format": "other"}))
    with pytest.raises(ModelFileError, match="not a softpolytope model"):
        load_model(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", json.dumps({"format": "softpolytope model", "version": 5}))
    with pytest.raises(ModelFileError, match=r"version 5; this softpolytope reads versions 3 to 4\. Update"):
        load_model(path)
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "nowhere")


def test_a_bomb_is_refused(tmp_path):
    """Compressed members and shapes larger than the file are refused before anything is allocated."""
    path = tmp_path / "m"
    write_archive(path, {}, {"a": np.zeros(1000)})
    header, arrays = read_archive(path)
    assert header == {}
    assert arrays["a"].shape == (1000,)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(members["model.json"])
    for shape in ([2**40], [2**20, 2**20, 2**20, 2**20], [-1], [1.5], "big"):
        document["arrays"]["a"]["shape"] = shape
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("model.json", json.dumps(document))
            archive.writestr("arrays/0.bin", members["arrays/0.bin"])
        with pytest.raises(ModelFileError):
            read_archive(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", members["model.json"])
        archive.writestr("arrays/0.bin", bytes(10**7))
    with pytest.raises(ModelFileError):
        read_archive(path)
