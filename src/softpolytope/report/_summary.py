"""Summary of a fitted model and labeled rows: everything that text, charts and data of the page are made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from softpolytope._typing import BoolArray, FloatArray, IndexArray
from softpolytope.data import validate_rows
from softpolytope.geometry import ExpertRegion, LabelingPolytopes, model_polytopes, representatives_in_words
from softpolytope.inspection import (
    Diagnosis,
    MemberDiagnosis,
    Overlap,
    diagnose_members,
    diagnose_model,
    has_probes,
    overlap_with_training,
)
from softpolytope.model import (
    Design,
    Draws,
    Features,
    FittedClassifier,
    FittedModel,
    LabelingPosterior,
    Posterior,
    draw_quantiles,
    fitted_model,
)
from softpolytope.report._scores import (
    LEVEL,
    Calibration,
    Score,
    ScoreTable,
    read_held_out,
    read_scores,
    score_majority_vote,
    score_predictions,
)

# Probability threshold of the rules.
THRESHOLD = 0.5
# Rules listed per labeling; finding the faces of each takes time.
MAX_RULES = 12
# Sorted weights shown per labeling.
MAX_WEIGHTS = 20
# Rows on which modes are compared.
MAX_ROWS_COMPARED = 5000

RawColumn = tuple[str, NDArray[np.object_]]


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """Optional arguments of `write_report`."""

    title: str | None = None
    feature_names: Sequence[str] | None = None
    baselines: ScoreTable | None = None
    reference_scores: ScoreTable | None = None
    held_out: ScoreTable | None = None
    raw_columns: Sequence[str] | None = None
    raw_rows: ArrayLike | None = None

    @property
    def all_reference_scores(self) -> dict[str, Mapping[str, float]]:
        """Scores measured on other rows, those of held-out rows last."""
        held_out = {f"{name}, on held-out rows": scores for name, scores in (self.held_out or {}).items()}
        return {**(self.reference_scores or {}), **held_out}


@dataclass(frozen=True, slots=True)
class Rule:
    """Region of one expert with its votes on the rows of the report."""

    region: ExpertRegion
    n_yes: int  # rows it votes yes for
    n_right: int  # rows among them that are of its target class


@dataclass(frozen=True, slots=True)
class LabelingSummary:
    """Experts of one labeling (of one class), all of which vote for the same target."""

    target: str
    polytopes: LabelingPolytopes
    posterior: LabelingPosterior
    rules: tuple[Rule, ...]
    weight_bands: FloatArray  # (ranks, 3): low, median and high of the sorted weights over draws

    @property
    def n_experts(self) -> int:
        """Number of experts of the best draw."""
        return len(self.posterior.best.expert_weights)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of plain modes on the rows of the report."""

    n_modes: int
    same_decision: float  # share of rows for which all modes predict the same class
    mean_spread: float  # mean over rows of the range of probabilities


