"""Types of which a fitted classifier is made."""

from softpolytope.data import ColumnTransform, FeatureSummary
from softpolytope.estimators._chains import Chains
from softpolytope.estimators._classifiers import (
    SoftplusClassifier,
    StackSoftplusClassifier,
    SumSoftplusClassifier,
    SumStackSoftplusClassifier,
)
from softpolytope.estimators._fitting import FittedRegression
from softpolytope.estimators._streaming import Stream
from softpolytope.model import Draws, LabelingPosterior, Posterior, Prior, RegressionPosterior, TrainingRows
from softpolytope.optimize import AdamState, FoundMode, Mode, ModesResult

TYPES_OF_CLASSIFIERS: tuple[type, ...] = (
    SoftplusClassifier, StackSoftplusClassifier, SumSoftplusClassifier, SumStackSoftplusClassifier,
    # Plain records: opening one sets its fields and does nothing else.
    AdamState, Chains, ColumnTransform, Draws, FeatureSummary, FittedRegression, FoundMode, LabelingPosterior, Mode,
    ModesResult, Posterior, Prior, RegressionPosterior, Stream, TrainingRows,
)  # fmt: skip
