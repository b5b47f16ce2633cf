"""Results of a run in one file, a line a fit: to go on from elsewhere, and to compare another run with."""

import json
from collections.abc import Sequence
from pathlib import Path

from reproduction.cells import DAMAGES, Kept, kept, write_whole
from reproduction.fits import configuration
from reproduction.plan import Cell
from reproduction.softplus import SoftplusProtocol
from softpolytope.cli._errors import CommandError
from softpolytope.cli._output import text_output

# Of a result: what seeds decide. Times differ from run to run.
DECIDED = ("error", "mean_error", "n_experts", "chosen")


def write_archive(found: Sequence[Kept], path: Path) -> None:
    """All that the files of some fits say."""
    with text_output(path) as file:
        file.writelines(json.dumps(item.document) + "\n" for item in found)


def read_archive(path: Path) -> dict[Cell, Kept]:
    """The fits of an archive."""
    advice = "Give a .jsonl file that tables wrote."
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is no text ({error}). {advice}") from None
    found = {}
    for number, line in enumerate(lines, start=1):
        try:
            item = Kept.of(json.loads(line))
        except DAMAGES as error:
            raise CommandError(f"{path}, line {number}: no result of a fit ({error!r}). {advice}") from None
        found[item.cell] = item
    return found


def unpack(archive: dict[Cell, Kept], protocol: SoftplusProtocol, folder: Path) -> None:
    """Lay out the fits of an archive as files, as if they had been made here.

    Those of other protocols are left in it, and files of this one stay.
    """
    for cell, item in archive.items():
        if item.configuration == configuration(cell, protocol) and kept(cell, protocol, folder) is None:
            write_whole(cell.path(folder), json.dumps(item.document, indent=1) + "\n")


def differing(found: dict[Cell, Kept], archive: dict[Cell, Kept]) -> tuple[int, list[str]]:
    """How many fits of the same configuration are in both, and what is told of those whose numbers differ."""
    shared = [
        cell for cell, item in found.items() if cell in archive and item.configuration == archive[cell].configuration
    ]
    told = []
    for cell in shared:
        one, other = found[cell].result, archive[cell].result
        names = [name for name in DECIDED if getattr(one, name) != getattr(other, name)]
        changes = [f"{name} {getattr(one, name)}, there {getattr(other, name)}" for name in names]
        if changes:
            told.append(f"{cell.name}: {'; '.join(changes)}")
    return len(shared), told
