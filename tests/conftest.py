"""Fixtures for all tests."""

import zlib

import numpy as np
import pytest
from numpy.random import Generator


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> Generator:
    """A generator seeded from the test's own name: the same for ever, different for every test."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.split("/")[-1].encode()))
