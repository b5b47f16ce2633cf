"""Functions that tests run in other processes, which import them by name."""

from pathlib import Path


def leave_file(path: Path, text: str) -> str:
    """Write a file, and return a remark on it."""
    path.write_text(text)
    return "written"
