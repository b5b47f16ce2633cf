"""Explanations of rows: which experts vote yes, with what share, and the criterion each vote depends on."""

from dataclasses import dataclass
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from softpolytope._deprecation import accept_old_keyword
from softpolytope._format import format_count, format_deviations
from softpolytope._typing import FloatArray, IndexArray
from softpolytope.geometry._expert_regions import LabelingPolytopes, model_polytopes
from softpolytope.geometry._half_spaces import (
    linear_predictors,
    log_contributions_at,
    log_expm1_of_exp,
    n_yes,
    needed_rate,
    validate_probability,
)
from softpolytope.geometry._row_results import Columns, RowResults, Table, as_table, concatenate, select_rows
from softpolytope.model import Design, Draws, Features, FittedModel, central_interval, log_activations


def needed_predictors(predictors: FloatArray, expert_weights: FloatArray, threshold: float) -> FloatArray:
    """Return x'beta that each layer would need, given the others, for its expert to just reach the threshold.

    Takes and returns (experts, layers, rows). The predictors of an expert exceed what is needed in all layers, where it
    votes yes, or in none. With all predictors at zero these are the offsets of eq. 21.
    """
    levels = log_activations(predictors)
    needed = np.empty_like(predictors)
    with np.errstate(divide="ignore", over="ignore"):
        log_shares = np.log(needed_rate(threshold)) - np.log(np.asarray(expert_weights))
        log_share = np.broadcast_to(log_shares[:, None], predictors[:, 0].shape)
        for layer in reversed(range(predictors.shape[1])):
            logit = log_expm1_of_exp(log_share)
            needed[:, layer] = logit - levels[:, layer]
            log_share = logit - predictors[:, layer]
    return needed


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(RowResults):
    """Votes and shares of the experts at rows: two tables as dicts of columns, and text.

    Print it to read it. `explanation[i]` is the explanation of one row, `explanation[a:b]` that of several; they keep
    the numbers of their rows.

    `experts`: row, target (the class the expert votes for), labeling, expert (its number, from one in order of
    weight, as in `polytopes`), weight, rate (its r q), share (of lambda; the shares of a row and labeling add up to
    one), votes_yes, criterion (the number, from one, of the layer that the vote depends on: the one that would change
    it with the smallest move), margin_sd (how far the row is beyond that criterion, in standard deviations along the
    layer's normal; negative if the criterion is not met), feature (the one with the largest effect on the criterion)
    and change (by which that feature alone would bring the criterion to its limit, in the feature's own units).

    `rows`: row, target, labeling, rate (lambda), probability (by these experts), n_yes; with draws also rate_low,
    rate_high (central interval of lambda over draws), yes_share (of draws in which an expert votes yes).

    `switches` are features with two values, which cannot change by a little: the text does not name their changes.
    """

    experts: Columns
    rows: Columns
    threshold: float
    switches: frozenset[str] = frozenset()
    is_representative: bool = False  # whether the experts are those of a representative of several members

    def __len__(self) -> int:
        return len(self._numbers())

    def __getitem__(self, item: SupportsIndex | slice) -> "Explanation":
        numbers = self._numbers()[self._row_indices(item)]
        return Explanation(
            select_rows(self.experts, numbers),
            select_rows(self.rows, numbers),
            self.threshold,
            self.switches,
            self.is_representative,
        )

    def _numbers(self) -> IndexArray:
        """Return the numbers of the rows, in their order."""
        _, first = np.unique(self.rows["row"], return_index=True)
        return np.asarray(self.rows["row"][np.sort(first)])

    def table(self, of: Literal["experts", "rows"] = "experts") -> Table:
        """Return a table as a pandas DataFrame, or as a NumPy structured array if pandas is not installed."""
        if of not in ("experts", "rows"):
            raise ValueError(f'table() takes "experts" or "rows"; got {of!r}.')
        return as_table(self.experts if of == "experts" else self.rows)

    @accept_old_keyword("most_experts", "max_experts")
    def in_words(self, row: int = 0, max_experts: int = 3) -> str:
        """Describe one row in a few lines; raise IndexError if there is no such row."""
        part = self[row]
        lines = []
        for line, number in enumerate(part.rows["row"]):
            votes, *experts = part.votes_in_words(line, max_experts)
            target, labeling, probability = (part.rows[name][line] for name in ("target", "labeling", "probability"))
            lines.append(
                f"Row {number}, class {target!r}, labeling {labeling}: P = {probability:.3g}, {votes} "
                f"(a single yes vote implies P > {self.threshold:g})"
            )
            lines += [f"  {expert}" for expert in experts]
        return "\n".join(lines)

    @accept_old_keyword("most_experts", "max_experts")
    def votes_in_words(self, line: int, max_experts: int = 3) -> list[str]:
        """Describe one line of the table `rows`: the number of yes votes, then the experts of the largest shares."""
        is_own = np.ones(len(self.experts["row"]), dtype=bool)
        for name in ("row", "target", "labeling"):
            is_own &= self.experts[name] == self.rows[name][line]
        order = np.flatnonzero(is_own)
        order = order[np.argsort(-self.experts["share"][order], kind="stable")]
        votes = f"yes votes from {self.rows['n_yes'][line]} of {format_count(len(order), 'expert')}"
        votes += " of the representative" if self.is_representative else ""
        return [votes, *(self._vote_in_words(expert) for expert in order[:max_experts])]

    def _vote_in_words(self, line: int) -> str:
        vote = {name: column[line] for name, column in self.experts.items()}
        start = f"expert {vote['expert']}: {'yes' if vote['votes_yes'] else 'no'}, share {100.0 * vote['share']:.0f} %"
        if not np.isfinite(vote["margin_sd"]):
            return f"{start}; no single criterion decides the vote"
        verb = "met" if vote["votes_yes"] else "missed"
        start = f"{start}; criterion {vote['criterion']} {verb} by {format_deviations(abs(vote['margin_sd']))}"
        if vote["feature"] in self.switches:
            return f"{start} (it depends most on {vote['feature']})"
        return f"{start} (limit reached if {vote['feature']} changes by {vote['change']:+.3g})"


