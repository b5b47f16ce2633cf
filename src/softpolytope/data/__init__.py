"""Rows as inference sees them, in memory or not.

`TrainingData` holds rows of one labeling in memory, `PartitionedData` rows that live in partitions elsewhere; both are
cut into the same blocks. Column moments, feature summaries and standardization have their only home here. Nothing in
this room draws random numbers of a model or evaluates a prior.
"""

from softpolytope.data._checks import (
    check_columns,
    check_finite,
    check_for_text,
    check_labels_agree,
    ranges,
    validate_rows,
)
from softpolytope.data._dataset import BLOCK_ROWS, TrainingData
from softpolytope.data._features import MIN_SPREAD, FeatureSummary
from softpolytope.data._partitions import (
    BLOCKS_OF_A_PARTITION,
    CodedBlockFactory,
    CodedRows,
    PartitionedData,
    Preparation,
)
from softpolytope.data._row_block import RowBlock
from softpolytope.data._standardization import ColumnTransform, identity_transform, running_transform, standardized_data
from softpolytope.data._summary import DataSummary, Moments, SummaryBlock, SummaryBlockFactory, power_of_two

__all__ = [
    "BLOCKS_OF_A_PARTITION",
    "BLOCK_ROWS",
    "MIN_SPREAD",
    "CodedBlockFactory",
    "CodedRows",
    "ColumnTransform",
    "DataSummary",
    "FeatureSummary",
    "Moments",
    "PartitionedData",
    "Preparation",
    "RowBlock",
    "SummaryBlock",
    "SummaryBlockFactory",
    "TrainingData",
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
