"""Benchmark sets from public servers into a folder, checked and written whole."""

import os
import secrets
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from softpolytope.datasets._sources import SOURCES, Source, content_digest
from softpolytope.exceptions import ContentError

# No file of these sets is larger.
MAX_FILE = 50_000_000  # bytes
SECONDS = 30.0


def cache_folder() -> Path:
    """Where downloads are kept."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "softpolytope"


def downloaded(name: str, folder: Path, sources: Mapping[str, Source] = SOURCES) -> Path:
    """The file of a set in a folder, downloaded unless it is there; a FileNotFoundError says why it cannot be had."""
    path = folder / f"{name}.npz"
    if path.is_file():
        return path
    if name not in sources:
        raise FileNotFoundError(
            f"{name} cannot be downloaded: no public server has its fixed partitions. Name a folder that has "
            f"{path.name} (data_home, --data-home, or the variable SOFTPOLYTOPE_DATA)."
        )
    source = sources[name]
    try:
        arrays = source.read(fetched)
    except (OSError, ValueError, EOFError) as error:
        raise FileNotFoundError(
            f"{name} could not be downloaded from {source.address} ({error}). Try again with a network, or name a "
            f"folder that has {path.name} (data_home, --data-home, or the variable SOFTPOLYTOPE_DATA)."
        ) from error
    digest = content_digest(arrays)
    if digest != source.sha256:
        raise ContentError(
            f"{name} as downloaded from {source.address} is not the set it should be: its rows have the sha256 "
            f"{digest}, expected {source.sha256}. Nothing was kept."
        )
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f".{path.name}.{secrets.token_hex(8)}"
    try:
        with temporary.open("xb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def fetched(address: str) -> bytes:
    """The bytes at an address."""
    if not address.startswith(("https://", "http://127.0.0.1:")):
        raise ValueError(f"{address} is no address of a public server.")
    try:
        with urllib.request.urlopen(address, timeout=SECONDS) as answer:  # noqa: S310  # checked above
            content: bytes = answer.read(MAX_FILE + 1)
    except urllib.error.HTTPError as error:
        raise OSError(f"{address}: {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise OSError(f"{error.reason}") from error
    if len(content) > MAX_FILE:
        raise OSError(f"{address} has more than {MAX_FILE} bytes")
    return content
