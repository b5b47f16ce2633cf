"""Evaluation of blocks of rows: in a loop, by threads, in partitions of this process, or on Dask workers.

Sums over blocks are taken in a fixed order, so results do not depend on the place of evaluation. Checkpoints, progress,
interrupts and memory limits are handled here. Nothing in this room knows what a block computes.
"""

from softpolytope.exceptions import BlocksLostError, CheckpointError
from softpolytope.parallel._block_state import (
    BlockFactory,
    Raw,
    SavedState,
    StatelessBlockFactory,
    read_saved_state,
    saved_state_file,
    write_saved_state,
)
from softpolytope.parallel._blocks import (
    Blocks,
    BlockThreads,
    Call,
    Node,
    SerialBlocks,
    ThreadBlocks,
    blocks_in_memory,
    fixed_order_sum,
    merge_siblings,
    read_only,
)
from softpolytope.parallel._checkpoint import Checkpoint, CheckpointPlan, make_fingerprint
from softpolytope.parallel._memory import allowance, parse_bytes
from softpolytope.parallel._partition_blocks import (
    DeferringBlocks,
    PartitionStore,
    Source,
    StatefulBlocks,
    collect,
    open_partition_store,
)
from softpolytope.parallel._partition_cache import AnyFactory, PartitionCache
from softpolytope.parallel._threads import Callback, Progress, Reporting, RunOptions, one_blas_thread, run_all

__all__ = [
    "AnyFactory",
    "BlockFactory",
    "BlockThreads",
    "Blocks",
    "BlocksLostError",
    "Call",
    "Callback",
    "Checkpoint",
    "CheckpointError",
    "CheckpointPlan",
    "DeferringBlocks",
    "Node",
    "PartitionCache",
    "PartitionStore",
    "Progress",
    "Raw",
    "Reporting",
    "RunOptions",
    "SavedState",
    "SerialBlocks",
    "Source",
    "StatefulBlocks",
    "StatelessBlockFactory",
    "ThreadBlocks",
    "allowance",
    "blocks_in_memory",
    "collect",
    "fixed_order_sum",
    "make_fingerprint",
    "merge_siblings",
    "one_blas_thread",
    "open_partition_store",
    "parse_bytes",
    "read_only",
    "read_saved_state",
    "run_all",
    "saved_state_file",
    "write_saved_state",
]
