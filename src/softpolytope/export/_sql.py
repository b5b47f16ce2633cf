"""A fitted classifier as one SQL expression.

Values that are used more than once are columns of a common table expression, one for each layer, and the next selects
from it by name; written out, the expression would grow fivefold with every layer. SELECT DISTINCT does not change a
single row, but keeps databases such as SQLite from writing the tables out again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.export._contents import ExportContents
from softpolytope.model import MAX_LOG_ODDS, Draws, Estimate, FittedModel, RegressionPosterior

# Columns of a table: SQLite allows 2000, but takes long to find one among many.
MAX_COLUMNS = 200
# Exponents of odds end here, below where exp overflows.
MAX_EXPONENT = 700.0
TINY = float(np.finfo(np.float64).tiny)
# Where log(e^l - 1) reaches the lower limit of the log odds of a draw.
MIN_RATE_OF_ODDS = float(np.log1p(np.exp(-MAX_LOG_ODDS)))

# Terms of a sum over draws, from the names of lambda by labeling and draw.
Terms: TypeAlias = Callable[[list[list[str]]], list[str]]


def sql_probability(model: FittedModel, columns: Sequence[str], target: object = None, table: str | None = None) -> str:
    """Return P(target) as an expression of column names that SQLite and DuckDB evaluate.

    The target is a class, by default the second of two. The expression is NULL where a column is NULL. With the name of
    the table, a column that the table does not have is an error; without it, SQLite takes an unknown name for a text.
    The expression starts with a comment that says what it contains.
    """
    return f"/* softpolytope: {ExportContents.from_model(model)} */ {_query(model, columns, target, table)}"


def _query(model: FittedModel, columns: Sequence[str], target: object, table: str | None) -> str:
    if len(columns) != model.n_features:
        raise ValueError(f"columns must name the {model.n_features} features; got {len(columns)} names.")
    code = model.class_index(target)
    regressions = model.posterior.regressions
    names = [column_name(column, table) for column in columns]
    writer = _Writer(names, _prefix([*columns, table or ""]))
    tables = _Tables(f"{writer.prefix}t")
    pooled = [
        writer.add_pool(tables, regression, model.estimate, number) for number, regression in enumerate(regressions)
    ]
    if len(regressions) == 1:
        return tables.query(pooled[0].positive if code == 1 else pooled[0].negative)
    odds = [f"{writer.prefix}o{number}" for number in range(len(regressions))]
    tables.add({name: own.log_odds for name, own in zip(odds, pooled, strict=True)})
    shares = [_exp_of_at_most(f"{each} - {odds[code]}", MAX_EXPONENT) for each in odds]
    return tables.query(f"1.0 / ({_balanced_sum(shares)})")


class _Tables:
    """Common table expressions, each of which selects from the previous one."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._texts: list[str] = []
        self.sums: list[str] = []  # columns that all further tables repeat

    def add(self, columns: dict[str, str]) -> None:
        """Add a table of named columns."""
        given = ", ".join(f"{value} AS {name}" for name, value in columns.items())
        self._texts.append(f"{self._name}{len(self._texts)} AS (SELECT DISTINCT {given}{self._source()})")

    def add_beside_sums(self, columns: dict[str, str]) -> None:
        """Add a table of named columns and the sums so far."""
        self.add({**{name: name for name in self.sums}, **columns})

    def query(self, value: str) -> str:
        """Return the query of an expression of the columns of the last table."""
        return f"(WITH {', '.join(self._texts)} SELECT {value}{self._source()})"

    def _source(self) -> str:
        return f" FROM {self._name}{len(self._texts) - 1}" if self._texts else ""


