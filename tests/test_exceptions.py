"""Every error that a user may catch is in one place."""

from importlib import import_module
from inspect import getmembers, isclass

import pytest

from softpolytope import exceptions

FACES = ["datasets", "export", "paper", "parallel", "tabular"]


@pytest.mark.parametrize("room", FACES)
def test_faces_share_the_errors(room):
    """An error imported from a room is the one in `softpolytope.exceptions`."""
    face = import_module(f"softpolytope.{room}")
    errors = [(name, value) for name, value in getmembers(face, isclass) if issubclass(value, Exception)]
    assert errors
    assert all(getattr(exceptions, name) is value for name, value in errors)


def test_all_lists_every_error():
    """`__all__` has every class of the module."""
    own = [name for name, value in getmembers(exceptions, isclass) if issubclass(value, Exception)]
    assert sorted(exceptions.__all__) == sorted(own)
