"""Distinct rows in a canonical order, found by hashes of their contents."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softpolytope._typing import BoolArray, FloatArray, IndexArray
from softpolytope.model import Design, mix_bits


def merge_equal_rows(design: Design, labels: BoolArray, weights: FloatArray) -> tuple[Design, BoolArray, FloatArray]:
    """Return the distinct rows of positive weight in the order of their hashes, with the weights of copies added."""
    first, second = hash_rows(design)
    order = np.lexsort((labels, second, first))
    order = order[weights[order] > 0.0]
    keys = np.stack([first[order], second[order], labels[order].astype(np.uint64)])
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    starts = np.flatnonzero(is_new)
    kept = order[starts]
    return design[kept], labels[kept], _group_sums(weights[order], starts)


def _group_sums(weights: FloatArray, starts: IndexArray) -> FloatArray:
    """Return the sums over runs of weights, each rounded once, so that they do not depend on the order of the copies.

    For the same reason n copies of weight f give the same double as one of weight n f.
    """
    sums = weights[starts]
    ends = np.append(starts[1:], len(weights))
    for group in np.flatnonzero(ends - starts > 1):
        sums[group] = math.fsum(weights[starts[group] : ends[group]])
    return sums


def hash_rows(design: Design) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return two 64-bit hashes of every row, sums over its non-zero entries mixed with their columns.

    Equal rows have equal hashes. Two different rows share both with a probability of 2^-128.
    """
    if isinstance(design, sparse.csr_array):
        columns = design.indices.astype(np.uint64)
        values = design.data
    else:
        columns = np.broadcast_to(np.arange(design.shape[1], dtype=np.uint64), design.shape)
        values = design
    bits = np.ascontiguousarray(values + 0.0).view(np.uint64)  # -0.0 + 0.0 is +0.0, whose bits are 0
    sums = []
    for salt in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F):
        mixed = np.where(bits == 0, np.uint64(0), mix_bits(mix_bits(columns + np.uint64(salt)) ^ bits))
        if isinstance(design, sparse.csr_array):
            total = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(mixed, dtype=np.uint64)])
            sums.append(total[design.indptr[1:]] - total[design.indptr[:-1]])
        else:
            sums.append(mixed.sum(axis=1, dtype=np.uint64))
    return sums[0], sums[1]
