"""From what users hand over to tasks: rows, labels and weights, checked, one label against the rest."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from softpolytope._typing import FloatArray
from softpolytope.data import (
    DataSummary,
    InMemoryRows,
    PartitionedRows,
    check_classes,
    check_finite,
    check_for_text,
    ranges,
)
from softpolytope.estimators._inputs import (
    check_class_weight,
    check_sizes,
    factors_in_partitions,
    plain_labels,
    row_weights,
    take_columns,
)
from softpolytope.estimators._parameters import make_seed
from softpolytope.estimators._tasks import BinaryProblem
from softpolytope.parallel import PartitionStore, Source


class IntakeMixin:
    """Make tasks of rows, and learn classes and columns on the way."""

    classes_: NDArray[Any]
    class_weight: Any
    random_state: Any

    def _tasks(self, X: Any, y: Any, sample_weight: Any, *, goes_on: bool) -> list[BinaryProblem[InMemoryRows]]:
        """Check the data; one task for two classes, one per class for more."""
        X, y, weights = self._checked_rows(X, y, sample_weight, is_first=not goes_on)
        classes, codes = np.unique(y, return_inverse=True)
        check_class_weight(self.class_weight, classes)
        check_classes(classes, np.bincount(codes, weights).astype(np.float64))
        if goes_on and not np.array_equal(classes, self.classes_):
            raise ValueError("warm_start goes on from the last fit, which had other classes.")
        self.classes_ = classes
        return self._tasks_of(X, codes, weights)

    def _tasks_elsewhere(
        self, source: Source, store: PartitionStore, *, goes_on: bool
    ) -> list[BinaryProblem[PartitionedRows]]:
        """Look at rows that live elsewhere; one task for two classes, one per class for more."""
        names = np.array(source.names, dtype=object) if source.names is not None else None
        take_columns(self, source.n_features, names, reset=not goes_on)
        summary = DataSummary.from_store(store, source.names)
        classes, weights = summary.classes()
        factors = factors_in_partitions(self.class_weight, classes, weights)
        check_sizes(*summary.ranges(), source.names)
        check_classification_targets(classes)
        check_class_weight(self.class_weight, classes)
        if goes_on and not np.array_equal(classes, self.classes_):
            raise ValueError("warm_start goes on from the last fit, which had other classes.")
        self.classes_ = classes
        seed = make_seed(self.random_state)
        positives = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        rows = [PartitionedRows(store, summary, classes, factors, code) for code in positives]
        return [BinaryProblem(own, (seed, own.positive), f"class{own.positive}") for own in rows]

    def _checked_rows(self, X: Any, y: Any, sample_weight: Any, *, is_first: bool) -> tuple[Any, Any, FloatArray]:
        """Rows, labels and weights."""
        try:
            X, y = validate_data(
                self,
                X,
                plain_labels(y),
                accept_sparse="csr",
                dtype=np.float64,
                order="C",
                ensure_all_finite=False,
                ensure_min_samples=2 if is_first else 1,
                reset=is_first,
            )
        except (TypeError, ValueError) as error:
            check_for_text(X, error)
            raise
        names = getattr(self, "feature_names_in_", None)
        check_finite(X, names)
        check_sizes(*ranges(X), names)
        check_classification_targets(y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        return X, y, row_weights(self, y, sample_weight)

    def _tasks_of(self, X: Any, codes: NDArray[np.intp], weights: FloatArray) -> list[BinaryProblem[InMemoryRows]]:
        """One task for two classes, one per class for more."""
        stack: Any = sparse.hstack if sparse.issparse(X) else np.hstack
        design = stack([np.ones((X.shape[0], 1)), X])
        seed = make_seed(self.random_state)
        positives = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        return [
            BinaryProblem(InMemoryRows(design, codes == code, weights), (seed, code), f"class{code}")
            for code in positives
        ]
