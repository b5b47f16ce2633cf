"""Diagnostics of chains and members, uncertainty and its parts, rows to label next, and the posterior for ArviZ.

Functions here take draws or a fitted model and return numbers or text. Pictures are in `inspection.displays`, which
needs matplotlib.
"""

from softpolytope.inspection._bald import is_sampled, select_bald
from softpolytope.inspection._datatree import to_datatree
from softpolytope.inspection._diagnostics import (
    MAX_R_HAT,
    PROBABILITY,
    Diagnosis,
    diagnose,
    diagnose_model,
    disagreement,
    in_words,
    n_draws_needed,
)
from softpolytope.inspection._epig import select_epig
from softpolytope.inspection._member_diagnostics import (
    MemberDiagnosis,
    diagnose_members,
    diagnose_row,
    has_probes,
    members_in_words,
    quantile_error,
)
from softpolytope.inspection._prior_draws import sample_prior
from softpolytope.inspection._training_rows import Overlap, overlap_with_training
from softpolytope.inspection._uncertainty import Uncertainty, check_number, uncertainty_from_draws

__all__ = [
    "MAX_R_HAT",
    "PROBABILITY",
    "Diagnosis",
    "MemberDiagnosis",
    "Overlap",
    "Uncertainty",
    "check_number",
    "diagnose",
    "diagnose_members",
    "diagnose_model",
    "diagnose_row",
    "disagreement",
    "has_probes",
    "in_words",
    "is_sampled",
    "members_in_words",
    "n_draws_needed",
    "overlap_with_training",
    "quantile_error",
    "sample_prior",
    "select_bald",
    "select_epig",
    "to_datatree",
    "uncertainty_from_draws",
]
