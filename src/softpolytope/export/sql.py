"""A fitted classifier as one SQL expression.

An expert is a chain of nested subqueries, one for each layer, so that each layer's value is written once and used by
name; written out, the expression would grow five times with every layer.
"""

from collections.abc import Sequence

from softpolytope._typing import FloatArray
from softpolytope.model.posterior import Draws, Estimate, Posterior, RegressionPosterior


def sql_probability(posterior: Posterior, columns: Sequence[str], estimate: Estimate, code: int) -> str:
    """P(class number `code`) as an expression of the columns' names; SQLite and DuckDB evaluate it."""
    names = [_quoted(column) for column in columns]
    chances = [_probability(regression, names, estimate) for regression in posterior.regressions]
    if len(chances) == 1:
        return chances[0] if code == 1 else f"(1.0 - {chances[0]})"
    parts = [f"{_P}{number}" for number in range(len(chances))]
    given = ", ".join(f"{chance} AS {part}" for chance, part in zip(chances, parts, strict=True))
    odds = [f"({part} / (CASE WHEN {part} < 1.0 THEN 1.0 - {part} ELSE 1e-300 END))" for part in parts]
    return f"(SELECT {odds[code]} / ({_balanced_sum(odds)}) FROM (SELECT {given}) AS {_TABLE})"


def _probability(regression: RegressionPosterior, names: list[str], estimate: Estimate) -> str:
    """P(y = 1), the mean over draws, of the labelling and its opposite."""
    sides = [labelling.chosen(estimate) for labelling in regression.labelings]
    terms = []
    for draw in range(len(sides[0])):
        survivals = [f"exp(-({_rate(side[draw], names)}))" for side in sides]
        both = f"0.5 * (1.0 - {survivals[0]} + {survivals[1]})" if len(sides) == 2 else f"1.0 - {survivals[0]}"
        terms.append(f"({both})")
    return f"(({_balanced_sum(terms)}) / {len(terms)}.0)"


def _quoted(column: str) -> str:
    if "\x00" in column:
        raise ValueError(f"column {column!r} has a name that SQL cannot hold.")
    return '"' + column.replace('"', '""') + '"'


def _rate(draw: Draws, names: list[str]) -> str:
    """lambda of one draw."""
    terms = [
        f"{_number(weight)} * {_activation(coefficients, names)}"
        for coefficients, weight in zip(draw.coefficients, draw.expert_weights, strict=True)
    ]
    return _balanced_sum(terms) if terms else "0.0"


def _activation(coefficients: FloatArray, names: list[str]) -> str:
    """q of one expert: each layer's z = x'beta + log q is a column of the subquery that the next layer selects from."""
    query = f"SELECT {_predictor(coefficients[0], names)} AS {_Z}"
    for row in coefficients[1:]:
        # log log(1 + e^z), in which log(1 + x) is x log(u) / (u - 1), u = 1 + x: precise for small x, as log(u) is not.
        log_softplus = f"CASE WHEN {_Z} > 40.0 THEN ln({_Z}) WHEN {_Z} < -36.0 THEN {_Z} ELSE ln({_SOFTPLUS}) END"
        query = f"SELECT {_predictor(row, names)} + {log_softplus} AS {_Z} FROM ({query}) AS {_TABLE}"
    softplus = f"CASE WHEN {_Z} > 40.0 THEN {_Z} WHEN {_Z} < -36.0 THEN exp({_Z}) ELSE {_SOFTPLUS} END"
    return f"(SELECT {softplus} FROM ({query}) AS {_TABLE})"


# Names that no column of a user has.
_Z, _P, _TABLE = "softpolytope_z", "softpolytope_p", "softpolytope_t"
_SOFTPLUS = f"exp({_Z}) * ln(1.0 + exp({_Z})) / (1.0 + exp({_Z}) - 1.0)"


def _predictor(row: FloatArray, names: list[str]) -> str:
    terms = [_number(row[0]), *(f"{_number(slope)} * {name}" for slope, name in zip(row[1:], names, strict=True))]
    return f"({_balanced_sum(terms)})"


def _number(value: float) -> str:
    """All digits, and a form that no database takes for an exact decimal."""
    return f"{float(value):.17e}"


def _balanced_sum(terms: list[str]) -> str:
    """A sum whose parse tree is shallow: databases limit the depth of expressions."""
    while len(terms) > 8:
        terms = ["(" + " + ".join(terms[i : i + 8]) + ")" for i in range(0, len(terms), 8)]
    return " + ".join(terms)