class _Pooled(NamedTuple):
    """P(y = 1), P(y = 0) and the log odds of a regression as expressions of columns of the last table."""

    positive: str
    negative: str
    log_odds: str


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writer of expressions of column names."""

    names: list[str]
    prefix: str  # of the names that this module defines

    def add_pool(self, tables: _Tables, regression: RegressionPosterior, estimate: Estimate, number: int) -> _Pooled:
        """Add the probabilities of a regression as sums over groups of draws, by its pool."""
        sides = [labeling.select_draws(estimate) for labeling in regression.labelings]
        if regression.pool == "logarithmic":
            log_odds = f"{self.prefix}m{number}"
            self._add_sums(tables, sides, {log_odds: _log_odds_terms})
            # Neither is computed as one minus the other, so small ones are precise.
            return _Pooled(f"1.0 / (1.0 + exp(-{log_odds}))", f"1.0 / (1.0 + exp({log_odds}))", log_odds)
        up, down = f"{self.prefix}up{number}", f"{self.prefix}down{number}"
        self._add_sums(tables, sides, {up: _event_terms, down: _survival_terms})
        return _Pooled(up, down, f"{_log(up)} - {_log(down)}")

    def _add_sums(self, tables: _Tables, sides: list[Draws], terms: dict[str, Terms]) -> None:
        """Add means over all draws as columns that later tables repeat, given the terms of each by name."""
        tables.add_beside_sums(dict.fromkeys(terms, "0.0"))
        tables.sums += terms
        for draws in _groups(sides):
            rates = self._add_rates(tables, [side[draw] for side in sides for draw in draws])
            by_side = [rates[start : start + len(draws)] for start in range(0, len(rates), len(draws))]
            share = _number(1.0 / (len(sides) * len(sides[0])))
            tables.add_beside_sums(
                {name: f"{name} + {share} * ({_balanced_sum(of(by_side))})" for name, of in terms.items()}
            )

    def _add_rates(self, tables: _Tables, draws: list[Draws]) -> list[str]:
        """Add a table for each layer, with z = x'beta + log q of all experts; return the names of lambda by draw."""
        coefficients = np.concatenate([draw.coefficients for draw in draws])
        weights = np.concatenate([draw.expert_weights for draw in draws])
        logits = [f"{self.prefix}z{expert}" for expert in range(len(weights))]
        for layer in range(coefficients.shape[1]):
            given = [self._predictor(row) for row in coefficients[:, layer]]
            if layer:
                given = [f"{value} + {_log_softplus(z)}" for value, z in zip(given, logits, strict=True)]
            tables.add_beside_sums(dict(zip(logits, given, strict=True)))
        terms = [f"{_number(weight)} * {_softplus(z)}" for weight, z in zip(weights, logits, strict=True)]
        ends = np.cumsum([0, *(len(draw.expert_weights) for draw in draws)])
        sums = [_balanced_sum(terms[start:stop]) or "0.0" for start, stop in pairwise(ends)]
        rates = {f"{self.prefix}l{number}": value for number, value in enumerate(sums)}
        tables.add_beside_sums(rates)
        return list(rates)

    def _predictor(self, row: FloatArray) -> str:
        slopes = zip(row[1:], self.names, strict=True)
        return f"({_balanced_sum([_number(row[0]), *(f'{_number(slope)} * {name}' for slope, name in slopes)])})"


def _groups(sides: list[Draws]) -> list[list[int]]:
    """Return groups of draws that are computed together: at least one, and at most MAX_COLUMNS experts if possible."""
    groups: list[list[int]] = []
    n_columns = MAX_COLUMNS + 1
    for draw in range(len(sides[0])):
        n_experts = sum(int(side.starts[draw + 1] - side.starts[draw]) for side in sides)
        n_columns += n_experts
        if n_columns > MAX_COLUMNS:
            groups.append([])
            n_columns = n_experts
        groups[-1].append(draw)
    return groups


# The event of the opposite labeling, whose rates come second, is y = 0.
def _event_terms(rates: list[list[str]]) -> list[str]:
    """Return P(y = 1) of draws from lambda, by labeling and draw."""
    return [_survival(rate) if side else _event(rate) for side, own in enumerate(rates) for rate in own]


