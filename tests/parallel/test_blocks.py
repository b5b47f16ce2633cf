"""Blocks in memory, and sums over a tree with the same bits for any distribution of the parts."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from softpolytope.parallel._blocks import (
    GROUP_BLOCKS,
    SerialBlocks,
    ThreadBlocks,
    fixed_order_sum,
    merge_siblings,
    tree_sum,
)


class Block:
    """Block of numbers whose sum depends on the order of the additions."""

    def __init__(self, values):
        self.values = values

    def shifted(self, shift):
        """Return the numbers plus an argument."""
        return self.values + shift


def blocks(rng, n_blocks):
    """Blocks with numbers of very different sizes."""
    return [Block(rng.standard_normal(3) * 10.0 ** rng.integers(-12, 12, 3)) for _ in range(n_blocks)]


@pytest.mark.parametrize("n_leaves", [1, 2, 3, 7, 8, 9, 100])
def test_bits_do_not_depend_on_who_adds(n_leaves, rng):
    """Five processes with random leaves give the bits of one with all leaves."""
    leaves = [rng.standard_normal() * 10.0 ** rng.integers(-12, 12) for _ in range(n_leaves)]
    owners = rng.integers(0, 5, n_leaves)
    nodes = {}
    for owner in range(5):
        own = {(0, leaf): leaves[leaf] for leaf in range(n_leaves) if owners[leaf] == owner}
        nodes |= merge_siblings(own, n_leaves)
    (total,) = merge_siblings(nodes, n_leaves).values()
    assert total == tree_sum(leaves)


def test_order_matters_for_these_numbers(rng):
    """Another order of additions would change the bits of these numbers."""
    leaves = [rng.standard_normal() * 10.0 ** rng.integers(-12, 12) for _ in range(100)]
    assert tree_sum(leaves) != sum(leaves)


def test_neighbors_are_few_nodes():
    """A contiguous share of many leaves is sent as a number of nodes that grows as their logarithm."""
    assert len(merge_siblings({(0, leaf): 1.0 for leaf in range(300, 700)}, 1000)) <= 2 * 10


@pytest.mark.parametrize("n_blocks", [1, GROUP_BLOCKS, GROUP_BLOCKS + 1, 7 * GROUP_BLOCKS + 5, 30 * GROUP_BLOCKS])
def test_serial_and_threads_agree(n_blocks, rng):
    """Any number of threads gives the bits of a plain loop."""
    given = blocks(rng, n_blocks)
    expected = SerialBlocks(given).sum(Block.shifted, 1.0)
    np.testing.assert_array_equal(expected, fixed_order_sum([block.shifted(1.0) for block in given]))
    with ThreadPoolExecutor(3) as pool:
        for n_threads in (1, 2, 3):
            threaded = ThreadBlocks(given, pool, n_threads)
            np.testing.assert_array_equal(threaded.sum(Block.shifted, 1.0), expected)
            assert len(threaded.map(Block.shifted, 0.0)) == n_blocks


def test_one_group_is_added_from_left_to_right(rng):
    """Up to 64 blocks there is no tree."""
    given = blocks(rng, GROUP_BLOCKS)
    expected = given[0].values
    for block in given[1:]:
        expected = expected + block.values
    np.testing.assert_array_equal(SerialBlocks(given).sum(Block.shifted, 0.0), expected)
