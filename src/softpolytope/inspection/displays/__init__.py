"""Pictures of a fitted model, in the style of scikit-learn's displays; they need matplotlib (the extra `plots`)."""

from softpolytope.inspection.displays.decision import DecisionDisplay
from softpolytope.inspection.displays.expert_weights import ExpertWeightsDisplay
from softpolytope.inspection.displays.explained import explanation_plane
from softpolytope.inspection.displays.latent_counts import LatentCountsDisplay
from softpolytope.inspection.displays.log_likelihood import LogLikelihoodDisplay
from softpolytope.inspection.displays.plane import Plane
from softpolytope.inspection.displays.reliability import ReliabilityDisplay

__all__ = [
    "DecisionDisplay",
    "ExpertWeightsDisplay",
    "LatentCountsDisplay",
    "LogLikelihoodDisplay",
    "Plane",
    "ReliabilityDisplay",
    "explanation_plane",
]
