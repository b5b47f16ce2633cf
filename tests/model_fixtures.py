"""Model files of earlier versions (tests/export/fixtures), and the rows they were fitted to."""

import importlib.util
from pathlib import Path

FIXTURES = Path(__file__).parent / "export" / "fixtures"


def fixture_module():
    """The script that made the files, for its rows."""
    spec = importlib.util.spec_from_file_location("make_model_fixtures", FIXTURES / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
