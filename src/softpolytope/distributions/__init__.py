"""Random laws of the model, and the named random streams they are drawn from.

Each law is drawn exactly or within a stated error, at a bounded cost, and comes with its exact moments or pmf. The
kernels are in `_kernels`; `_arguments` validates and broadcasts arguments for all of them.
"""

from softpolytope.distributions._arguments import Moments
from softpolytope.distributions._crt import crt, crt_moments, crt_pmf
from softpolytope.distributions._gamma import log_standard_gamma, log_standard_gamma_moments
from softpolytope.distributions._multinomial import split_counts, split_counts_moments
from softpolytope.distributions._polya_gamma import polya_gamma, polya_gamma_moments
from softpolytope.distributions._streams import Step, Streams, SweepStreams
from softpolytope.distributions._sum_log import sum_log, sum_log_moments, sum_log_pmf
from softpolytope.distributions._truncated_poisson import (
    truncated_poisson,
    truncated_poisson_moments,
    truncated_poisson_pmf,
)

__all__ = [
    "Moments",
    "Step",
    "Streams",
    "SweepStreams",
    "crt",
    "crt_moments",
    "crt_pmf",
    "log_standard_gamma",
    "log_standard_gamma_moments",
    "polya_gamma",
    "polya_gamma_moments",
    "split_counts",
    "split_counts_moments",
    "sum_log",
    "sum_log_moments",
    "sum_log_pmf",
    "truncated_poisson",
    "truncated_poisson_moments",
    "truncated_poisson_pmf",
]
