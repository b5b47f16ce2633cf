"""Plots of a fitted model, in the style of scikit-learn's displays.

Each class has `from_estimator`, which computes what is drawn, and `plot`, which draws it on given axes or on new ones.
They need matplotlib (the extra `plots`), which is imported only when something is drawn.
"""

from softpolytope.inspection.displays._decision import DecisionDisplay
from softpolytope.inspection.displays._expert_weights import ExpertWeightsDisplay
from softpolytope.inspection.displays._explanation_plane import explanation_plane
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
