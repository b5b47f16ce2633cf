"""Files of one JSON header and raw arrays, safe to open from any source.

The file is a zip archive of uncompressed members, so that no member can be larger than the file. Reading runs no code
and checks the shape, type and size of each array before allocating it.
"""

import io
import json
import math
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softpolytope._files import atomic_write
from softpolytope.exceptions import ModelFileError

FORMAT = "softpolytope model"
VERSION = 4
# Version 3 had no state of the fit and no fingerprint of the training rows.
READABLE = (3, 4)

HEADER = "model.json"
MAX_HEADER = 256_000_000  # bytes
MAX_ARRAYS = 1_000_000
MAX_ARRAY = 2**34  # bytes
# Little-endian, so that the bytes mean the same everywhere.
DTYPES = {"float64": "<f8", "int64": "<i8", "uint32": "<u4", "bool": "|b1"}


def write_archive(path: str | Path, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a header and named arrays; an interruption leaves the old file or the new one."""
    described = {name: {"dtype": array.dtype.name, "shape": list(array.shape)} for name, array in arrays.items()}
    document = {"format": FORMAT, "version": VERSION, "arrays": described, "header": header}
    text = json.dumps(document, ensure_ascii=True, allow_nan=False).encode()
    if len(text) > MAX_HEADER or len(arrays) > MAX_ARRAYS:
        raise ValueError(f"the model is too large for a file: {len(arrays)} arrays, a header of {len(text)} bytes.")
    with atomic_write(path, fsync=True) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        # ZipInfo has a fixed date, so the same model gives the same bytes.
        archive.writestr(zipfile.ZipInfo(HEADER), text)
        for number, array in enumerate(arrays.values()):
            raw = np.ascontiguousarray(array, dtype=DTYPES[array.dtype.name]).tobytes()
            archive.writestr(zipfile.ZipInfo(_member_name(number)), raw)


class _BoundedFile(io.FileIO):
    """A file that never allocates more than its size: zipfile reads as many bytes as a damaged directory declares."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(path, "rb")
        self.size = os.fstat(self.fileno()).st_size

    def read(self, size: int | None = -1, /) -> bytes:
        """Read at most `size` bytes."""
        left = max(self.size - self.tell(), 0)
        found: bytes | None = super().read(left if size is None or size < 0 else min(size, left))
        return found or b""


def read_archive(path: str | Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return header and arrays of a file that `write_archive` wrote; raise ModelFileError for any other file."""
    try:
        with _BoundedFile(path) as file, zipfile.ZipFile(file) as archive:
            return _read(archive, file.size)
    except (FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None
    # zipfile and json raise errors of nearly any type for a damaged archive.
    except Exception as error:
        raise ModelFileError(f"{path} is damaged or not a softpolytope model: {error}") from error


def _read(archive: zipfile.ZipFile, size: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return header and arrays of an opened archive of at most `size` bytes."""
    members = archive.infolist()
    if len(members) > MAX_ARRAYS + 1 or sum(member.file_size for member in members) > size:
        raise ModelFileError("the archive declares more data than the file contains.")
    for member in members:
        if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
            raise ModelFileError("the archive has compressed or encrypted members, which model files never have.")
    document = _read_document(archive)
    described = document["arrays"]
    if len(members) != len(described) + 1:
        raise ModelFileError(f"the header describes {len(described)} arrays, the archive has {len(members) - 1}.")
    arrays = {
        name: _read_array(archive, _member_name(number), name, description)
        for number, (name, description) in enumerate(described.items())
    }
    return document["header"], arrays


def _read_document(archive: zipfile.ZipFile) -> dict[str, Any]:
    """Return the JSON document; raise unless its format and version can be read."""
    if archive.getinfo(HEADER).file_size > MAX_HEADER:
        raise ModelFileError("the header is too large.")
    document = json.loads(archive.read(HEADER))
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelFileError("the file is not a softpolytope model.")
    version = document.get("version")
    if version not in READABLE or type(version) is not int:
        hint = " Update softpolytope to read it." if isinstance(version, int) and version > VERSION else ""
        raise ModelFileError(
            f"the file has format version {version!r}; this softpolytope reads versions {READABLE[0]} to {VERSION}."
            f"{hint}"
        )
    if not isinstance(document.get("arrays"), dict) or not isinstance(document.get("header"), dict):
        raise ModelFileError("the header is incomplete.")
    return document


def _read_array(archive: zipfile.ZipFile, member: str, name: str, description: object) -> NDArray[Any]:
    """Return an array after comparing its declared shape and type with the size of its member."""
    if not isinstance(description, dict):
        raise ModelFileError(f"array {name!r} is not described.")
    dtype, shape = description.get("dtype"), description.get("shape")
    if not isinstance(shape, list) or len(shape) > 4 or not all(type(n) is int and n >= 0 for n in shape):
        raise ModelFileError(f"array {name!r} has an impossible shape.")
    if dtype not in DTYPES:
        raise ModelFileError(f"array {name!r} has an unknown type.")
    n_bytes = math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize
    if n_bytes > MAX_ARRAY or archive.getinfo(member).file_size != n_bytes:
        raise ModelFileError(f"array {name!r} does not have the size required by its shape {shape}.")
    raw = archive.read(member)
    if dtype == "bool" and raw.strip(b"\x00\x01"):
        raise ModelFileError(f"array {name!r} contains values other than true and false.")
    # A writable copy in native byte order.
    return np.frombuffer(raw, DTYPES[dtype]).astype(dtype).reshape(shape)


def _member_name(number: int) -> str:
    """Return the name of the member that holds an array."""
    return f"arrays/{number}.bin"
