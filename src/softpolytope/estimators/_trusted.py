"""Types of which a fitted classifier is made."""

from softpolytope.estimators._chains import Chains
from softpolytope.estimators._features import FeatureSummary
from softpolytope.estimators._fitting import Fitted
from softpolytope.estimators._streaming import Stream
from softpolytope.estimators._units import Units
from softpolytope.estimators.classifiers import (
    SoftplusClassifier,
    StackSoftplusClassifier,
    SumSoftplusClassifier,
    SumStackSoftplusClassifier,
)
from softpolytope.model.posterior import Draws, LabellingPosterior, Posterior, RegressionPosterior
from softpolytope.model.prior import Prior
from softpolytope.model.training_rows import TrainingRows
from softpolytope.optimise.modes import Mode
from softpolytope.optimise.results import FoundMode, ModesResult
from softpolytope.optimise.stream import Follower

TYPES_OF_CLASSIFIERS: tuple[type, ...] = (
    SoftplusClassifier, StackSoftplusClassifier, SumSoftplusClassifier, SumStackSoftplusClassifier,
    # Plain records: opening one sets its fields and does nothing else.
    Chains, Draws, FeatureSummary, Fitted, Follower, FoundMode, LabellingPosterior, Mode, ModesResult, Posterior, Prior,
    RegressionPosterior, Stream, TrainingRows, Units,
)  # fmt: skip
