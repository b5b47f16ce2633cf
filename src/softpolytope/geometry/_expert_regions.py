"""Polytopes of a fitted model for people to read: half-spaces, what they imply, and votes at rows."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from softpolytope._deprecation import accept_old_keyword
from softpolytope._format import format_count
from softpolytope._typing import BoolArray, FloatArray, IndexArray
from softpolytope.geometry._faces import Box, Faces, bounding_faces
from softpolytope.geometry._half_spaces import (
    criterion_offsets,
    inequality,
    log_contributions,
    n_criteria_met,
    needed_rate,
    validate_probability,
)
from softpolytope.geometry._polytope import Polytope
from softpolytope.geometry._row_results import Table, as_table
from softpolytope.geometry._support import representatives_in_words, rule_support
from softpolytope.model import Design, Draws, Features, FittedModel

ONE_LAYER = (
    "Wherever an expert votes yes, P({target}) > {threshold:g} is guaranteed, so every x with P({target}) <= "
    "{threshold:g} lies inside the polytope on which all experts vote no (theorem 2). Where no expert votes yes, "
    "P({target}) is at most {largest:.3g}."
)
LAYERS = (
    "Each expert votes yes on a convex region, and P({target}) > {threshold:g} is guaranteed on the union of these "
    "regions (theorem 5). Within the range of the training data, an expert votes yes only where all of its half-spaces "
    "listed below hold; inside them its region has rounded corners. Where no expert votes yes, P({target}) is at most "
    "{largest:.3g}."
)
TOO_WEAK = "too weak to vote yes anywhere in the range of the training data"
ONE_SIDE = " P refers to this labeling alone; the model averages it with that of the opposite labeling."


@dataclass(frozen=True, slots=True, repr=False)
class ExpertRegion:
    """Region where one expert alone lifts P above the threshold."""

    expert: int  # its number: from one, in order of weight; at index `expert - 1` of `coefficients_` and of votes
    weight: float
    coefficients: FloatArray  # (layers, 1 + features), the intercept first
    threshold: float
    features: Features
    support: float = np.nan  # share of the members or draws that have such a region; NaN if it is not known

    @property
    def normals(self) -> FloatArray:
        """Normals of the layers' hyperplanes, (layers, features)."""
        return np.asarray(self.coefficients[:, 1:])

    @property
    def offsets(self) -> FloatArray:
        """Value that normal . x must exceed to meet each layer's criterion, (layers,); inf if no x can (eq. 21).

        With one layer this is exact: the expert votes yes where normal . x > offset. With more it is the paper's rough
        guide; `faces` are guaranteed.
        """
        criteria = criterion_offsets([self.weight], self.threshold, len(self.coefficients))[0]
        return np.asarray(criteria - self.coefficients[:, 0])

    @property
    def log_needed(self) -> float:
        """log q at which the expert alone reaches the threshold; inf without weight."""
        with np.errstate(divide="ignore"):
            return float(np.log(needed_rate(self.threshold)) - np.log(self.weight))

    def faces(self, within: Box | None = None) -> Faces:
        """Return half-spaces that hold wherever the expert votes yes in a box, by default the training rows' range."""
        if not np.isfinite(self.log_needed):
            return Faces(np.empty((0, len(self.features.names))), np.empty(0), is_empty=True)
        return bounding_faces(
            self.coefficients, self.log_needed, within or Box(self.features.lower, self.features.upper)
        )

    def __repr__(self) -> str:
        return f"<Region of expert {self.expert}, weight {self.weight:.2g}; print it to read it>"

    def __str__(self) -> str:
        return self.in_words()

    @accept_old_keyword("most_terms", "max_terms")
    def in_words(self, within: Box | None = None, max_terms: int = 5) -> str:
        """Describe the region in one line."""
        support = "" if np.isnan(self.support) else f", support {100.0 * self.support:.0f} %"
        start = f"Expert {self.expert}, weight {self.weight:.2g}{support}:"
        faces = self.faces(within)
        if faces.is_empty:
            return f"{start} {TOO_WEAK}"
        if not len(faces.offsets):
            return f"{start} votes yes nearly everywhere in the range of the training data"
        sides = [
            inequality(normal, offset, self.features, max_terms)
            for normal, offset in zip(faces.normals, faces.offsets, strict=True)
        ]
        return f"{start} votes yes {'where' if len(self.coefficients) == 1 else 'only where'} {' and '.join(sides)}"


