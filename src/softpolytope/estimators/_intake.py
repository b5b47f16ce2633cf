"""From what users hand over to tasks: rows, labels and weights, checked, one label against the rest."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from softpolytope._typing import FloatArray
from softpolytope.data import check_finite, check_for_text, ranges
from softpolytope.estimators._inputs import (
    check_class_weight,
    check_sizes,
    plain_labels,
    row_weights,
    take_columns,
)
from softpolytope.estimators._parameters import make_seed
from softpolytope.estimators._partitions import PartitionedTask, labels_of, summarize
from softpolytope.estimators._tasks import Task
from softpolytope.parallel import PartitionStore, Source


class IntakeMixin:
    """Make tasks of rows, and learn classes and columns on the way."""

    classes_: NDArray[Any]
    class_weight: Any
    random_state: Any

    def _tasks(self, X: Any, y: Any, sample_weight: Any, *, goes_on: bool) -> list[Task]:
        """Check the data; one task for two classes, one per class for more."""
        X, y, weights = self._checked_rows(X, y, sample_weight, is_first=not goes_on)
        classes, codes = np.unique(y, return_inverse=True)
        check_class_weight(self.class_weight, classes)
        totals = np.bincount(codes, weights)
        if len(classes) < 2:
            raise ValueError(f"y holds only one class, {classes.tolist()[0]!r}; at least two classes are needed.")
        if not (totals > 0.0).all():
            missing = classes.tolist()[int(np.argmin(totals))]
            raise ValueError(f"class {missing!r} has no row of positive weight; leave its rows out or weight them.")
        if goes_on and not np.array_equal(classes, self.classes_):
            raise ValueError("warm_start goes on from the last fit, which had other classes.")
        self.classes_ = classes
        return self._tasks_of(X, codes, weights)

    def _tasks_elsewhere(self, source: Source, store: PartitionStore, *, goes_on: bool) -> list[PartitionedTask]:
        """Look at rows that live elsewhere; one task for two classes, one per class for more."""
        names = np.array(source.names, dtype=object) if source.names is not None else None
        take_columns(self, source.n_features, names, reset=not goes_on)
        labels = labels_of(survey := summarize(store, source.names), self.class_weight)
        check_sizes(*survey.ranges(), source.names)
        check_classification_targets(labels.classes)
        check_class_weight(self.class_weight, labels.classes)
        if goes_on and not np.array_equal(labels.classes, self.classes_):
            raise ValueError("warm_start goes on from the last fit, which had other classes.")
        self.classes_ = labels.classes
        seed = make_seed(self.random_state)
        positives = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        return [PartitionedTask(store, survey, labels, code, (seed, code), f"class{code}") for code in positives]

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

    def _tasks_of(self, X: Any, codes: NDArray[np.intp], weights: FloatArray) -> list[Task]:
        """One task for two classes, one per class for more."""
        stack: Any = sparse.hstack if sparse.issparse(X) else np.hstack
        design = stack([np.ones((X.shape[0], 1)), X])
        seed = make_seed(self.random_state)
        positives = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        return [Task(design, codes == code, weights, (seed, code), f"class{code}") for code in positives]
