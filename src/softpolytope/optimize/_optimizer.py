"""Single optimizations of a search: each is made once, recorded, and freed of the experts that its rows do not need."""

from dataclasses import dataclass

from softpolytope.data import RowBlock
from softpolytope.optimize._checkpoints import ModeCheckpoints, OptimizedMode
from softpolytope.optimize._mode import LogPosterior, Mode, StoppingRule, pruned
from softpolytope.parallel import Blocks, Reporting


@dataclass(frozen=True, slots=True)
class Optimizer:
    """Optimizations of the modes of one fit, by name."""

    log_posterior: LogPosterior
    checkpoints: ModeCheckpoints
    reporting: Reporting
    keeps_inactive: bool  # whether experts that the rows do not need stay

    def maximize(
        self, name: str, mode: Mode, blocks: Blocks[RowBlock], precision_rate: float, rule: StoppingRule
    ) -> OptimizedMode:
        """Optimize from a mode or a start, unless the optimization of this name has been made before."""
        result = self.checkpoints.find(name)
        if result is None:
            mode = self.log_posterior.maximize(mode, blocks, precision_rate, rule, self.reporting.is_stopped)
            active, log_likelihood = pruned(mode, blocks)
            # Inactive experts would cost as much time as others in the optimizations to come.
            kept = mode if self.keeps_inactive else active
            result = OptimizedMode(kept, log_likelihood, len(active.log_weights))
            if not self.reporting.is_stopped():  # if it was stopped, it may have ended anywhere
                self.checkpoints.add(name, result)
        return result
