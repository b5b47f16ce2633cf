"""What the baselines share: checks of data and parameters, folds, and the paper's sequential search."""

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold


class TwoClassMachine(ClassifierMixin, BaseEstimator):
    """A classifier of two classes, dense or sparse rows, by the sign of its decision function."""

    def predict(self, X):
        """The second class where the decision function is positive."""
        return self.classes_[(self.decision_function(X) > 0.0).astype(int)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags


def dense_with_bias(X):
    """Rows as a C-ordered array of doubles, with a last column of ones."""
    X = X.toarray() if sparse.issparse(X) else np.asarray(X)
    return np.ascontiguousarray(np.column_stack([X, np.ones(len(X))]), dtype=np.float64)


def coded(y):
    """The two classes, and for each row whether it is of the second."""
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) != 2:
        raise ValueError(f"y must hold two classes; got {len(classes)}: {classes[:5]}. Drop or merge classes first.")
    return classes, codes == 1


def check_positive(**parameters):
    """Raise unless every parameter is above zero."""
    for name, value in parameters.items():
        if not value > 0:
            raise ValueError(f"{name} must be above zero; got {value!r}.")


def folds(y, n_folds, seed):
    """Training and held-out rows of stratified folds in an order drawn from the seed."""
    return list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))


def cross_validation_error(estimator, X, y, splits):
    """Share of the held-out rows that get a wrong label."""
    wrong = [np.sum(estimator.fit(X[seen], y[seen]).predict(X[held]) != y[held]) for seen, held in splits]
    return np.sum(wrong) / len(y)


def first_rise(values, error):
    """The best value and its error, trying them in order until the error rises, as the paper does."""
    best, least, last = None, np.inf, np.inf
    for value in values:
        current = error(value)
        if current > last:
            break
        if current < least:
            best, least = value, current
        last = current
    return best, least
