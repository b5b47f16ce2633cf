"""Labeled rows as inference sees them, in memory or not, behind one `Dataset` protocol.

`InMemoryDataset` holds the rows of one labeling in memory, `PartitionedDataset` refers to rows in the partitions of a
store; both give the same blocks, summaries and samples. Column moments and standardization are computed here. Nothing
in this room knows a prior or a posterior.
"""

from softpolytope.data._block_factory import DatasetBlockFactory, EncodedRows, OneVsRest, RowEncoding
from softpolytope.data._checks import (
    check_classes,
    check_columns,
    check_finite,
    check_for_text,
    check_labels_agree,
    is_dask_collection,
    table_advice,
    validate_rows,
)
from softpolytope.data._dataset import BLOCK_ROWS, InMemoryDataset
from softpolytope.data._labeled_rows import Dataset, InMemoryRows, LabeledRows, PartitionedRows, PreparedData
from softpolytope.data._moments import FeatureSummary, ranges
from softpolytope.data._partitions import PartitionedDataset, PartitionedSampler
from softpolytope.data._random_weights import RandomWeights
from softpolytope.data._row_block import MAX_FIRST_ROWS, RowBlock, RowSampler, reweighted_rows, row_blocks
from softpolytope.data._sources import open_source
from softpolytope.data._standardization import ColumnTransform, identity_transform, running_transform, standardized_data
from softpolytope.data._summary import DataSummary

__all__ = [
    "BLOCK_ROWS",
    "MAX_FIRST_ROWS",
    "ColumnTransform",
    "DataSummary",
    "Dataset",
    "DatasetBlockFactory",
    "EncodedRows",
    "FeatureSummary",
    "InMemoryDataset",
    "InMemoryRows",
    "LabeledRows",
    "OneVsRest",
    "PartitionedDataset",
    "PartitionedRows",
    "PartitionedSampler",
    "PreparedData",
    "RandomWeights",
    "RowBlock",
    "RowEncoding",
    "RowSampler",
    "check_classes",
    "check_columns",
    "check_finite",
    "check_for_text",
    "check_labels_agree",
    "identity_transform",
    "is_dask_collection",
    "open_source",
    "ranges",
    "reweighted_rows",
    "row_blocks",
    "running_transform",
    "standardized_data",
    "table_advice",
    "validate_rows",
]