def explain_rows(model: FittedModel, rows: Design, threshold: float = 0.5, level: float = 0.89) -> Explanation:
    """Explain the predictions for rows by the votes of experts; with posterior draws, also how certain they are."""
    level = validate_probability("level", level)
    parts = [expert_columns(item, rows) for item in model_polytopes(model, threshold)]
    totals = [part[1] for part in parts]
    if model.has_posterior_spread:
        for total, labeling in zip(totals, model.labelings, strict=True):
            total.update(_posterior_columns(labeling.draws, rows, threshold, level))
    features = model.features
    switches = frozenset(name for name, is_one in zip(features.names, features.is_switch, strict=True) if is_one)
    experts = concatenate([part[0] for part in parts])
    return Explanation(experts, concatenate(totals), threshold, switches, model.is_bootstrap)


def _posterior_columns(draws: Draws, rows: Design, threshold: float, level: float) -> Columns:
    """Return intervals of the rates over draws, and the share of draws in which some expert votes yes."""
    low, high = central_interval(draws.rates(rows), level)
    has_yes = np.zeros(rows.shape[0])
    for number in range(len(draws)):
        has_yes += n_yes(draws[number], rows, threshold) > 0
    return {"rate_low": low, "rate_high": high, "yes_share": has_yes / len(draws)}


def expert_columns(polytopes: LabelingPolytopes, X: Design) -> tuple[Columns, Columns]:
    """Return the lines of both tables, `experts` and `rows`, for rows under one labeling."""
    draw, features = polytopes.draw, polytopes.features
    predictors = linear_predictors(draw.coefficients, X)
    log_rates = log_contributions_at(predictors, draw.expert_weights)
    n_experts, n_rows = log_rates.shape
    # Shares by logarithms are right even where all rates underflow.
    log_total = logsumexp(log_rates, axis=0)
    binding = _binding(draw.coefficients, predictors, draw.expert_weights, polytopes.threshold, features)
    votes = log_rates > np.log(needed_rate(polytopes.threshold))
    rows = np.arange(n_rows)
    experts: Columns = {
        "row": np.repeat(rows, n_experts),
        "target": _filled(polytopes.target, n_rows * n_experts),
        "labeling": np.full(n_rows * n_experts, polytopes.labeling),
        "expert": np.tile(np.arange(1, n_experts + 1), n_rows),
        "weight": np.tile(draw.expert_weights, n_rows),
        "rate": np.exp(log_rates).T.reshape(-1),
        "share": np.exp(log_rates - log_total).T.reshape(-1),
        "votes_yes": votes.T.reshape(-1),
        **{name: values.T.reshape(-1) for name, values in binding.items()},
    }
    totals: Columns = {
        "row": rows,
        "target": _filled(polytopes.target, n_rows),
        "labeling": np.full(n_rows, polytopes.labeling),
        "rate": np.exp(log_total),
        "probability": -np.expm1(-np.exp(log_total)),
        "n_yes": votes.sum(axis=0),
    }
    return experts, totals


def _binding(
    coefficients: FloatArray, predictors: FloatArray, expert_weights: FloatArray, threshold: float, features: Features
) -> Columns:
    """Return, for every expert and row, the criterion that the vote depends on; columns are (experts, rows)."""
    margins = predictors - needed_predictors(predictors, expert_weights, threshold)
    normals = coefficients[:, :, 1:]
    in_sd = normals * features.scale
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        distances = margins / np.linalg.norm(in_sd, axis=2)[:, :, None]
    # The predictor of a layer without normal never changes, so no vote depends on it.
    distances = np.where(np.isnan(distances), np.inf, distances)
    layer = np.abs(distances).argmin(axis=1)
    lead = np.abs(in_sd).argmax(axis=2)  # (experts, layers)
    expert = np.arange(len(coefficients))[:, None]
    feature = lead[expert, layer]
    margin = np.take_along_axis(margins, layer[:, None], axis=1)[:, 0]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        change = -margin / normals[expert, layer, feature]
    return {
        "criterion": layer + 1,
        "margin_sd": np.take_along_axis(distances, layer[:, None], axis=1)[:, 0],
        "feature": np.array(features.names, dtype=object)[feature],
        "change": change,
    }


def _filled(value: object, size: int) -> NDArray[Any]:
    """Return a column of one value, whatever its type."""
    column = np.empty(size, dtype=object)
    column[:] = value
    return column