@dataclass(frozen=True, slots=True)
class Summary:
    """Everything the page is made from."""

    title: str
    model: FittedModel  # its features have the names to show
    X: Design
    codes: IndexArray  # (rows,), labels
    probabilities: FloatArray  # (rows, classes)
    decisions: IndexArray  # (rows,)
    scores: tuple[Score, ...]  # the model, the majority vote, then those given
    calibration: Calibration
    labelings: tuple[LabelingSummary, ...]
    notes: tuple[str, ...]  # how the rules of representatives agree with all members
    diagnoses: tuple[Diagnosis, ...]  # of chains
    member_diagnoses: tuple[MemberDiagnosis, ...]  # of members of a bootstrap
    agreement: Agreement | None  # of plain modes
    n_outside: int  # rows with a feature outside the range of the training rows
    raw: tuple[RawColumn, ...]  # columns as the user knows them; empty if these are the features
    overlap: Overlap | None  # with the training rows; None if these are unknown
    new_row_scores: tuple[Score, Score] | None  # model and majority vote, if only some rows were trained on
    held_out: tuple[Score, Score | None] | None  # the same pair for rows held out during the fit

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""
        return tuple(str(name) for name in self.model.classes.tolist())

    @property
    def has_training_rows(self) -> bool:
        """Whether scores on these rows differ from scores on new rows because of training rows among them."""
        return self.overlap is not None and self.overlap.has_training_rows

    @property
    def row_noun(self) -> str:
        """Noun for a row of the report."""
        if self.overlap is None or not self.overlap.has_training_rows:
            return "test row"
        return "training row" if self.overlap.is_whole else "row"

    @property
    def draw_noun(self) -> str:
        """Noun for one set of parameters: a draw, a mode, or a member of a bootstrap."""
        if self.model.is_bootstrap:
            return "member"
        return "mode" if self.model.inference == "map" else "draw"

    @property
    def averages_log_odds(self) -> bool:
        """Whether the log odds of all draws are averaged, not their probabilities."""
        return self.model.posterior.regressions[0].pool == "logarithmic"

    @property
    def best_noun(self) -> str:
        """Noun for the set of parameters whose experts are shown."""
        return "representative" if self.model.is_bootstrap else f"best {self.draw_noun}"

    @property
    def n_new_rows(self) -> int:
        """Number of rows that the model was not trained on, if they are known one by one."""
        return 0 if self.overlap is None or self.overlap.is_known is None else int((~self.overlap.is_known).sum())

    @property
    def is_wrong(self) -> BoolArray:
        """Whether each row is misclassified."""
        return np.asarray(self.decisions != self.codes)

    @property
    def n_draws(self) -> int:
        """Number of draws or modes of each labeling that predictions average over."""
        return 1 if self.model.estimate == "best" else len(self.model.labelings[0].draws)

    @property
    def n_layers(self) -> int:
        """Number of hyperplanes of each expert."""
        return self.labelings[0].polytopes.n_layers

    @property
    def n_experts(self) -> int:
        """Number of experts of the best draws."""
        return sum(labeling.n_experts for labeling in self.labelings)


def summarize_model(classifier: FittedClassifier, X: ArrayLike, y: ArrayLike, options: ReportOptions) -> Summary:
    """Summarize a fitted classifier and its predictions for labeled rows."""
    model = fitted_model(classifier, "write_report")
    model = replace(model, features=_rename(model.features, options.feature_names))
    rows = validate_rows(classifier, X)
    codes = model.encode_labels(y, rows.shape[0])
    # The rows as they were given: scikit-learn warns if their column names are missing.
    probabilities = classifier.predict_proba(X)
    decisions = np.searchsorted(model.classes, classifier.predict(X))
    n_classes = len(model.classes)
    overlap = overlap_with_training(classifier, X)
    new_row_scores = None
    if overlap is not None and overlap.has_training_rows and not overlap.is_whole and overlap.is_known is not None:
        new = ~overlap.is_known
        own = score_predictions(probabilities[new], codes[new], decisions[new], "This model, on new rows")
        new_row_scores = own, score_majority_vote(codes[new], n_classes)
    return Summary(
        title=f"Report on a {model.name}" if options.title is None else str(options.title),
        model=model,
        X=rows,
        codes=codes,
        probabilities=probabilities,
        decisions=decisions,
        scores=(
            score_predictions(probabilities, codes, decisions),
            score_majority_vote(codes, n_classes),
            *read_scores(options.baselines, options.all_reference_scores),
        ),
        calibration=Calibration.from_predictions(probabilities, decisions, codes),
        labelings=tuple(_summarize_labelings(model, rows, codes)),
        notes=tuple(representatives_in_words(model)),
        diagnoses=tuple(diagnose_model(model)) if model.inference == "gibbs" else (),
        member_diagnoses=tuple(diagnose_members(model)) if model.is_bootstrap and has_probes(model) else (),
        agreement=None if model.has_posterior_spread else _compare_modes(model.posterior, rows),
        n_outside=_count_outside(rows, model.features),
        raw=_raw_columns(options, model.features, rows.shape[0]),
        overlap=overlap,
        new_row_scores=new_row_scores,
        held_out=read_held_out(options.held_out),
    )


def _rename(features: Features, names: Sequence[str] | None) -> Features:
    if names is None:
        return features
    if isinstance(names, str) or len(names) != len(features.names):
        raise ValueError(f"feature_names must name the {len(features.names)} features of the model; got {names!r}.")
    return replace(features, names=tuple(str(name) for name in names))


