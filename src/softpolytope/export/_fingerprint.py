"""Fingerprints of training rows in model files."""

import numpy as np

from softpolytope.export._checks import Arrays, Header, check, get_array, get_integer
from softpolytope.model import HASH_BITS, MAX_HASHES, TrainingRows


def pack_rows(rows: TrainingRows | None, arrays: Arrays) -> Header | None:
    """Add the hashes, each with a bit that says whether several rows have it, and return the header."""
    if rows is None:
        return None
    arrays["training_rows"] = (rows.hashes << 1) | rows.is_repeated.astype(np.uint32)
    return {"n_rows": rows.n_rows, "n_halvings": rows.n_halvings, "checksum": rows.checksum}


def unpack_rows(plain: Header | None, arrays: Arrays) -> TrainingRows | None:
    """Return the fingerprint that `pack_rows` was given, checked; None if a file has none."""
    if plain is None:
        return None
    n_rows, n_halvings, checksum = (
        get_integer(plain[name], 0, f"the fingerprint's {name}") for name in ("n_rows", "n_halvings", "checksum")
    )
    check(n_halvings <= HASH_BITS and checksum < 2**64, "the fingerprint of the training rows is impossible.")
    values = get_array(arrays, "training_rows", "uint32", 1)
    # A fit that continued another has hashes of both, and the number of its own rows.
    check(len(values) <= MAX_HASHES, "the fingerprint of the training rows is too large.")
    rows = TrainingRows((values >> 1).astype(np.uint32), (values & 1).astype(bool), n_halvings, n_rows, checksum)
    is_sorted = bool((rows.hashes[1:] > rows.hashes[:-1]).all())
    check(is_sorted and bool((rows.hashes < rows.limit).all()), "the hashes of the training rows are not in order.")
    return rows
