"""The deterministic mathematics of softplus regressions, in log space.

Activations, Poisson rates and probabilities, the collapsed log posterior with its gradient, the prior, and posteriors
as collections of draws. This room imports nothing of ours but array types, and prediction needs nothing else.
"""

from softpolytope.model._expected_counts import expected_counts
from softpolytope.model._fitted import (
    Features,
    FittedClassifier,
    FittedModel,
    class_index,
    encode_labels,
    fitted_model,
)
from softpolytope.model._fitted_prior import FittedPrior
from softpolytope.model._log_loss import mean_log_loss
from softpolytope.model._log_posterior import (
    CollapsedPrior,
    Design,
    FlatLogPosterior,
    FlatPrior,
    Observations,
    log_posterior,
)
from softpolytope.model._pools import MAX_LOG_ODDS, Pool, combine_odds, mean_log_odds, pool_probabilities
from softpolytope.model._posterior import (
    Draws,
    Estimate,
    LabelingPosterior,
    Posterior,
    RegressionPosterior,
    check_estimate,
)
from softpolytope.model._prior import Prior
from softpolytope.model._quantiles import central_interval, draw_quantiles
from softpolytope.model._softplus import (
    log_activations,
    log_softplus,
    log_softplus_derivative,
    poisson_rate,
    positive_probability,
    softplus,
)
from softpolytope.model._training_rows import HASH_BITS, MAX_HASHES, TrainingRows, mix_bits, row_hashes, sum_hashes

__all__ = [
    "HASH_BITS",
    "MAX_HASHES",
    "MAX_LOG_ODDS",
    "CollapsedPrior",
    "Design",
    "Draws",
    "Estimate",
    "Features",
    "FittedClassifier",
    "FittedModel",
    "FittedPrior",
    "FlatLogPosterior",
    "FlatPrior",
    "LabelingPosterior",
    "Observations",
    "Pool",
    "Posterior",
    "Prior",
    "RegressionPosterior",
    "TrainingRows",
    "central_interval",
    "check_estimate",
    "class_index",
    "combine_odds",
    "draw_quantiles",
    "encode_labels",
    "expected_counts",
    "fitted_model",
    "log_activations",
    "log_posterior",
    "log_softplus",
    "log_softplus_derivative",
    "mean_log_loss",
    "mean_log_odds",
    "mix_bits",
    "poisson_rate",
    "pool_probabilities",
    "positive_probability",
    "row_hashes",
    "softplus",
    "sum_hashes",
]
