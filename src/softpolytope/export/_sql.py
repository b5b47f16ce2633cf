"""A fitted classifier as one SQL expression.

Values that are used more than once are columns of a common table expression, one for each layer, and the next selects
from it by name; written out, the expression would grow five times with every layer. SELECT DISTINCT changes nothing of
a single row, but databases that would write such tables out again (SQLite does) leave a distinct one alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.model import Draws, Estimate, Posterior

# Columns of a table: SQLite allows 2000, but takes long to find one among many.
MAX_COLUMNS = 200
# Exponents of odds end here, below where exp overflows.
MAX_EXPONENT = 700.0
TINY = float(np.finfo(np.float64).tiny)


def sql_probability(
    posterior: Posterior, columns: Sequence[str], estimate: Estimate, code: int, table: str | None = None
) -> str:
    """P(class number `code`) as an expression of the columns' names; SQLite and DuckDB evaluate it.

    It is NULL where a column is NULL. With the name of the table, a column that the table does not have is an error;
    without, SQLite takes its name for a text.
    """
    names = [column_name(column, table) for column in columns]
    writer = _Writer(names, _prefix([*columns, table or ""]))
    tables = _Tables(f"{writer.prefix}t")
    for number, regression in enumerate(posterior.regressions):
        writer.add_probabilities(tables, [labeling.chosen(estimate) for labeling in regression.labelings], number)
    if len(posterior.regressions) == 1:
        return tables.query(tables.sums[0] if code == 1 else tables.sums[1])
    odds = [f"{writer.prefix}o{number}" for number in range(len(posterior.regressions))]
    pairs = zip(tables.sums[::2], tables.sums[1::2], strict=True)
    # Neither being one minus the other, small ones are precise.
    tables.add({name: f"{_log(up)} - {_log(down)}" for name, (up, down) in zip(odds, pairs, strict=True)})
    shares = [_exp_of_at_most(f"{each} - {odds[code]}", MAX_EXPONENT) for each in odds]
    return tables.query(f"1.0 / ({_balanced_sum(shares)})")


class _Tables:
    """Common table expressions, each of which selects from the one before."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._texts: list[str] = []
        self.sums: list[str] = []  # columns that all further tables take along

    def add(self, columns: dict[str, str]) -> None:
        """One more, of named columns."""
        given = ", ".join(f"{value} AS {name}" for name, value in columns.items())
        self._texts.append(f"{self._name}{len(self._texts)} AS (SELECT DISTINCT {given}{self._source()})")

    def add_beside_sums(self, columns: dict[str, str]) -> None:
        """One more, with the sums so far."""
        self.add({**{name: name for name in self.sums}, **columns})

    def query(self, value: str) -> str:
        """An expression of the columns of the last table."""
        return f"(WITH {', '.join(self._texts)} SELECT {value}{self._source()})"

    def _source(self) -> str:
        return f" FROM {self._name}{len(self._texts) - 1}" if self._texts else ""


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes expressions of the columns' names."""

    names: list[str]
    prefix: str  # of names of our own

    def add_probabilities(self, tables: _Tables, sides: list[Draws], number: int) -> None:
        """P(y = 1) and P(y = 0) of a regression as sums, over groups of draws one after the other."""
        share = _number(1.0 / len(sides[0]))
        up, down = f"{self.prefix}up{number}", f"{self.prefix}down{number}"
        tables.add_beside_sums({up: "0.0", down: "0.0"})
        tables.sums += [up, down]
        for draws in _groups(sides):
            rates = self._add_rates(tables, [side[draw] for side in sides for draw in draws])
            probabilities = [_probabilities(rates[place :: len(draws)]) for place in range(len(draws))]
            sums = {
                name: f"{name} + {share} * ({_balanced_sum([pair[place] for pair in probabilities])})"
                for place, name in enumerate((up, down))
            }
            tables.add_beside_sums(sums)

    def _add_rates(self, tables: _Tables, draws: list[Draws]) -> list[str]:
        """Names of lambda of some draws: a table for each layer, with z = x'beta + log q of all their experts."""
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
    """Draws that are taken at once: so many that their experts are not too many, but one at least."""
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


def _probabilities(rates: list[str]) -> tuple[str, str]:
    """P(y = 1) and P(y = 0) of one draw, from lambda of the labeling and of its opposite, if there is one."""
    events, survivals = [_event(rate) for rate in rates], [f"exp(-{rate})" for rate in rates]
    if len(rates) == 1:
        return events[0], survivals[0]
    return f"0.5 * ({events[0]} + {survivals[1]})", f"0.5 * ({survivals[0]} + {events[1]})"


def _event(rate: str) -> str:
    """1 - e^-l as (1 - u) l / -log(u), u = e^-l: precise for small l, as 1 - u is not."""
    precise = f"(1.0 - exp(-{rate})) * {rate} / -ln(exp(-{rate}))"
    return f"CASE WHEN {rate} > 40.0 THEN 1.0 WHEN {rate} < 1e-15 THEN {rate} ELSE {precise} END"


def _softplus(z: str) -> str:
    """log(1 + e^z)."""
    return f"CASE WHEN {z} > 40.0 THEN {z} WHEN {z} < -36.0 THEN exp({z}) ELSE {_log1p_of_exp(z)} END"


def _log_softplus(z: str) -> str:
    """log log(1 + e^z)."""
    return f"CASE WHEN {z} > 40.0 THEN ln({z}) WHEN {z} < -36.0 THEN {z} ELSE ln({_log1p_of_exp(z)}) END"


def _log1p_of_exp(z: str) -> str:
    """log(1 + x) as x log(u) / (u - 1), x = e^z, u = 1 + x: precise for small x, as log(u) is not."""
    return f"exp({z}) * ln(1.0 + exp({z})) / (1.0 + exp({z}) - 1.0)"


# NULL is neither larger nor smaller than anything: the limits are the cases, so that it stays NULL.
def _log(chance: str) -> str:
    return f"ln(CASE WHEN {chance} < {_number(TINY)} THEN {_number(TINY)} ELSE {chance} END)"


def _exp_of_at_most(value: str, largest: float) -> str:
    return f"exp(CASE WHEN {value} > {largest} THEN {largest} ELSE {value} END)"


def column_name(column: str, table: str | None) -> str:
    """Return a column in quotes, with its table if there is one."""
    return quoted_name(column) if table is None else f"{quoted_name(table)}.{quoted_name(column)}"


def quoted_name(name: str) -> str:
    """Return the name of a column or a table in quotes."""
    if "\x00" in name:
        raise ValueError(f"the name {name!r} holds a NUL, which SQL cannot write.")
    return '"' + name.replace('"', '""') + '"'


def _prefix(columns: Sequence[str]) -> str:
    """With what names of our own begin, and none of the columns; case does not count in SQL."""
    prefix = "softpolytope_"
    while any(column.lower().startswith(prefix) for column in columns):
        prefix += "_"
    return prefix


def _number(value: float) -> str:
    """All digits, and a form that no database takes for an exact decimal."""
    return f"{float(value):.17e}"


def _balanced_sum(terms: list[str]) -> str:
    """A sum whose parse tree is shallow: databases limit the depth of expressions."""
    while len(terms) > 8:
        terms = ["(" + " + ".join(terms[i : i + 8]) + ")" for i in range(0, len(terms), 8)]
    return " + ".join(terms)
