"""Explanations of rows: which experts vote yes, with what share, and on what each vote hangs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from softpolytope._typing import FloatArray
from softpolytope.geometry._bounds import log_expm1_of_exp, needed_rate
from softpolytope.geometry._expert_regions import LabelingPolytopes
from softpolytope.geometry._regions import linear_predictors, log_contributions_at
from softpolytope.geometry._tables import Columns, as_table
from softpolytope.geometry._wording import MAX_ROWS_PRINTED, counted, in_deviations, row_at, rows_left_out
from softpolytope.model import Features, log_activations


def needed_predictors(predictors: FloatArray, expert_weights: FloatArray, threshold: float) -> FloatArray:
    """x'beta that each layer would need, the others being as they are, for its expert to just reach the threshold.

    Takes and returns (experts, layers, rows). A predictor is above what is needed in all layers of an expert, where it
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
class Explanation:
    """Votes and shares of the experts at rows: two tables as dicts of columns, and text.

    Print it to read it. `explanation[i]` is the explanation of one row, `explanation[a:b]` that of several; they keep
    the numbers of their rows.

    `experts`: row, target (the class the expert speaks for), labeling, expert (its number, from one in order of
    weight, as in `polytopes`), weight, rate (its r q), share (of lambda; the shares of a row and labeling add up to
    one), votes_yes, criterion (the number, from one, of the layer on which the vote hangs: the one that would change it
    with the smallest move), margin_sd (how far, in standard deviations along that layer's
    normal, the row is beyond it, negative if short of it), feature (the one that moves the criterion most) and change
    (what that feature would have to change by, in its own units and alone, to bring the criterion to its limit).

    `rows`: row, target, labeling, rate (lambda), probability (by the best draw), n_yes; of draws also rate_low,
    rate_high (central interval of lambda over draws), yes_share (of draws in which an expert votes yes).

    `switches` are features of two values, which cannot change by a little: the text names no change of theirs.
    """

    experts: Columns
    rows: Columns
    threshold: float
    switches: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self._numbers())

    def __iter__(self) -> Iterator["Explanation"]:
        return (self[place] for place in range(len(self)))

    def __getitem__(self, index: SupportsIndex | slice) -> "Explanation":
        numbers = self._numbers()
        chosen = numbers[index if isinstance(index, slice) else [row_at(index, len(numbers))]]
        return Explanation(_lines_of(self.experts, chosen), _lines_of(self.rows, chosen), self.threshold, self.switches)

    def __repr__(self) -> str:
        return f"<Explanation of {counted(len(self), 'row')}; print it to read it>"

    def __str__(self) -> str:
        told = [self.in_words(place) for place in range(min(len(self), MAX_ROWS_PRINTED))]
        return "\n".join([*told, rows_left_out(len(self))]).rstrip("\n")

    def _numbers(self) -> NDArray[np.intp]:
        """Return the numbers of the rows, in their order."""
        _, first = np.unique(self.rows["row"], return_index=True)
        return np.asarray(self.rows["row"][np.sort(first)])

    def table(self, of: Literal["experts", "rows"] = "experts") -> Any:
        """A table as a pandas DataFrame, or as a NumPy structured array where pandas is not installed."""
        if of not in ("experts", "rows"):
            raise ValueError(f'table() takes "experts" or "rows"; got {of!r}.')
        return as_table(self.experts if of == "experts" else self.rows)

    def in_words(self, row: int = 0, most_experts: int = 3) -> str:
        """What matters of one row, in a few lines; IndexError if there is no such row."""
        number = self._numbers()[row_at(row, len(self))]
        lines = []
        for place in np.flatnonzero(self.rows["row"] == number):
            part = {name: column[place] for name, column in self.rows.items()}
            votes, *experts = self.votes_in_words(int(place), most_experts)
            lines.append(
                f"Row {number}, class {part['target']!r}: P = {part['probability']:.3g} by labeling "
                f"{part['labeling']}, {votes} (a yes alone lifts P over {self.threshold:g})"
            )
            lines += [f"  {line}" for line in experts]
        return "\n".join(lines)

    def votes_in_words(self, place: int, most_experts: int = 3) -> list[str]:
        """How many experts vote yes, and a line for each of the largest shares, for one line of the table `rows`."""
        own = np.ones(len(self.experts["row"]), dtype=bool)
        for name in ("row", "target", "labeling"):
            own &= self.experts[name] == self.rows[name][place]
        order = np.flatnonzero(own)
        order = order[np.argsort(-self.experts["share"][order], kind="stable")]
        n_yes = int(self.rows["n_yes"][place])
        votes = f"yes from {n_yes} of {counted(len(order), 'expert')}"
        return [votes, *(self._line(index) for index in order[:most_experts])]

    def _line(self, index: int) -> str:
        vote = {name: column[index] for name, column in self.experts.items()}
        start = f"expert {vote['expert']}: {'yes' if vote['votes_yes'] else 'no'}, share {100.0 * vote['share']:.0f} %"
        if not np.isfinite(vote["margin_sd"]):
            return f"{start}; no single criterion decides"
        side = "beyond" if vote["votes_yes"] else "short of"
        start = f"{start}; {in_deviations(abs(vote['margin_sd']))} {side} criterion {vote['criterion']}"
        if vote["feature"] in self.switches:
            return f"{start} (which depends most on {vote['feature']})"
        return f"{start} ({vote['feature']} {vote['change']:+.3g} would bring it there)"


