"""Logistic regression with an L2 penalty by LIBLINEAR, and the paper's protocol for it."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from baselines._common import folds

C_GRID = tuple(2.0**power for power in range(-10, 16))
# Where LIBLINEAR itself stops; scikit-learn's is a hundredth of it.
TOLERANCE = 0.01
N_FOLDS = 5


def classifier(C=1.0, random_state=None):
    """The machine of the paper: LIBLINEAR, its bias a column of ones that is penalised like the others."""
    # LIBLINEAR at the large C of the grid needs more passes than scikit-learn's hundred.
    return LogisticRegression(C=C, solver="liblinear", tol=TOLERANCE, max_iter=1000, random_state=random_state)


def n_experts(estimator):  # noqa: ARG001  # every baseline is counted alike
    """One hyperplane."""
    return 1


def tuned(X, y, seed, set_name):  # noqa: ARG001  # every baseline is called alike
    """The paper's protocol: C over 2^-10..2^15 by five folds.

    Returns
    -------
    estimator, dict
        Fitted to all rows; the chosen C.
    """
    y = np.asarray(y)
    search = GridSearchCV(classifier(random_state=seed), {"C": C_GRID}, cv=folds(y, N_FOLDS, seed)).fit(X, y)
    return search.best_estimator_, search.best_params_
