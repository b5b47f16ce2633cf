"""What a report says of a model, as numbers: gathered once, then put into words, charts and the page's data."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.data import validate_rows
from softpolytope.geometry import ExpertRegion, LabelingPolytopes
from softpolytope.inspection import Diagnosis, Overlap, overlap_with_training
from softpolytope.model import Draws, Features, FittedModel, LabelingPosterior, Posterior, combined
from softpolytope.report._given import ReportOptions, raw_columns
from softpolytope.report._scores import (
    LEVEL,
    Calibration,
    Score,
    given_scores,
    held_out_scores,
    majority_score,
    model_calibration,
    score_of,
)

# The probability that the rules are about.
THRESHOLD = 0.5
# Rules of a labeling that are worth reading, and worth the time it takes to find their faces.
MAX_RULES = 12
# Sorted weights of a labeling that are shown.
MAX_WEIGHTS = 20
# Rows on which modes are compared.
MAX_ROWS_COMPARED = 5000


@dataclass(frozen=True, slots=True)
class Rule:
    """One expert's region, and what it did on the test rows."""

    region: ExpertRegion
    n_yes: int  # rows it votes yes for
    n_right: int  # of these, rows of the class it votes for


@dataclass(frozen=True, slots=True)
class Side:
    """One labeling (of one class): the experts that vote for a target."""

    target: str
    polytopes: LabelingPolytopes
    posterior: LabelingPosterior
    rules: tuple[Rule, ...]
    n_active: NDArray[np.intp]  # (draws,), experts with counts
    weight_bands: FloatArray  # (ranks, 3): low, median and high of the sorted weights over draws

    @property
    def n_experts(self) -> int:
        """Experts of the best draw."""
        return len(self.posterior.best.expert_weights)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far plain modes agree on test rows."""

    n_modes: int
    same_decision: float  # share of rows that all modes decide alike
    mean_spread: float  # mean over rows of largest less smallest probability


@dataclass(frozen=True, slots=True)
class Content:
    """Everything the page is made of."""

    kind: str  # name of the classifier's class
    title: str
    classes: tuple[str, ...]
    features: Features
    posterior: Posterior
    estimate: str
    inference: str
    has_draws: bool  # whether draws (or bootstrap modes) stand for the posterior
    first_kept: int
    X: Any  # (rows, features), dense or CSR
    codes: NDArray[np.intp]
    probabilities: FloatArray  # (rows, classes)
    decisions: NDArray[np.intp]
    scores: tuple[Score, ...]  # ours, the majority vote, then those given, of these rows and of others
    calibration: Calibration
    sides: tuple[Side, ...]
    diagnoses: tuple[Diagnosis, ...]
    agreement: Agreement | None  # of plain modes
    n_outside: int  # rows with a feature beyond the range of the training rows
    raw: tuple[tuple[str, NDArray[Any]], ...]  # name and values of the columns as the user knows them
    overlap: Overlap | None  # with the training rows; None if these are not known
    on_new_rows: tuple[Score, Score] | None  # the model's and the majority's, of rows not trained on, if some were
    held_out: tuple[Score, Score | None] | None  # the same of rows held out when the model was fitted

    @property
    def noun(self) -> str:
        """What a row of the report is called."""
        if self.overlap is None or not self.overlap.has_training_rows:
            return "test row"
        return "training row" if self.overlap.is_whole else "row"

    @property
    def n_new_rows(self) -> int:
        """Rows that the model was not trained on, where they are known."""
        return 0 if self.overlap is None or self.overlap.is_known is None else int((~self.overlap.is_known).sum())

    @property
    def is_wrong(self) -> BoolArray:
        """Whether each row is decided wrongly."""
        return np.asarray(self.decisions != self.codes)

    @property
    def n_draws(self) -> int:
        """Draws or modes that predictions average over."""
        return 1 if self.estimate == "best" else len(self.sides[0].posterior.draws)

    @property
    def n_layers(self) -> int:
        """Hyperplanes of each expert."""
        return self.sides[0].polytopes.n_layers

    @property
    def one_of(self) -> str:
        """What a draw is called."""
        return "mode" if self.inference == "map" else "draw"


def summarize_model(classifier: Any, X: Any, y: Any, given: ReportOptions) -> Content:
    """Gather it all from a fitted classifier and test rows with their labels."""
    if not hasattr(classifier, "polytopes"):
        raise ValueError(
            f"a report needs one of the four classifiers of softpolytope, fitted; got {type(classifier).__name__}. Of "
            "a pipeline, give the last step, and rows as the steps before leave them; of a TableClassifier, "
            "named_classifier(), and rows by its encode."
        )
    rows = validate_rows(classifier, X)
    model: FittedModel = classifier.model_
    codes = model.encode_labels(y, rows.shape[0])
    # The rows as they were given: scikit-learn would miss their names otherwise.
    probabilities = classifier.predict_proba(X)
    decisions = np.searchsorted(classifier.classes_, classifier.predict(X))
    polytopes = classifier.polytopes(THRESHOLD)
    features = _named(polytopes[0].features, given.feature_names)
    classes = tuple(str(name) for name in classifier.classes_.tolist())
    has_draws = model.has_posterior_spread
    title = given.title if given.title is not None else f"Report on a {type(classifier).__name__}"
    overlap = overlap_with_training(classifier, X)
    return Content(
        type(classifier).__name__,
        str(title),
        classes,
        features,
        classifier.posterior_,
        str(classifier.estimate),
        str(classifier.inference_),
        has_draws,
        model.n_burn_in if model.inference == "gibbs" else 0,
        rows,
        codes,
        probabilities,
        decisions,
        (
            score_of("This model", probabilities, decisions, codes),
            majority_score(codes, len(classes)),
            *given_scores(given.baselines, given.scores_elsewhere()),
        ),
        model_calibration(probabilities, decisions, codes),
        tuple(_sides(classifier, [replace(item, features=features) for item in polytopes], rows, codes, classes)),
        tuple(classifier.diagnostics()) if classifier.inference_ == "gibbs" else (),
        None if has_draws else _agreement(classifier.posterior_, rows),
        _n_outside(rows, features),
        raw_columns(given, features, rows),
        overlap,
        _on_new_rows(overlap, probabilities, decisions, codes),
        held_out_scores(given.held_out),
    )


def _on_new_rows(
    overlap: Overlap | None, probabilities: FloatArray, decisions: NDArray[np.intp], codes: NDArray[np.intp]
) -> tuple[Score, Score] | None:
    """Scores of the model and of the majority vote on the rows that are not training rows, if some are."""
    if overlap is None or not overlap.has_training_rows or overlap.is_known is None or overlap.is_whole:
        return None
    new = ~overlap.is_known
    own = score_of("This model, on new rows", probabilities[new], decisions[new], codes[new])
    return own, majority_score(codes[new], probabilities.shape[1])


def _named(features: Features, names: Sequence[str] | None) -> Features:
    """The features under the names that the user wants to read."""
    if names is None:
        return features
    if isinstance(names, str) or len(names) != len(features.names):
        raise ValueError(f"feature_names must name the {len(features.names)} features of the model; got {names!r}.")
    return replace(features, names=tuple(str(name) for name in names))


def _sides(
    classifier: Any, polytopes: list[LabelingPolytopes], rows: Any, codes: NDArray[np.intp], classes: tuple[str, ...]
) -> list[Side]:
    """One per labeling and class, in the order of `polytopes`."""
    sides = []
    numbered = [
        (number, side, labeling)
        for number, regression in enumerate(classifier.posterior_.regressions)
        for side, labeling in enumerate(regression.labelings)
    ]
    for item, (number, side, posterior) in zip(polytopes, numbered, strict=True):
        # Of two classes, the one regression is about the second.
        code = 1 if len(classes) == 2 else number
        is_target = (codes == code) != bool(side)
        rules = _rules(item, rows, is_target)
        draws = posterior.draws
        sides.append(Side(str(item.target), item, posterior, rules, draws.n_active, weight_bands(draws)))
    return sides


def _rules(item: LabelingPolytopes, rows: Any, is_target: BoolArray) -> tuple[Rule, ...]:
    """The regions of the heaviest experts."""
    voted = zip(item.regions, item.votes(rows), strict=True)
    return tuple(
        Rule(region, int(votes.sum()), int((votes & is_target).sum())) for region, votes in islice(voted, MAX_RULES)
    )


def weight_bands(draws: Draws) -> FloatArray:
    """Low, median and high of the sorted weights over draws, (ranks, 3): experts have no identity, ranks have."""
    table = np.zeros((len(draws), max(int(draws.n_active.max(initial=0)), 1)))
    for number, (start, stop) in enumerate(zip(draws.starts, draws.starts[1:], strict=False)):
        own = draws.expert_weights[start:stop][draws.is_active[start:stop]]
        table[number, : len(own)] = np.sort(own)[::-1]
    tail = 0.5 * (1.0 - LEVEL)
    return np.quantile(table[:, :MAX_WEIGHTS], [tail, 0.5, 1.0 - tail], axis=0).T


def _agreement(posterior: Posterior, rows: Any) -> Agreement:
    """Compare modes on the test rows, evenly chosen if there are many."""
    chosen = np.unique(np.linspace(0, rows.shape[0] - 1, min(rows.shape[0], MAX_ROWS_COMPARED)).astype(np.intp))
    probabilities = draw_probabilities(posterior, rows[chosen])
    decided = probabilities.argmax(axis=2)
    spread = (probabilities.max(axis=0) - probabilities.min(axis=0)).max(axis=1)
    return Agreement(len(probabilities), float((decided == decided[0]).all(axis=0).mean()), float(spread.mean()))


def draw_probabilities(posterior: Posterior, rows: Any) -> FloatArray:
    """Probabilities of all classes by every draw or mode, (draws, rows, classes)."""
    positive = np.stack([item.probability_draws(rows) for item in posterior.regressions])
    if len(positive) == 1:
        return np.stack([1.0 - positive[0], positive[0]], axis=2)
    return np.moveaxis(combined(positive, 1.0 - positive), 0, -1)


def _n_outside(rows: Any, features: Features) -> int:
    """Rows with a feature beyond the range of the training rows, by more than rounding."""
    slack = 1e-9 * (features.upper - features.lower)
    n_outside = 0
    # In blocks, so that sparse rows need little room.
    for start in range(0, rows.shape[0], 1000):
        block = dense(rows[start : start + 1000])
        is_out = (block < features.lower - slack) | (block > features.upper + slack)
        n_outside += int(is_out.any(axis=1).sum())
    return n_outside


def dense(rows: Any) -> FloatArray:
    """Rows as an array."""
    found: Any = rows
    return np.asarray(found.toarray() if sparse.issparse(rows) else found)
