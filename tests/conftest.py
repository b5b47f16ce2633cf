"""Fixtures for all tests."""

import signal
import threading
import zlib

import numpy as np
import pytest
from numpy.random import Generator

# A shell that starts a command in the background makes it ignore Ctrl-C, which some tests send to themselves.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> Generator:
    """A generator seeded from the test's own name: the same for ever, different for every test."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.split("/")[-1].encode()))