def _raw_columns(options: ReportOptions, features: Features, n_rows: int) -> tuple[RawColumn, ...]:
    if options.raw_rows is None:
        if options.raw_columns is not None:
            raise ValueError(
                "raw_columns names the columns of raw_rows, but raw_rows is missing. Pass both or neither."
            )
        return ()
    table = np.asarray(options.raw_rows, dtype=object)
    if table.ndim != 2 or table.shape[0] != n_rows:
        raise ValueError(f"raw_rows must have one row for each of the {n_rows} rows of X; got shape {table.shape}.")
    names = features.names if options.raw_columns is None else tuple(str(name) for name in options.raw_columns)
    if len(names) != table.shape[1]:
        raise ValueError(f"raw_columns must name the {table.shape[1]} columns of raw_rows; got {len(names)} names.")
    return tuple(zip(names, table.T, strict=True))


def _summarize_labelings(model: FittedModel, rows: Design, codes: IndexArray) -> list[LabelingSummary]:
    """Summarize the labelings, regression after regression."""
    regressions = enumerate(model.posterior.regressions)
    numbers = [number for number, regression in regressions for _ in regression.labelings]
    found = []
    all_polytopes = model_polytopes(model, THRESHOLD, rows)
    for number, polytopes, posterior in zip(numbers, all_polytopes, model.labelings, strict=True):
        # With two classes, the only regression is that of the second.
        is_target = (codes == (1 if len(model.classes) == 2 else number)) != bool(polytopes.labeling)
        voted = islice(zip(polytopes.regions, polytopes.votes(rows), strict=True), MAX_RULES)
        rules = tuple(Rule(region, int(votes.sum()), int((votes & is_target).sum())) for region, votes in voted)
        bands = weight_bands(posterior.draws)
        found.append(LabelingSummary(str(polytopes.target), polytopes, posterior, rules, bands))
    return found


def weight_bands(draws: Draws) -> FloatArray:
    """Return low, median and high of the sorted weights over draws, (ranks, 3).

    Experts are not matched between draws, so their weights are compared by rank.
    """
    table = np.zeros((len(draws), max(int(draws.n_active.max(initial=0)), 1)))
    for number, (start, stop) in enumerate(zip(draws.starts, draws.starts[1:], strict=False)):
        own = draws.expert_weights[start:stop][draws.is_active[start:stop]]
        table[number, : len(own)] = np.sort(own)[::-1]
    tail = 0.5 * (1.0 - LEVEL)
    return draw_quantiles(table[:, :MAX_WEIGHTS], [tail, 0.5, 1.0 - tail]).T


def draw_probabilities(posterior: Posterior, rows: Design) -> FloatArray:
    """Return the probabilities of all classes by draw, (draws, rows, classes)."""
    found = posterior.class_probability_draws(rows)
    return found if found.ndim == 3 else np.stack([1.0 - found, found], axis=2)


def _compare_modes(posterior: Posterior, rows: Design) -> Agreement:
    """Compare the modes of both labelings on the rows, or on evenly spaced ones if there are many."""
    n_rows = rows.shape[0]
    chosen = np.unique(np.linspace(0, n_rows - 1, min(n_rows, MAX_ROWS_COMPARED)).astype(np.intp))
    probabilities = draw_probabilities(posterior, rows[chosen])
    decided = probabilities.argmax(axis=2)
    spread = (probabilities.max(axis=0) - probabilities.min(axis=0)).max(axis=1)
    return Agreement(len(probabilities), float((decided == decided[0]).all(axis=0).mean()), float(spread.mean()))


def _count_outside(rows: Design, features: Features) -> int:
    """Count rows with a feature outside the range of the training rows by more than rounding."""
    slack = 1e-9 * (features.upper - features.lower)
    n_outside = 0
    # In blocks, so that sparse rows need little memory.
    for start in range(0, rows.shape[0], 1000):
        block = to_dense(rows[start : start + 1000])
        is_out = (block < features.lower - slack) | (block > features.upper + slack)
        n_outside += int(is_out.any(axis=1).sum())
    return n_outside


def to_dense(rows: Design) -> FloatArray:
    """Return dense or sparse rows as an array."""
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows)
