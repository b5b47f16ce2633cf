"""The polytopes of a fitted model, for a person to read: half-spaces, what they imply, who votes yes where."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.geometry._bounds import criterion_offsets, needed_rate
from softpolytope.geometry._faces import Box, Faces, bounding_faces
from softpolytope.geometry._features import inequality
from softpolytope.geometry._polytope import Polytope
from softpolytope.geometry._regions import log_contributions
from softpolytope.geometry._votes import n_criteria_met
from softpolytope.geometry._wording import counted
from softpolytope.model import Draws, Features

ONE_LAYER = (
    "Where an expert votes yes, P({target}) > {threshold:g} for certain; so all x with P({target}) <= {threshold:g} "
    "are inside the polytope on which every expert votes no (theorem 2). Where none votes yes, P({target}) is at most "
    "{most:.3g}."
)
LAYERS = (
    "Every expert votes yes on a convex region, and P({target}) > {threshold:g} for certain on the union of these "
    "regions (theorem 5). Within the range of the training rows, an expert votes yes only where all half-spaces named "
    "hold; its region has rounded corners inside them. Where none votes yes, P({target}) is at most {most:.3g}."
)
TOO_WEAK = "too weak to vote yes anywhere in range"
ONE_SIDE = " P is that of this labeling alone; the model averages it with that of the opposite labeling."


@dataclass(frozen=True, slots=True, repr=False)
class ExpertRegion:
    """Where one expert, alone, lifts P over the threshold."""

    expert: int  # its number: from one, in order of weight; at index `expert - 1` of `coefficients_` and of votes
    weight: float
    coefficients: FloatArray  # (layers, 1 + features), the intercept first
    threshold: float
    features: Features

    @property
    def normals(self) -> FloatArray:
        """Normals of the layers' hyperplanes, (layers, features)."""
        return np.asarray(self.coefficients[:, 1:])

    @property
    def offsets(self) -> FloatArray:
        """What normal . x must pass to meet each layer's criterion, (layers,); inf if no x can (eq. 21).

        With one layer this is exact: the expert votes yes where normal . x > offset. With more it is the paper's rough
        guide; `faces` are certain.
        """
        return np.asarray(self._criteria() - self.coefficients[:, 0])

    def _criteria(self) -> FloatArray:
        return np.asarray(criterion_offsets([self.weight], self.threshold, len(self.coefficients))[0])

    @property
    def log_needed(self) -> float:
        """log q at which the expert reaches the threshold alone; inf without weight."""
        with np.errstate(divide="ignore"):
            return float(np.log(needed_rate(self.threshold)) - np.log(self.weight))

    def faces(self, within: Box | None = None) -> Faces:
        """Half-spaces that all hold wherever the expert votes yes within a box, by default the training rows' range."""
        if not np.isfinite(self.log_needed):
            return Faces(np.empty((0, len(self.features.names))), np.empty(0), is_empty=True)
        return bounding_faces(
            self.coefficients, self.log_needed, within or Box(self.features.lower, self.features.upper)
        )

    def __repr__(self) -> str:
        return f"<Region of expert {self.expert}, weight {self.weight:.2g}; print it to read it>"

    def __str__(self) -> str:
        return self.in_words()

    def in_words(self, within: Box | None = None, most_terms: int = 5) -> str:
        """One line."""
        start = f"Expert {self.expert}, weight {self.weight:.2g}:"
        faces = self.faces(within)
        if faces.is_empty:
            return f"{start} {TOO_WEAK}"
        if not len(faces.offsets):
            return f"{start} yes nearly everywhere in range"
        sides = [
            inequality(normal, offset, self.features, most_terms)
            for normal, offset in zip(faces.normals, faces.offsets, strict=True)
        ]
        return f"{start} yes {'where' if len(self.coefficients) == 1 else 'only where'} {', and '.join(sides)}"


