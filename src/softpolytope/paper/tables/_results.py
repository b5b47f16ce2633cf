"""Results of fits: one file each, and archives with one line each to continue from or to compare with."""

import hashlib
import json
import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

from softpolytope._files import atomic_write_text
from softpolytope.datasets import benchmark_path
from softpolytope.exceptions import ReproductionError
from softpolytope.paper._protocol import TableProtocol
from softpolytope.paper.tables._fits import configuration
from softpolytope.paper.tables._plan import PlannedFit, find_fit

# Fields of a result that seeds decide; times differ from run to run.
DETERMINISTIC = ("error", "mean_error", "n_experts", "chosen")
# Errors of parsing a damaged document; the last is that of JSON nested too deeply.
DAMAGES = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


@dataclass(frozen=True, slots=True)
class Result:
    """Numbers of one fit."""

    set_name: str
    method: str
    trial: int
    error: float  # percent of the test rows
    mean_error: float | None  # the same by the posterior mean, which only chains have
    n_experts: float  # of both labelings; for others support vectors, relevance vectors or hyperplanes
    fit_seconds: float  # processor time, with tuning, so that pauses and other programs do not count
    predict_nanoseconds: float  # for each row
    chosen: dict[str, Any]  # parameters that cross-validation chose, or log likelihoods of the best draws

    def __post_init__(self) -> None:
        """Raise ValueError if a fit cannot have these numbers: files may be damaged or written by hand."""
        for name in ("error", "mean_error", "n_experts", "fit_seconds", "predict_nanoseconds"):
            value = getattr(self, name)
            if value is None and name == "mean_error":
                continue
            if not isinstance(value, int | float) or not 0.0 <= value < math.inf:
                raise ValueError(f"{name} must be a finite number, zero or more; got {value!r}")
        for name, kind in (("trial", int), ("chosen", dict)):
            if not isinstance(getattr(self, name), kind):
                raise ValueError(f"{name} must be of type {kind.__name__}; got {getattr(self, name)!r}")


@dataclass(frozen=True, slots=True)
class StoredFit:
    """The contents of a fit's file."""

    document: dict[str, Any]  # everything
    fit: PlannedFit
    result: Result
    configuration: dict[str, Any]
    build: str  # hash of the package's files

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Parse a document; raise one of `DAMAGES` if it is not that of a fit."""
        build = document["versions"]["softpolytope files"]
        result = Result(**document["result"])
        fit = find_fit(result.set_name, result.method, result.trial)
        return cls(document, fit, result, document["configuration"], build)


Archive = Mapping[PlannedFit, StoredFit]


@dataclass(frozen=True, slots=True)
class ArchiveComparison:
    """Fits that a run and an archive share, and a sentence for each whose numbers differ."""

    n_shared: int
    differences: list[str]

    @property
    def is_equal(self) -> bool:
        """Whether there is something to compare, and nothing differs."""
        return self.n_shared > 0 and not self.differences


def load_fit(fit: PlannedFit, protocol: TableProtocol, folder: Path, data: str | None = None) -> StoredFit | None:
    """Return a stored fit of the same protocol and, if `data` is given, of the data with that hash; None if missing."""
    path = fit.path(folder)
    if not path.is_file():
        return None
    try:
        found = StoredFit.from_document(json.loads(path.read_text(encoding="utf-8")))
        if found.fit != fit:
            raise ValueError(f"it is that of {found.fit.name}")
        is_of_data = data is None or found.document["data"] == data
    except DAMAGES as error:
        warnings.warn(f"{path} is damaged ({error!r}), so the fit is run again.", RuntimeWarning, stacklevel=2)
        return None
    return found if is_of_data and found.configuration == configuration(fit, protocol) else None


def store_fit(fit: PlannedFit, document: Mapping[str, Any], folder: Path) -> None:
    """Write the file of a fit."""
    write_text(fit.path(folder), json.dumps(document, indent=1, default=float) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text to disk, because the checkpoint it was made from is deleted next."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write_text(path, fsync=True) as file:
        file.write(text)


@cache
def data_hash(set_name: str, data_home: Path | None) -> str:
    """Return the SHA-256 hash of a set's file."""
    with benchmark_path(set_name, data_home).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_archive(found: Iterable[StoredFit], path: Path) -> None:
    """Write fits as an archive, one line each."""
    with atomic_write_text(path) as file:
        file.writelines(json.dumps(item.document) + "\n" for item in found)


def read_archive(path: Path) -> Archive:
    """Return the fits of an archive; raise ReproductionError if it is not one."""
    advice = "Use a .jsonl file written beside a page of the tables."
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ReproductionError(f"{path} is not a text file ({error}). {advice}") from None
    found = {}
    for number, line in enumerate(lines, start=1):
        try:
            item = StoredFit.from_document(json.loads(line))
        except DAMAGES as error:
            raise ReproductionError(f"{path}, line {number}: not the result of a fit ({error!r}). {advice}") from None
        found[item.fit] = item
    return found


def unpack_archive(archive: Archive, protocol: TableProtocol, folder: Path) -> None:
    """Write the fits of an archive that follow the protocol as files, except where such a file exists."""
    for fit, item in archive.items():
        if item.configuration == configuration(fit, protocol) and load_fit(fit, protocol, folder) is None:
            store_fit(fit, item.document, folder)


def compare_archives(found: Archive, archive: Archive) -> ArchiveComparison:
    """Compare fits of the same configuration, without their times."""
    shared = [fit for fit, item in found.items() if fit in archive and item.configuration == archive[fit].configuration]
    differences = []
    for fit in shared:
        one, other = found[fit].result, archive[fit].result
        changes = [
            f"{name} {getattr(one, name)}, there {getattr(other, name)}"
            for name in DETERMINISTIC
            if getattr(one, name) != getattr(other, name)
        ]
        if changes:
            differences.append(f"{fit.name}: {'; '.join(changes)}")
    return ArchiveComparison(len(shared), differences)
