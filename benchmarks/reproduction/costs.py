"""How long a cell takes, about: decides the order, and how long is left."""

from reproduction.paper import TABLES
from reproduction.plan import LARGE, Cell
from reproduction.softplus import SoftplusProtocol

# Of one row, expert and layer in one sweep of one labelling.
SECONDS_OF_A_CELL = 0.25e-6
# Of a sweep, whatever the rows.
SECONDS_OF_A_SWEEP = 0.3e-3
# Share of the experts that a chain has, on average over its sweeps: of small sets most are soon deleted.
SHARE_OF_EXPERTS = {False: 0.35, True: 0.95}
# Seconds of tuning and fitting by training row, and rows from which on there are no more: good enough for an order.
BASELINE_SECONDS = {
    "lr": (1e-3, 100_000),
    "svm": (0.01, 100_000),
    "rvm": (0.05, 1300),
    "amm": (1e-3, 100_000),
    "cpm": (0.02, 100_000),
    "default": (3e-3, 100_000),
}


def expected_seconds(cell: Cell, protocol: SoftplusProtocol) -> float:
    """On one core."""
    n_rows = TABLES["sizes"][cell.set_name][0]
    method = cell.method
    if method.kind != "softplus":
        of_a_row, most_rows = BASELINE_SECONDS[method.key]
        return float(of_a_row * min(n_rows, most_rows))
    n_experts = max(1.0, SHARE_OF_EXPERTS[cell.set_name in LARGE] * method.max_experts)
    sweep = SECONDS_OF_A_SWEEP * method.n_layers + SECONDS_OF_A_CELL * n_rows * n_experts * method.n_layers
    return 2.0 * protocol.n_sweeps * sweep