@dataclass(frozen=True, slots=True, repr=False)
class LabelingPolytopes:
    """The regions of all experts of one labeling, by the best draw."""

    target: Any  # the class these experts vote for
    labeling: int
    threshold: float
    draw: Draws  # its experts in order of weight
    features: Features
    is_one_of_two: bool  # whether the model averages with the opposite labeling

    def __post_init__(self) -> None:
        object.__setattr__(self, "draw", self.draw.by_weight())

    @property
    def regions(self) -> list[ExpertRegion]:
        """One per expert, the heaviest first."""
        experts = zip(self.draw.expert_weights, self.draw.coefficients, strict=True)
        return [
            ExpertRegion(number, float(weight), coefficients, self.threshold, self.features)
            for number, (weight, coefficients) in enumerate(experts, 1)
        ]

    @property
    def n_layers(self) -> int:
        """Hyperplanes of each expert."""
        return int(self.draw.coefficients.shape[1])

    @property
    def theorem(self) -> str:
        """What the half-spaces imply for the probability."""
        n_experts = len(self.draw.expert_weights)
        most = -np.expm1(n_experts * np.log1p(-self.threshold))
        text = ONE_LAYER if self.n_layers == 1 else LAYERS
        told = text.format(target=repr(self.target), threshold=self.threshold, most=most)
        return told + ONE_SIDE if self.is_one_of_two else told

    def votes(self, X: Any) -> BoolArray:
        """Whether each expert votes yes, (experts, rows), the heaviest expert first."""
        return np.asarray(log_contributions(self.draw, X) > np.log(needed_rate(self.threshold)))

    def n_yes(self, X: Any) -> NDArray[np.intp]:
        """Experts that vote yes at each row: violated inequalities of theorem 2, satisfied ones of theorem 5."""
        return np.asarray(self.votes(X).sum(axis=0))

    def n_criteria_met(self, X: Any) -> NDArray[np.intp]:
        """Criteria of eq. 21 met at each row, by expert (experts, rows), the heaviest first."""
        return n_criteria_met(self.draw, X, self.threshold)

    def bounding_polytope(self) -> Polytope:
        """The polytope that holds all x with P <= threshold under this labeling; for models of one layer.

        `is_empty`, `is_bounded`, `without_redundant` and `corners` tell more of it.
        """
        if self.n_layers > 1:
            raise ValueError(
                f"experts of {self.n_layers} layers vote yes inside convex regions, so what they leave is no polytope; "
                "each region has its own bounds: regions[k].faces()."
            )
        offsets = np.array([region.offsets[0] for region in self.regions])
        normals = np.array([region.normals[0] for region in self.regions])
        return Polytope(normals.reshape(-1, len(self.features.names)), offsets)

    def __repr__(self) -> str:
        n_experts = counted(len(self.draw.expert_weights), "expert")
        return f"<Polytopes of {n_experts} for class {self.target!r}; print it to read it>"

    def __str__(self) -> str:
        return self.in_words()

    def in_words(self, most_terms: int = 5) -> str:
        """A paragraph and one line per expert."""
        head = f"Class {self.target!r}, labeling {self.labeling}. {self.theorem}"
        said = [region.in_words(most_terms=most_terms) for region in self.regions]
        lines = [f"  {line}" for line in said if TOO_WEAK not in line]
        n_weak = len(said) - len(lines)
        if n_weak:
            lines.append(f"  {n_weak} {'expert is' if n_weak == 1 else 'experts are'} {TOO_WEAK}")
        return "\n".join([head, *lines])


@dataclass(frozen=True, slots=True, repr=False)
class Polytopes:
    """All polytopes of a model: those of each labeling (and class)."""

    labelings: tuple[LabelingPolytopes, ...]

    def __iter__(self) -> Iterator[LabelingPolytopes]:
        return iter(self.labelings)

    def __len__(self) -> int:
        return len(self.labelings)

    def __getitem__(self, index: int) -> LabelingPolytopes:
        return self.labelings[index]

    def __repr__(self) -> str:
        return f"<Polytopes of {counted(len(self), 'labeling')}; print it to read it>"

    def __str__(self) -> str:
        return "\n".join(item.in_words() for item in self.labelings)
