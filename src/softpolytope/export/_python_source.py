"""A fitted classifier as Python functions that need only the standard library."""

import ast
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softpolytope.export._contents import ExportContents
from softpolytope.model import MAX_LOG_ODDS, Draws, FittedModel

_TEMPLATE = '''"""Class probabilities of a model; written by softpolytope, needs only the standard library."""

# {contents}

from math import exp, expm1, log, log1p

CLASSES = {classes}
N_FEATURES = {n_features}
# For each regression its labelings, for each labeling its draws, for each draw its experts: (weight, layers), each
# layer (intercept, slope, slope, ...).
REGRESSIONS = {regressions}
# For each regression how its draws are pooled: by their mean probability, or by their mean log odds, each of which is
# limited to MAX_LOG_ODDS.
POOLS = {pools}
MAX_LOG_ODDS = {limit}


def predict_proba(x):
    """Probabilities of CLASSES for one row of N_FEATURES numbers."""
    x = [float(value) for value in x]
    if len(x) != N_FEATURES:
        raise ValueError(f"a row has {{N_FEATURES}} numbers; got {{len(x)}}.")
    pairs = [_probabilities(labelings, x, pool) for labelings, pool in zip(REGRESSIONS, POOLS)]
    if len(pairs) == 1:
        return [pairs[0][1], pairs[0][0]]
    logs = [log(max(positive, 2.3e-308)) - log(max(negative, 2.3e-308)) for positive, negative in pairs]
    odds = [exp(value - max(logs)) for value in logs]
    return [value / sum(odds) for value in odds]


def predict(x):
    """The most probable class of one row."""
    probabilities = predict_proba(x)
    return CLASSES[probabilities.index(max(probabilities))]


def _probabilities(labelings, x, pool):
    """P(y = 1) and P(y = 0), pooled over the draws of the labeling and its opposite."""
    rates = [[_rate(experts, x) for experts in draws] for draws in labelings]
    n_draws = len(rates[0])
    if pool == "logarithmic":
        means = [sum(_log_odds(rate) for rate in side) / n_draws for side in rates]
        mean = means[0] if len(means) == 1 else 0.5 * (means[0] - means[1])
        return 1.0 / (1.0 + exp(-mean)), 1.0 / (1.0 + exp(mean))
    positive = negative = 0.0
    for draw in range(n_draws):
        own = rates[0][draw]
        up, down = -expm1(-own), exp(-own)
        if len(rates) == 2:
            other = rates[1][draw]
            up, down = 0.5 * (up + exp(-other)), 0.5 * (down - expm1(-other))
        positive += up / n_draws
        negative += down / n_draws
    return positive, negative


def _log_odds(rate):
    """log(e^rate - 1) within its limits."""
    if rate >= MAX_LOG_ODDS:
        return MAX_LOG_ODDS
    odds = expm1(rate)
    return log(odds) if odds > exp(-MAX_LOG_ODDS) else -MAX_LOG_ODDS


def _rate(experts, x):
    """lambda: the weighted sum of the experts' activations."""
    total = 0.0
    for weight, layers in experts:
        log_activation = 0.0
        activation = 1.0
        for layer in layers:
            z = layer[0] + sum(slope * value for slope, value in zip(layer[1:], x)) + log_activation
            activation = z if z > 40.0 else log1p(exp(max(z, -745.0)))
            log_activation = log(activation) if activation > 1e-300 else z
        total += weight * activation
    return total
'''


def python_source(model: FittedModel) -> str:
    """Return the text of a module with `predict_proba(x)` and `predict(x)` for one row."""
    regressions = [
        [_draws_literal(labeling.select_draws(model.estimate)) for labeling in regression.labelings]
        for regression in model.posterior.regressions
    ]
    text = repr(regressions).replace("], [", "],\n [")
    return _TEMPLATE.format(
        contents=ExportContents.from_model(model),
        classes=_labels_literal(model.classes),
        n_features=model.n_features,
        regressions=text,
        pools=[regression.pool for regression in model.posterior.regressions],
        limit=MAX_LOG_ODDS,
    )


def _labels_literal(classes: NDArray[Any]) -> str:
    """Return the labels as a Python literal; raise if they are neither text nor numbers."""
    # Arrays of objects may hold NumPy scalars, whose names mean nothing without NumPy.
    labels = [label.item() if isinstance(label, np.generic) else label for label in classes.tolist()]
    text = repr(labels)
    try:
        is_same = ast.literal_eval(text) == labels
    except (ValueError, SyntaxError):
        is_same = False
    if not is_same:
        raise ValueError(f"Python source needs labels that are text or numbers; got {text}.")
    return text


def _draws_literal(draws: Draws) -> list[list[tuple[float, list[list[float]]]]]:
    """Return draws as plain lists of numbers, which Python writes with all their digits."""
    literal = []
    for start, stop in zip(draws.starts, draws.starts[1:], strict=False):
        experts = zip(draws.expert_weights[start:stop], draws.coefficients[start:stop], strict=True)
        literal.append([(float(weight), np.asarray(layers).tolist()) for weight, layers in experts])
    return literal
