"""The support vector machine with a Gaussian kernel by LIBSVM, and the paper's protocol for it."""

from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from softpolytope.paper._typing import Labels, Rows
from softpolytope.paper.baselines._common import TunedBaseline, make_folds

POWERS = tuple(2.0**power for power in range(-5, 6))
N_FOLDS = 3
# The paper takes these from Chang et al. (2010) and tunes nothing.
GIVEN = {"ijcnn1": {"C": 32.0, "gamma": 2.0}, "a9a": {"C": 8.0, "gamma": 2.0**-5}}
# Megabytes; affects the time alone.
CACHE_SIZE = 1000


def tune(X: Rows, y: Labels, seed: int, set_name: str) -> TunedBaseline:
    """Tune C and gamma over 2^-5..2^5 by three folds, as the paper does; ijcnn1 and a9a have given values."""
    estimator = SVC(cache_size=CACHE_SIZE, random_state=seed)
    if set_name in GIVEN:
        chosen = dict(GIVEN[set_name])
        estimator = estimator.set_params(**chosen).fit(X, y)
    else:
        grid = {"C": POWERS, "gamma": POWERS}
        search = GridSearchCV(estimator, grid, cv=make_folds(y, N_FOLDS, seed)).fit(X, y)
        estimator, chosen = search.best_estimator_, search.best_params_
    return TunedBaseline(estimator, int(estimator.n_support_.sum()), chosen)
