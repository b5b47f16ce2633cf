"""A file of one JSON header and raw arrays, safe to open whoever made it.

The file is a zip archive whose members are stored as they are, never compressed, so that no member can be larger than
the file. Reading runs no code; it checks the shape, type and size of every array before it makes room for one.
"""

import io
import json
import math
import os
import secrets
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    target = Path(path).resolve() if Path(path).is_symlink() else Path(path)
    described = {name: {"dtype": array.dtype.name, "shape": list(array.shape)} for name, array in arrays.items()}
    document = {"format": FORMAT, "version": VERSION, "arrays": described, "header": header}
    text = json.dumps(document, ensure_ascii=True, allow_nan=False).encode()
    if len(text) > MAX_HEADER or len(arrays) > MAX_ARRAYS:
        raise ValueError(f"the model is too large for a file: {len(arrays)} arrays, a header of {len(text)} bytes.")
    temporary = target.with_name(f".{target.name[:50]}.{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                # A fixed date: the same model gives the same bytes.
                archive.writestr(zipfile.ZipInfo(HEADER), text)
                for number, array in enumerate(arrays.values()):
                    raw = np.ascontiguousarray(array, dtype=DTYPES[array.dtype.name]).tobytes()
                    archive.writestr(zipfile.ZipInfo(_member(number)), raw)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


class _BoundedFile(io.FileIO):
    """A file that makes no room for more than it has: zipfile asks for whatever number a damaged directory holds."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(path, "rb")
        self.size = os.fstat(self.fileno()).st_size

    def read(self, size: int | None = -1, /) -> bytes:
        """At most `size` bytes."""
        left = max(self.size - self.tell(), 0)
        found: bytes | None = super().read(left if size is None or size < 0 else min(size, left))
        return found or b""


def read_archive(path: str | Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what `write_archive` wrote; anything else is a ModelFileError."""
    try:
        with _BoundedFile(path) as file, zipfile.ZipFile(file) as archive:
            return _read(archive, file.size)
    except (FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None
    # A damaged archive makes zipfile and json raise nearly anything.
    except Exception as error:
        raise ModelFileError(f"{path} is damaged or no softpolytope model: {error}") from error


def _read(archive: zipfile.ZipFile, size: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    members = archive.infolist()
    if len(members) > MAX_ARRAYS + 1 or sum(member.file_size for member in members) > size:
        raise ModelFileError("the archive declares more than the file holds.")
    for member in members:
        if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
            raise ModelFileError("the archive has compressed or encrypted members, which models never have.")
    document = _document(archive)
    described = document["arrays"]
    if len(members) != len(described) + 1:
        raise ModelFileError(f"the header describes {len(described)} arrays, the archive has {len(members) - 1}.")
    arrays = {}
    for number, (name, description) in enumerate(described.items()):
        arrays[name] = _array(archive, _member(number), name, description)
    return document["header"], arrays


def _document(archive: zipfile.ZipFile) -> dict[str, Any]:
    """The checked header."""
    if archive.getinfo(HEADER).file_size > MAX_HEADER:
        raise ModelFileError("the header is too large.")
    document = json.loads(archive.read(HEADER))
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelFileError("the file is no softpolytope model.")
    version = document.get("version")
    if version not in READABLE or type(version) is not int:
        newer = isinstance(version, int) and version > VERSION
        hint = " Update softpolytope to read it." if newer else ""
        raise ModelFileError(
            f"the file has format version {version!r}; this softpolytope reads versions {READABLE[0]} to {VERSION}."
            f"{hint}"
        )
    if not isinstance(document.get("arrays"), dict) or not isinstance(document.get("header"), dict):
        raise ModelFileError("the header is incomplete.")
    return document


def _array(archive: zipfile.ZipFile, member: str, name: str, description: Any) -> NDArray[Any]:
    """One array, its declared shape and type checked against its size before it is read."""
    dtype, shape = description.get("dtype"), description.get("shape")
    is_shape = isinstance(shape, list) and all(type(length) is int and length >= 0 for length in shape)
    if dtype not in DTYPES or not is_shape or len(shape) > 4:
        raise ModelFileError(f"array {name!r} has an impossible type or shape.")
    n_bytes = math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize
    if n_bytes > MAX_ARRAY or archive.getinfo(member).file_size != n_bytes:
        raise ModelFileError(f"array {name!r} does not have the size its shape {shape} asks for.")
    raw = archive.read(member)
    if dtype == "bool" and raw.strip(b"\x00\x01"):
        raise ModelFileError(f"array {name!r} holds what is neither true nor false.")
    # A copy of our own, writable and in native byte order.
    return np.frombuffer(raw, DTYPES[dtype]).astype(dtype).reshape(shape)


def _member(number: int) -> str:
    return f"arrays/{number}.bin"