def _lines_of(columns: Columns, chosen: NDArray[np.intp]) -> Columns:
    """Return the lines of the chosen rows, in the order of the choice."""
    places = [np.flatnonzero(columns["row"] == number) for number in chosen]
    lines = np.concatenate([np.empty(0, dtype=np.intp), *places])
    return {name: column[lines] for name, column in columns.items()}


def expert_columns(polytopes: LabelingPolytopes, X: Any, first_row: int = 0) -> tuple[Columns, Columns]:
    """Lines of both tables for rows under one labeling."""
    draw, features = polytopes.draw, polytopes.features
    predictors = linear_predictors(draw.coefficients, X)
    log_rates = log_contributions_at(predictors, draw.expert_weights)
    n_experts, n_rows = log_rates.shape
    # Shares by logarithms: they mean something where all rates underflow.
    log_total = logsumexp(log_rates, axis=0)
    binding = _binding(draw.coefficients, predictors, draw.expert_weights, polytopes.threshold, features)
    votes = log_rates > np.log(needed_rate(polytopes.threshold))
    rows = np.arange(first_row, first_row + n_rows)
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
    """For every expert and row the layer on which the vote hangs, (experts, rows) each."""
    margins = predictors - needed_predictors(predictors, expert_weights, threshold)
    slopes = coefficients[:, :, 1:]
    in_sd = slopes * features.scale
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        distances = margins / np.linalg.norm(in_sd, axis=2)[:, :, None]
    # A layer that no move changes decides nothing.
    distances = np.where(np.isnan(distances), np.inf, distances)
    layer = np.abs(distances).argmin(axis=1)
    lead = np.abs(in_sd).argmax(axis=2)  # (experts, layers)
    expert = np.arange(len(coefficients))[:, None]
    feature = lead[expert, layer]
    margin = np.take_along_axis(margins, layer[:, None], axis=1)[:, 0]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        change = -margin / slopes[expert, layer, feature]
    return {
        "criterion": layer + 1,
        "margin_sd": np.take_along_axis(distances, layer[:, None], axis=1)[:, 0],
        "feature": np.array(features.names, dtype=object)[feature],
        "change": change,
    }


def _filled(value: Any, size: int) -> NDArray[Any]:
    """A column of one value, of its own type."""
    column = np.empty(size, dtype=object)
    column[:] = value
    return column
