"""Sums over a fixed tree, whose bits do not depend on how the parts are distributed."""

from collections.abc import Iterable, Mapping, Sequence
from operator import add
from typing import TypeVar

# Results of this many neighboring blocks are added from left to right. Their sums are the leaves of the tree.
GROUP_BLOCKS = 64

# (height, number) of a node in the tree; a node of height h has the leaves number * 2^h to (number + 1) * 2^h - 1.
Node = tuple[int, int]

Result = TypeVar("Result")


def fixed_order_sum(results: Iterable[Result]) -> Result:
    """Sum the results of blocks: group by group, then over the tree of groups.

    Examples
    --------
    >>> from softpolytope.parallel import fixed_order_sum
    >>> fixed_order_sum([1.0, 2.0, 3.0])
    6.0
    """
    groups: list[Result] = []
    for number, result in enumerate(results):
        if number % GROUP_BLOCKS == 0:
            groups.append(result)
        else:
            groups[-1] = add(groups[-1], result)
    return groups[0] if len(groups) == 1 else tree_sum(groups)


def tree_sum(leaves: Sequence[Result]) -> Result:
    """Sum over the tree: neighbors, then the sums of neighbors, and so on."""
    (total,) = merge_siblings({(0, number): leaf for number, leaf in enumerate(leaves)}, len(leaves)).values()
    return total


def merge_siblings(nodes: Mapping[Node, Result], n_leaves: int) -> dict[Node, Result]:
    """Add siblings wherever both are present, from the leaves up.

    A process that has some of the leaves sends the few nodes returned. Merged again, the nodes of all processes are one
    node, the total, after the same additions for any distribution of the leaves.

    Examples
    --------
    >>> from softpolytope.parallel import merge_siblings
    >>> mine = merge_siblings({(0, 0): 1, (0, 1): 2, (0, 2): 3}, 5)
    >>> yours = merge_siblings({(0, 3): 4, (0, 4): 5}, 5)
    >>> mine, yours
    ({(0, 2): 3, (1, 0): 3}, {(0, 3): 4, (2, 1): 5})
    >>> merge_siblings(mine | yours, 5)
    {(3, 0): 15}
    """
    left = dict(nodes)
    height, width = 0, n_leaves
    while width > 1:
        for number in sorted(number for at, number in left if at == height and number % 2 == 0):
            if number + 1 == width:  # the last of an odd number has no sibling
                left[height + 1, number // 2] = left.pop((height, number))
            elif (height, number + 1) in left:
                left[height + 1, number // 2] = add(left.pop((height, number)), left.pop((height, number + 1)))
        height, width = height + 1, (width + 1) // 2
    return left