@dataclass(frozen=True, slots=True, repr=False)
class LabelingPolytopes:
    """Regions of all experts of one labeling, by the best draw or the representative of all members."""

    target: object  # the class these experts vote for
    labeling: int
    threshold: float
    draw: Draws  # its experts in order of weight
    features: Features
    is_one_of_two: bool  # whether the model averages with the opposite labeling
    support: FloatArray | None = None  # (experts,), of each rule in the order of the weights; None if not known

    def __post_init__(self) -> None:
        object.__setattr__(self, "draw", self.draw.by_weight())

    @property
    def regions(self) -> list[ExpertRegion]:
        """Regions of the experts, in order of decreasing weight."""
        n_experts = len(self.draw.expert_weights)
        support = np.full(n_experts, np.nan) if self.support is None else self.support
        experts = zip(self.draw.expert_weights, self.draw.coefficients, support.tolist(), strict=True)
        return [
            ExpertRegion(number, float(weight), coefficients, self.threshold, self.features, share)
            for number, (weight, coefficients, share) in enumerate(experts, 1)
        ]

    @property
    def n_layers(self) -> int:
        """Number of hyperplanes of each expert."""
        return int(self.draw.coefficients.shape[1])

    @property
    def theorem(self) -> str:
        """Statement of what the half-spaces imply for the probability."""
        n_experts = len(self.draw.expert_weights)
        largest = -np.expm1(n_experts * np.log1p(-self.threshold))
        text = ONE_LAYER if self.n_layers == 1 else LAYERS
        theorem = text.format(target=repr(self.target), threshold=self.threshold, largest=largest)
        return theorem + ONE_SIDE if self.is_one_of_two else theorem

    def votes(self, X: Design) -> BoolArray:
        """Return whether each expert votes yes, (experts, rows), in order of decreasing weight."""
        return np.asarray(log_contributions(self.draw, X) > np.log(needed_rate(self.threshold)))

    def n_yes(self, X: Design) -> IndexArray:
        """Count the experts that vote yes at each row, (rows,), as `n_yes` of one draw does."""
        return np.asarray(self.votes(X).sum(axis=0))

    def n_criteria_met(self, X: Design) -> IndexArray:
        """Count the criteria of eq. 21 met at each row, (experts, rows), in order of decreasing weight."""
        return n_criteria_met(self.draw, X, self.threshold)

    def bounding_polytope(self) -> Polytope:
        """Return the polytope that contains all x with P <= threshold under this labeling; for models of one layer.

        Its methods `is_empty`, `is_bounded`, `without_redundant` and `corners` describe it further.
        """
        if self.n_layers > 1:
            raise ValueError(
                f"bounding_polytope() requires a model with one layer, but this one has {self.n_layers}: its experts "
                "vote yes inside convex regions, whose complement is not a polytope. Use regions[k].faces() for the "
                "bounds of each region."
            )
        offsets = np.array([region.offsets[0] for region in self.regions])
        normals = np.array([region.normals[0] for region in self.regions])
        return Polytope(normals.reshape(-1, len(self.features.names)), offsets)

    def __repr__(self) -> str:
        n_experts = format_count(len(self.draw.expert_weights), "expert")
        return f"<Polytopes of {n_experts} for class {self.target!r}; print it to read it>"

    def __str__(self) -> str:
        return self.in_words()

    @accept_old_keyword("most_terms", "max_terms")
    def in_words(self, max_terms: int = 5) -> str:
        """Describe the regions in a paragraph and one line per expert."""
        head = f"Class {self.target!r}, labeling {self.labeling}. {self.theorem}"
        texts = [region.in_words(max_terms=max_terms) for region in self.regions]
        lines = [f"  {text}" for text in texts if TOO_WEAK not in text]
        n_weak = len(texts) - len(lines)
        if n_weak:
            lines.append(f"  {n_weak} {'expert is' if n_weak == 1 else 'experts are'} {TOO_WEAK}")
        return "\n".join([head, *lines])


@dataclass(frozen=True, slots=True, repr=False)
class Polytopes:
    """Polytopes of a model, one entry for each labeling (and class)."""

    labelings: tuple[LabelingPolytopes, ...]
    notes: tuple[str, ...] = ()  # how the rules of a representative agree with all members

    def __iter__(self) -> Iterator[LabelingPolytopes]:
        return iter(self.labelings)

    def __len__(self) -> int:
        return len(self.labelings)

    def __getitem__(self, index: int) -> LabelingPolytopes:
        return self.labelings[index]

    def __repr__(self) -> str:
        return f"<Polytopes of {format_count(len(self), 'labeling')}; print it to read it>"

    def __str__(self) -> str:
        return "\n".join([*self.notes, *(item.in_words() for item in self.labelings)])

    def table(self) -> Table:
        """Return one line per expert, as a pandas DataFrame or, without pandas, a NumPy structured array."""
        pairs = [(item, region) for item in self.labelings for region in item.regions]
        numbers = {name: [getattr(region, name) for _, region in pairs] for name in ("expert", "weight", "support")}
        targets = np.empty(len(pairs), dtype=object)
        targets[:] = [item.target for item, _ in pairs]
        texts = np.array([region.in_words().split(": ", 1)[1] for _, region in pairs], dtype=object)
        labelings = np.array([item.labeling for item, _ in pairs], dtype=np.intp)
        columns = {name: np.array(values) for name, values in numbers.items()}
        return as_table({"target": targets, "labeling": labelings, **columns, "region": texts})


def model_polytopes(model: FittedModel, threshold: float = 0.5, rows: Design | None = None) -> Polytopes:
    """Return the half-spaces of every expert of the best draws or representatives; given rows, with their support."""
    threshold = validate_probability("threshold", threshold)
    found = []
    for regression, targets in zip(model.posterior.regressions, model.targets, strict=True):
        for number, (labeling, target) in enumerate(zip(regression.labelings, targets, strict=False)):
            support = None
            if rows is not None and rows.shape[0] and model.has_posterior_spread:
                support = rule_support(labeling.best.by_weight(), labeling.draws, rows, threshold)
            is_one_of_two = len(regression.labelings) == 2
            found.append(
                LabelingPolytopes(target, number, threshold, labeling.best, model.features, is_one_of_two, support)
            )
    return Polytopes(tuple(found), tuple(representatives_in_words(model)))
