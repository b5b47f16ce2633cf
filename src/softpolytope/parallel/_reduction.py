"""Sums whose bits do not depend on who adds: a fixed tree over parts that have a fixed order."""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any

# Results of so many neighboring blocks are added one after the other; such sums are the leaves of a tree.
GROUP_BLOCKS = 64

# (height, number) of a node in the tree; a node of height h has the leaves number * 2^h to (number + 1) * 2^h - 1.
Node = tuple[int, int]


def fixed_order_sum(results: Sequence[Any]) -> Any:
    """Sum of the results of blocks: group by group, then over the tree of groups.

    Examples
    --------
    >>> from softpolytope.parallel import fixed_order_sum
    >>> fixed_order_sum([1.0, 2.0, 3.0])
    6.0
    """
    starts = range(0, len(results), GROUP_BLOCKS)
    return tree_sum([reduce(add, results[start : start + GROUP_BLOCKS]) for start in starts])


def tree_sum(leaves: Sequence[Any]) -> Any:
    """Sum over the tree: neighbors, then neighbors' sums, and so on."""
    (total,) = merged({(0, number): leaf for number, leaf in enumerate(leaves)}, len(leaves)).values()
    return total


def merged(nodes: Mapping[Node, Any], n_leaves: int) -> dict[Node, Any]:
    """Add siblings wherever both are there, from the leaves up.

    Whoever has some of the leaves sends what this returns, a few nodes; all of these together, merged again, are one
    node, the total, and the same additions have been made whoever had which leaves.

    Examples
    --------
    >>> from softpolytope.parallel import merged
    >>> mine, yours = merged({(0, 0): 1, (0, 1): 2, (0, 2): 3}, 5), merged({(0, 3): 4, (0, 4): 5}, 5)
    >>> mine, yours
    ({(0, 2): 3, (1, 0): 3}, {(0, 3): 4, (2, 1): 5})
    >>> merged(mine | yours, 5)
    {(3, 0): 15}
    """
    found = dict(nodes)
    height, width = 0, n_leaves
    while width > 1:
        for number in sorted(number for at, number in found if at == height and number % 2 == 0):
            if number + 1 == width:  # the last of an odd number has no sibling
                found[height + 1, number // 2] = found.pop((height, number))
            elif (height, number + 1) in found:
                found[height + 1, number // 2] = found.pop((height, number)) + found.pop((height, number + 1))
        height, width = height + 1, (width + 1) // 2
    return found
