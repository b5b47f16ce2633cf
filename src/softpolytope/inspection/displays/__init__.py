"""Pictures of a fitted model, in the style of scikit-learn's displays; they need matplotlib (the extra `plots`)."""

from softpolytope.inspection.displays._decision import DecisionDisplay
from softpolytope.inspection.displays._expert_weights import ExpertWeightsDisplay
from softpolytope.inspection.displays._explained import explanation_plane
from softpolytope.inspection.displays._latent_counts import LatentCountsDisplay
from softpolytope.inspection.displays._log_likelihood import LogLikelihoodDisplay
from softpolytope.inspection.displays._plane import Plane
from softpolytope.inspection.displays._reliability import ReliabilityDisplay

__all__ = [
    "DecisionDisplay",
    "ExpertWeightsDisplay",
    "LatentCountsDisplay",
    "LogLikelihoodDisplay",
    "Plane",
    "ReliabilityDisplay",
    "explanation_plane",
]
