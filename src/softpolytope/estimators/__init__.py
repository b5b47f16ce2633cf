"""The scikit-learn classifiers.

This room checks parameters and data, starts inference, and answers questions about a fitted model. It holds no
formulas: those are in `model`, `gibbs`, `optimize` and `geometry`. Users import the classifiers from `softpolytope`
itself.
"""

from softpolytope.data import ColumnTransform, FeatureSummary
from softpolytope.estimators._base import SoftplusBase
from softpolytope.estimators._callbacks import CallbackSupportMixin
from softpolytope.estimators._classifiers import (
    CLASSIFIERS,
    SoftplusClassifier,
    StackSoftplusClassifier,
    SumSoftplusClassifier,
    SumStackSoftplusClassifier,
)
from softpolytope.estimators._export import classifier_record, make_classifier
from softpolytope.estimators._parameters import RandomState
from softpolytope.estimators._validation import validate_labels
from softpolytope.export import FittedRegression
from softpolytope.gibbs import SavedChains
from softpolytope.model import (
    Draws,
    FittedPrior,
    LabelingPosterior,
    Posterior,
    Prior,
    RegressionPosterior,
    TrainingRows,
)
from softpolytope.optimize import AdamState, FoundMode, Mode, ModesResult, OnlineModes, SavedModes

__all__ = [
    "CLASSIFIERS",
    "TYPES_OF_CLASSIFIERS",
    "CallbackSupportMixin",
    "RandomState",
    "SoftplusBase",
    "SoftplusClassifier",
    "StackSoftplusClassifier",
    "SumSoftplusClassifier",
    "SumStackSoftplusClassifier",
    "classifier_record",
    "make_classifier",
    "validate_labels",
]

# Types that a fitted classifier consists of. All but the classifiers are plain records: opening one sets its fields and
# does nothing else.
TYPES_OF_CLASSIFIERS: tuple[type, ...] = (
    *CLASSIFIERS.values(),
    *(AdamState, ColumnTransform, Draws, FeatureSummary, FittedPrior, FittedRegression, FoundMode),
    *(
        LabelingPosterior,
        Mode,
        ModesResult,
        OnlineModes,
        Posterior,
        Prior,
        RegressionPosterior,
        SavedChains,
        SavedModes,
        TrainingRows,
    ),
)
