"""How long a cell takes, about: decides the order, and how long is left."""

from reproduction.paper import TABLES
from reproduction.plan import Cell
from reproduction.softplus import SoftplusProtocol

# Of one row, expert and layer in one sweep of one labelling.
SECONDS_OF_A_CELL = 0.5e-6
# Of a sweep, whatever the rows.
SECONDS_OF_A_SWEEP = 0.3e-3
# Share of the experts that a chain has, on average over its sweeps.
SHARE_OF_EXPERTS = 0.35
# Seconds of tuning and fitting by training row: guesses, good enough for an order.
BASELINE_SECONDS = {"lr": 1e-3, "svm": 0.02, "rvm": 0.1, "amm": 0.01, "cpm": 0.02, "default": 5e-3}


def expected_seconds(cell: Cell, protocol: SoftplusProtocol) -> float:
    """On one core."""
    n_rows = TABLES["sizes"][cell.set_name][0]
    method = cell.method
    if method.kind != "softplus":
        return BASELINE_SECONDS[method.key] * n_rows
    n_experts = max(1.0, SHARE_OF_EXPERTS * method.max_experts)
    sweep = SECONDS_OF_A_SWEEP * method.n_layers + SECONDS_OF_A_CELL * n_rows * n_experts * method.n_layers
    return 2.0 * protocol.n_sweeps * sweep
