"""The five baselines of the paper, each under the paper's tuning protocol.

`BASELINES` maps the paper's abbreviation, in small letters as in `tables.json`, to a module with two functions:
`tuned(X, y, seed, set_name)` gives an estimator, tuned and fitted on these rows alone, and the chosen parameters;
`n_experts(estimator)` counts what the paper's table of experts counts.
"""

from baselines import adaptive_hyperplanes, convex_polytope, logistic_regression, relevance_vectors, support_vectors

BASELINES = {
    "lr": logistic_regression,
    "svm": support_vectors,
    "rvm": relevance_vectors,
    "amm": adaptive_hyperplanes,
    "cpm": convex_polytope,
}
