"""Logistic regression with an L2 penalty by LIBLINEAR, and the paper's protocol for it."""

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from softpolytope.paper._typing import Labels, Rows
from softpolytope.paper.baselines._common import TunedBaseline, make_folds

C_GRID = tuple(2.0**power for power in range(-10, 16))
# The default of LIBLINEAR itself; scikit-learn's is a hundredth of it.
TOLERANCE = 0.01
# LIBLINEAR at the large C of the grid needs more passes than scikit-learn's hundred.
MAX_PASSES = 1000
N_FOLDS = 5


def tune(X: Rows, y: Labels, seed: int, _set_name: str) -> TunedBaseline:
    """Tune C over 2^-10..2^15 by five folds, as the paper does; the bias is penalized like the other coefficients."""
    estimator = LogisticRegression(solver="liblinear", tol=TOLERANCE, max_iter=MAX_PASSES, random_state=seed)
    search = GridSearchCV(estimator, {"C": C_GRID}, cv=make_folds(y, N_FOLDS, seed)).fit(X, y)
    return TunedBaseline(search.best_estimator_, 1, search.best_params_)
