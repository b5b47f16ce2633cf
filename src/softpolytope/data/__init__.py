"""Labeled rows as inference sees them, in memory or not, behind one `Dataset` protocol.

`InMemoryDataset` holds the rows of one labeling in memory, `PartitionedDataset` refers to rows in the partitions of a
store; both give the same blocks, summaries and samples. Column moments and standardization are computed here. Nothing
in this room knows a prior or a posterior.
"""

from softpolytope.data._checks import (
    check_columns,
    check_finite,
    check_for_text,
    check_labels_agree,
    ranges,
    validate_rows,
)
from softpolytope.data._dataset import BLOCK_ROWS, InMemoryDataset
from softpolytope.data._features import MIN_SPREAD, FeatureSummary
from softpolytope.data._partitions import (
    BLOCKS_OF_A_PARTITION,
    CodedRows,
    DatasetBlockFactory,
    PartitionedDataset,
    RowCoding,
)
from softpolytope.data._row_block import RowBlock
from softpolytope.data._standardization import ColumnTransform, identity_transform, running_transform, standardized_data
from softpolytope.data._summary import DataSummary, Moments, SummaryBlock, SummaryBlockFactory, power_of_two

__all__ = [
    "BLOCKS_OF_A_PARTITION",
    "BLOCK_ROWS",
    "MIN_SPREAD",
    "CodedRows",
    "ColumnTransform",
    "DataSummary",
    "DatasetBlockFactory",
    "FeatureSummary",
    "InMemoryDataset",
    "Moments",
    "PartitionedDataset",
    "RowBlock",
    "RowCoding",
    "SummaryBlock",
    "SummaryBlockFactory",
    "check_columns",
    "check_finite",
    "check_for_text",
    "check_labels_agree",
    "identity_transform",
    "power_of_two",
    "ranges",
    "running_transform",
    "standardized_data",
    "validate_rows",
]
