"""The paper's own way to run a chain, to the letter."""

from softpolytope.gibbs.chain import ChainSettings
from softpolytope.gibbs.sweep import Moves
from softpolytope.gibbs.trace import Schedule
from softpolytope.model.prior import Prior

FIRST_DELETION = 525
BETWEEN_DELETIONS = 50
# Gammas of the truncated Polya-Gamma sum.
POLYA_GAMMA_TERMS = 6


def paper_settings(n_layers: int, max_experts: int = 20, n_sweeps: int = 5000, n_draws: int = 50) -> ChainSettings:
    """The settings of the paper's experiments; its figures have 2,000 sweeps and 20 draws.

    The paper's scan and prior, Polya-Gamma weights by six gammas, experts without counts deleted after sweeps 525, 575,
    and so on. The first half of the sweeps is burn-in. The paper predicts with the best draw of a trace,
    `Trace.best`, and shows posterior panels of the evenly spaced ones, `Trace.draws`. A chain of the paper's
    scan starts at beta = 0, r = 1 / K, gamma_0 = c_0 = 1, counts of zero and precisions of 10.

    Examples
    --------
    >>> from softpolytope.gibbs.protocol import paper_settings
    >>> settings = paper_settings(n_layers=5)
    >>> settings.schedule.prune_at[:3], settings.schedule.n_burn_in
    ((525, 575, 625), 2500)
    """
    deletions = tuple(range(FIRST_DELETION, n_sweeps, BETWEEN_DELETIONS))
    moves = Moves("paper", hamiltonian_steps=0, refresh=False, pg_terms=POLYA_GAMMA_TERMS)
    schedule = Schedule(n_sweeps, n_sweeps // 2, n_draws, prune_at=deletions)
    return ChainSettings(max_experts, n_layers, Prior.of_the_paper(), moves, schedule)
