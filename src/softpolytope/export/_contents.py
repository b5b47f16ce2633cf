"""Sizes of exports, and how their predictions compare with those of the full model."""

import math
from dataclasses import dataclass
from typing import Literal, Self

from softpolytope._format import format_count
from softpolytope.model import Estimate, FittedModel, Pool

_NOUNS = {"bootstrap": "bootstrapped mode", "gibbs": "posterior draw", "map": "posterior mode"}
_POOLS: dict[Pool, str] = {"linear": "probabilities", "logarithmic": "log odds"}


@dataclass(frozen=True, slots=True)
class ExportContents:
    """Size of an export and its agreement with the full model, as text in SQL and source files.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from softpolytope import SumSoftplusClassifier
    >>> from softpolytope.export import ExportContents
    >>> model = SumSoftplusClassifier(n_members=4, random_state=0).fit(*make_moons(200, random_state=0))
    >>> contents = ExportContents.from_model(model.model_)
    >>> contents.estimate, contents.n_draws, contents.pool
    ('mean', 4, 'logarithmic')
    """

    estimate: Estimate
    inference: Literal["bootstrap", "gibbs", "map"]
    pool: Pool
    n_regressions: int
    n_draws: int  # in the export, by regression, of both labelings
    n_draws_of_model: int  # likewise, with estimate="mean"
    n_experts: int  # of all draws
    n_layers: int
    agreement: float | None  # smallest of all regressions: the share of held-out rows that are decided as by the model

    @classmethod
    def from_model(cls, model: FittedModel) -> Self:
        """Return the contents of exports of a model with its estimate."""
        regressions = model.posterior.regressions
        first = regressions[0]
        draws = [labeling.select_draws(model.estimate) for labeling in model.labelings]
        shares = [regression.agreement for regression in regressions]
        known = [share for share in shares if share is not None]
        agreement = 1.0 if model.estimate == "mean" else min(known) if len(known) == len(shares) else None
        return cls(
            estimate=model.estimate,
            inference="bootstrap" if model.is_bootstrap else model.inference,
            pool=first.pool,
            n_regressions=len(regressions),
            n_draws=sum(len(item) for item in draws[: len(first.labelings)]),
            n_draws_of_model=first.n_draws,
            n_experts=sum(len(item.expert_weights) for item in draws),
            n_layers=draws[0].coefficients.shape[1],
            agreement=agreement,
        )

    def __str__(self) -> str:
        count = format_count(self.n_draws_of_model, _NOUNS[self.inference])
        each = " per class" if self.n_regressions > 1 else ""
        planes = format_count(self.n_experts * self.n_layers, "hyperplane")
        size = f"{format_count(self.n_experts, 'expert')}, {planes}"
        if self.estimate == "mean":
            return f"{count}{each}, pooled by the mean of their {_POOLS[self.pool]}: {size}."
        kind = "Representative" if self.inference == "bootstrap" else "Best"
        own = format_count(self.n_draws, "draw")
        return f"{kind} of {count}{each} ({own}{each}): {size}. {self._describe_agreement()}"

    def _describe_agreement(self) -> str:
        if self.agreement is None:
            return "Its agreement with the full model has not been measured."
        more = " or more" if self.n_regressions > 1 else ""
        each = ", for each class against the others" if self.n_regressions > 1 else ""
        # Rounded down, so that only complete agreement is 100 %.
        share = math.floor(1000.0 * self.agreement + 1e-9) / 10.0
        return f"It decides {share:.1f} %{more} of held-out rows as the full model does{each}."
