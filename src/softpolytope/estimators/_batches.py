"""Rows that come in batches."""

import warnings
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from softpolytope.estimators._fitting import FittedRegression, take_batch
from softpolytope.estimators._inputs import check_class_weight, plain_labels
from softpolytope.estimators._intake import IntakeMixin
from softpolytope.estimators._parameters import checked_settings, warn_of_unused
from softpolytope.estimators._tasks import How
from softpolytope.model import Posterior, TrainingRows, encode_labels

NO_STATE = (
    "it was read from a file that does not hold the state of the fit. The file was written by an earlier version or by "
    "save(state=False), or the chains were not kept, which only a fit with warm_start=True does."
)


def _moves_modes(classifier: Any) -> bool:
    """Whether there is a `partial_fit`: scikit-learn's way is to have none where it cannot work."""
    if classifier.inference == "gibbs":
        raise AttributeError('partial_fit moves modes, and inference="gibbs" has none; set inference="map".')
    return True


class BatchMixin(IntakeMixin):
    """Learn from batch after batch."""

    inference_: Literal["gibbs", "map"]
    bootstrap_: bool
    posterior_: Posterior
    _fits: list[FittedRegression]
    _first_kept: int
    _training_rows: TrainingRows | None

    def _n_threads(self) -> int:
        raise NotImplementedError

    @available_if(_moves_modes)  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from one more batch of rows, which are not kept.

        The first batch decides the prior's precision rate and where the modes begin, so it should be as large and as
        mixed as can be; each later one moves them by steps of Adam. After `fit` it goes on from the modes found there.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`; a batch need not have all classes.
        classes : array-like, optional
            All labels there will be; needed in the first call.

        Returns
        -------
        self
            The classifier after the batch.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C ends the batch, which then changes nothing.

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from softpolytope import SumStackSoftplusClassifier
        >>> X, y = make_moons(600, noise=0.2, random_state=0)
        >>> model = SumStackSoftplusClassifier(random_state=0, max_experts=6)
        >>> for rows in range(0, 600, 200):
        ...     model = model.partial_fit(X[rows : rows + 200], y[rows : rows + 200], classes=[0, 1])
        >>> model.score(X, y) > 0.95
        True
        """
        before = dict(self.__dict__)
        try:
            return self._take_batch(X, y, classes, sample_weight)
        except BaseException:
            # A batch that fails, or is interrupted, changes nothing.
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _take_batch(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        settings = checked_settings(self)
        if self.class_weight == "balanced":
            raise ValueError('class_weight="balanced" needs all rows at once; give weights by class as a dict.')
        fits: list[FittedRegression] = getattr(self, "_fits", [])
        if fits and self.inference_ == "gibbs":
            warnings.warn("partial_fit begins anew: chains, as the last fit ran, cannot take more rows.", stacklevel=3)
            fits, classes = [], self.classes_ if classes is None else classes
        if any(fit.stream is None for fit in fits):
            raise ValueError(
                f"partial_fit cannot go on with this model: {NO_STATE} Fit it again, or begin with "
                "sklearn.base.clone(model)."
            )
        is_first = not fits
        if is_first:
            warn_of_unused(self, "map", is_batch=True)
        X, y, weights = self._checked_rows(X, y, sample_weight, is_first=is_first)
        self._take_classes(classes, is_first=is_first)
        check_class_weight(self.class_weight, self.classes_)
        tasks = self._tasks_of(X, encode_labels(y, self.classes_, len(y)), weights)
        if not (weights > 0.0).any():
            raise ValueError("sample_weight is zero for all rows of the batch; leave such batches out.")
        how = How(self._n_threads(), None, keeps_states=False)
        before: Sequence[FittedRegression | None] = fits or [None] * len(tasks)
        self._fits = [take_batch(task, settings, how, fit) for task, fit in zip(tasks, before, strict=True)]
        self.inference_ = "map"
        # All restarts move with the same rows, equally weighted.
        self.bootstrap_ = False
        self._first_kept = 0
        batch, known = tasks[0].rows.training_rows(), getattr(self, "_training_rows", None)
        self._training_rows = batch if is_first else None if known is None else known.with_batch(batch)
        self.posterior_ = Posterior(tuple(fit.posterior for fit in self._fits))
        return self

    def _rows_seen(self, rows: TrainingRows | None, *, goes_on: bool) -> TrainingRows | None:
        """Return the fingerprint after a fit to these rows; None if some rows that it goes on from have none."""
        known: TrainingRows | None = getattr(self, "_training_rows", None)
        if not goes_on or rows is None:
            return rows
        return None if known is None else known.followed_by(rows)

    def _take_classes(self, classes: ArrayLike | None, *, is_first: bool) -> None:
        """Learn the classes in the first call of `partial_fit`, and check them in later ones."""
        if is_first:
            if classes is None:
                raise ValueError("classes must be given in the first call of partial_fit: all labels there will be.")
            self.classes_ = np.unique(np.asarray(plain_labels(classes, "classes")))
            if len(self.classes_) < 2:
                raise ValueError(f"classes must hold at least two labels; got {self.classes_.tolist()}.")
        elif classes is not None:
            found = np.unique(np.asarray(plain_labels(classes, "classes")))
            if not np.array_equal(found, self.classes_):
                raise ValueError(f"classes were {self.classes_.tolist()} in the first call; got {found.tolist()}.")