def _survival_terms(rates: list[list[str]]) -> list[str]:
    """Return P(y = 0) of draws likewise."""
    return [_event(rate) if side else _survival(rate) for side, own in enumerate(rates) for rate in own]


def _log_odds_terms(rates: list[list[str]]) -> list[str]:
    """Return the log odds of y = 1 of draws likewise."""
    return [f"-({_log_odds(rate)})" if side else _log_odds(rate) for side, own in enumerate(rates) for rate in own]


def _survival(rate: str) -> str:
    return f"exp(-{rate})"


def _log_odds(rate: str) -> str:
    """Return log(e^l - 1) within its limits, as log((u - 1) l / log(u)), u = e^l: precise for small l."""
    lower = f"WHEN {rate} <= {_number(MIN_RATE_OF_ODDS)} THEN {-MAX_LOG_ODDS}"
    precise = f"ln((exp({rate}) - 1.0) * {rate} / ln(exp({rate})))"
    return f"CASE WHEN {rate} >= {MAX_LOG_ODDS} THEN {MAX_LOG_ODDS} {lower} ELSE {precise} END"


def _event(rate: str) -> str:
    """Return 1 - e^-l as (1 - u) l / -log(u), u = e^-l: precise for small l, unlike 1 - u."""
    precise = f"(1.0 - exp(-{rate})) * {rate} / -ln(exp(-{rate}))"
    return f"CASE WHEN {rate} > 40.0 THEN 1.0 WHEN {rate} < 1e-15 THEN {rate} ELSE {precise} END"


def _softplus(z: str) -> str:
    """Return log(1 + e^z)."""
    return f"CASE WHEN {z} > 40.0 THEN {z} WHEN {z} < -36.0 THEN exp({z}) ELSE {_log1p_of_exp(z)} END"


def _log_softplus(z: str) -> str:
    """Return log log(1 + e^z)."""
    return f"CASE WHEN {z} > 40.0 THEN ln({z}) WHEN {z} < -36.0 THEN {z} ELSE ln({_log1p_of_exp(z)}) END"


def _log1p_of_exp(z: str) -> str:
    """Return log(1 + x) as x log(u) / (u - 1), x = e^z, u = 1 + x: precise for small x, unlike log(u)."""
    return f"exp({z}) * ln(1.0 + exp({z})) / (1.0 + exp({z}) - 1.0)"


# Comparisons with NULL are never true, so a limit is the WHEN branch and NULL reaches ELSE, where it stays NULL.
def _log(probability: str) -> str:
    return f"ln(CASE WHEN {probability} < {_number(TINY)} THEN {_number(TINY)} ELSE {probability} END)"


def _exp_of_at_most(value: str, largest: float) -> str:
    return f"exp(CASE WHEN {value} > {largest} THEN {largest} ELSE {value} END)"


def column_name(column: str, table: str | None) -> str:
    """Return a column in quotes, with its table if there is one."""
    return quoted_name(column) if table is None else f"{quoted_name(table)}.{quoted_name(column)}"


def quoted_name(name: str) -> str:
    """Return the name of a column or a table in quotes."""
    if "\x00" in name:
        raise ValueError(f"the name {name!r} contains a NUL character, which SQL cannot represent. Rename the column.")
    return '"' + name.replace('"', '""') + '"'


def _prefix(columns: Sequence[str]) -> str:
    """Return a prefix for names defined here that no column has, whatever its case: SQL ignores case."""
    prefix = "softpolytope_"
    while any(column.lower().startswith(prefix) for column in columns):
        prefix += "_"
    return prefix


def _number(value: float) -> str:
    """Return a number with all digits, in a form that databases do not take for an exact decimal."""
    return f"{float(value):.17e}"


def _balanced_sum(terms: list[str]) -> str:
    """Return a sum with a shallow parse tree: databases limit the depth of expressions."""
    while len(terms) > 8:
        terms = ["(" + " + ".join(terms[i : i + 8]) + ")" for i in range(0, len(terms), 8)]
    return " + ".join(terms)
