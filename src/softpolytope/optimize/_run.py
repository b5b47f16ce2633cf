"""Modes of both labelings from several starts: how a search (`search.py`) is begun, and what it leaves in files."""

import hashlib
from contextlib import ExitStack
from functools import partial

from numpy.random import SeedSequence

from softpolytope.data import Dataset
from softpolytope.distributions import Streams
from softpolytope.exceptions import BlocksLostError
from softpolytope.model import Prior
from softpolytope.optimize._checkpoints import ModeCheckpoints
from softpolytope.optimize._mode import ModeSettings, ModesResult
from softpolytope.optimize._search import Search
from softpolytope.optimize._workers import Workers
from softpolytope.parallel import Reporting, RunOptions, make_fingerprint, one_blas_thread

# With fewer degrees of freedom than the t law of the sampler's default prior: what is not needed shrinks more, what is
# needed less.
DEFAULT_PRIOR = Prior(precision_shape=0.5, precision_rate="learned")


def find_modes(
    data: Dataset,
    settings: ModeSettings,
    seed: int | SeedSequence | None = None,
    labelings: tuple[int, ...] = (0,),
    options: RunOptions | None = None,
    start: ModesResult | None = None,
) -> ModesResult:
    """Climb from `n_restarts` random starts of each labeling; labeling 0 is that of the data, 1 the opposite.

    `start` is the result of an earlier search: its modes climb on, under the precision rate it had.

    Ctrl-C, or a callback that returns True, ends all climbs where they are; what was reached is returned, and the
    result tells which of the two it was. With a checkpoint, climbs that were done before are not made again.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.data import InMemoryDataset
    >>> from softpolytope.model import Prior
    >>> from softpolytope.optimize import ModeSettings
    >>> from softpolytope.optimize import find_modes
    >>> x = np.linspace(-3.0, 3.0, 60)
    >>> rows = InMemoryDataset.from_arrays(np.column_stack([np.ones(60), x]), np.abs(x) > 1.0)
    >>> result = find_modes(rows, ModeSettings(5, 1, Prior(precision_rate="learned"), n_restarts=3), seed=0)
    >>> [len(found.mode.log_weights) for found in result.modes[0]]
    [2, 2, 2]
    """
    options = options or RunOptions()
    reporting, streams = Reporting(options.callback), Streams(seed)
    with one_blas_thread(), ExitStack() as stack:
        n_parallel = data.n_parallel(len(labelings) * settings.n_restarts, options.n_threads)
        workers = Workers(stack, options.n_threads, n_parallel, reporting)
        # Optimizations from earlier modes must not be mistaken for those that led to these modes.
        folder = options.folder if start is None else f"{options.folder}/on-from-{_name(start)}"
        fingerprint = partial(_fingerprint, data, settings, streams, labelings)
        checkpoints = ModeCheckpoints(options.checkpoint, folder, fingerprint)
        stack.callback(checkpoints.close)
        try:
            search = Search(data, settings, streams, labelings, workers, checkpoints)
            stack.callback(search.close)
            if start is not None:
                search.start_from(start)
            elif settings.prior.precision_rate == "learned":
                search.choose_rates()
            search.maximize_on_samples()
            return search.result()
        except BlocksLostError as error:
            raise BlocksLostError(f"{error} {checkpoints.save_progress()}") from error


def _fingerprint(data: Dataset, settings: ModeSettings, streams: Streams, labelings: tuple[int, ...]) -> str:
    """A hash of all that decides the modes, but those to go on from."""
    return make_fingerprint(settings, streams.key, labelings, data.fingerprint)


def _name(start: ModesResult) -> str:
    """A short name of modes."""
    digest = hashlib.sha256(start.precision_rates.tobytes())
    for found in (found for modes in start.modes for found in modes):
        digest.update(found.unpruned.position().tobytes())
    return digest.hexdigest()[:16]
