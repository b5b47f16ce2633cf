"""The paper's own way to run a chain, to the letter.

It has two safeguards that its conditionals do not know of: precisions are bounded below by 1e-3, and a latent rate is
tau / max(1e-6, q) where tau / q is its law. So the chain samples from another law than the posterior. They are kept
here because in trials they decided how many experts a chain ends with (benchmarks/reproduction/remarks.md).
"""

from softpolytope.gibbs.chain import ChainSettings
from softpolytope.gibbs.sweep import Moves
from softpolytope.gibbs.trace import Schedule
from softpolytope.model.prior import Prior

FIRST_DELETION = 525
BETWEEN_DELETIONS = 50
# Gammas of the truncated Polya-Gamma sum.
POLYA_GAMMA_TERMS = 6
LEAST_PRECISION = 1e-3
LEAST_ACTIVATION = 1e-6


def paper_settings(
    n_layers: int,
    max_experts: int = 20,
    n_sweeps: int = 5000,
    n_draws: int = 50,
    pg_terms: int = POLYA_GAMMA_TERMS,
) -> ChainSettings:
    """The settings of the paper's tables.

    The paper's scan and prior as printed, Polya-Gamma weights by six gammas, experts without counts deleted after
    sweeps 525, 575, and so on. The first half of the sweeps is burn-in. The paper predicts with the best draw of a
    trace, `Trace.best`, and shows posterior panels of the evenly spaced ones, `Trace.draws`. A chain of the paper's
    scan starts at beta = 0, r = 1 / K, gamma_0 = c_0 = 1, counts of zero and precisions of 10.

    Examples
    --------
    >>> from softpolytope.gibbs.protocol import paper_settings
    >>> settings = paper_settings(n_layers=5)
    >>> settings.schedule.prune_at[:3], settings.schedule.n_burn_in
    ((525, 575, 625), 2500)
    """
    deletions = tuple(range(FIRST_DELETION, n_sweeps, BETWEEN_DELETIONS))
    moves = Moves(
        "paper",
        hamiltonian_steps=0,
        refresh=False,
        pg_terms=pg_terms,
        least_precision=LEAST_PRECISION,
        least_activation=LEAST_ACTIVATION,
    )
    schedule = Schedule(n_sweeps, n_sweeps // 2, n_draws, prune_at=deletions)
    prior = Prior(precision_shape=1e-6, precision_rate=1e-6)
    return ChainSettings(max_experts, n_layers, prior, moves, schedule)
