"""Fits of modes: one search for both labelings of a problem, and the posterior that its modes approximate."""

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.random import SeedSequence

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.data import ColumnTransform, Dataset
from softpolytope.distributions import Streams
from softpolytope.exceptions import BlocksLostError
from softpolytope.model import Draws, LabelingPosterior, Prior, RegressionPosterior
from softpolytope.optimize._bootstrap import REPRESENTATIVE, Common, choose_pool, find_members
from softpolytope.optimize._checkpoints import ModeCheckpoints
from softpolytope.optimize._minibatch_search import can_use_minibatches
from softpolytope.optimize._minibatch_search import find_members as find_members_by_minibatches
from softpolytope.optimize._mode import FoundMode, LogPosterior, Mode, ModeSettings, ModesResult, column_unit
from softpolytope.optimize._optimizer import Optimizer
from softpolytope.optimize._representative import MAX_ROWS, with_representatives
from softpolytope.optimize._search import SAMPLE, Search, Workers
from softpolytope.parallel import BlockThreads, Reporting, RunOptions, make_fingerprint, one_blas_thread

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
    """Optimize from `n_restarts` random starts of each labeling; labeling 0 is that of the data, 1 the opposite.

    With `settings.bootstrap` the modes are members of a weighted likelihood bootstrap (`_bootstrap`), otherwise those
    of one search (`_search`).

    `start` is the result of an earlier search: the search continues from its modes, under its precision rates.

    Ctrl-C, or a callback that returns True, ends all optimizations where they are. The modes reached are returned, and
    the result says which of the two it was. With a checkpoint, optimizations that have finished are not repeated.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.data import InMemoryDataset
    >>> from softpolytope.model import Prior
    >>> from softpolytope.optimize import ModeSettings, find_modes
    >>> x = np.linspace(-3.0, 3.0, 60)
    >>> rows = InMemoryDataset.from_arrays(np.column_stack([np.ones(60), x]), np.abs(x) > 1.0)
    >>> result = find_modes(rows, ModeSettings(5, 1, Prior(precision_rate="learned"), n_restarts=3), seed=0)
    >>> [len(found.mode.log_weights) for found in result.modes[0]]
    [2, 2, 2]
    """
    options = options or RunOptions()
    with one_blas_thread(), ExitStack() as stack:
        n_jobs = len(labelings) * settings.n_restarts
        workers = stack.enter_context(_open_workers(data, n_jobs, options))
        streams = Streams(seed)
        checkpoints = ModeCheckpoints(
            options.checkpoint,
            _checkpoint_folder(options.folder, start),
            lambda: make_fingerprint(settings, streams.key, labelings, data.fingerprint),
        )
        if options.checkpoint is not None:
            stack.callback(checkpoints.close)
        try:
            sampler = data.sampler(partial(streams.generator, labeling=0, chain=0, sweep=0, step=SAMPLE))
            stack.callback(sampler.close)
            unit = column_unit(data.root_mean_square())
            log_posterior = LogPosterior(settings.prior, settings.max_experts, settings.fit_weights, unit)
            optimizer = Optimizer(log_posterior, checkpoints, workers.reporting, settings.keeps_inactive)
            if not settings.bootstrap:
                return Search(data, sampler, settings, streams, labelings, workers, optimizer).find(start)
            if start is None and can_use_minibatches(data, settings):
                result = find_members_by_minibatches(data, settings, n_jobs, seed, labelings, options).modes
            else:
                size = data.n_rows, data.total_weight
                common = Common(*size, sampler, settings, streams, optimizer, workers.block_threads)
                result = find_members(common, labelings, workers.pool, start)
            result = replace(result, pool=choose_pool(data.total_weight))
            rng = streams.generator(labeling=0, chain=0, sweep=0, step=REPRESENTATIVE, block=0)
            rows = sampler.sample(min(data.n_rows, MAX_ROWS))
            blocks = [sampler.blocks(data.n_rows, is_flipped=bool(labeling)) for labeling in labelings]
            return with_representatives(result, rows, blocks, labelings, log_posterior, rng)
        except BlocksLostError as error:
            raise BlocksLostError(f"{error} {checkpoints.save_progress()}") from error


@contextmanager
def _open_workers(data: Dataset, n_jobs: int, options: RunOptions) -> Iterator[Workers]:
    """Yield the threads of a fit of some modes, which run at the same time."""
    # Restarts may have to wait for partitions at the same time.
    n_parallel = max(options.n_threads, data.n_parallel(n_jobs, options.n_threads))
    with ExitStack() as stack:
        pool, block_threads = stack.enter_context(ThreadPoolExecutor(n_parallel)), None
        if options.n_threads >= 2 * n_jobs:
            block_pool = stack.enter_context(ThreadPoolExecutor(options.n_threads))
            block_threads = BlockThreads(block_pool, options.n_threads // n_jobs)
        yield Workers(pool, block_threads, Reporting(options.callback))


def _checkpoint_folder(folder: str, start: ModesResult | None) -> str:
    """Return the folder of the checkpoints of a fit that may continue from earlier modes."""
    if start is None:
        return folder
    # Optimizations from earlier modes must not be mistaken for those that led to these modes.
    positions = [found.unpruned.position().tobytes() for modes in start.modes for found in modes]
    name = hashlib.sha256(b"".join([start.precision_rates.tobytes(), *positions])).hexdigest()
    return f"{folder}/on-from-{name[:16]}"


@dataclass(frozen=True, slots=True)
class SavedModes:
    """Modes of a fit, from which another fit can continue, and the transform of the columns they are for."""

    result: ModesResult
    transform: ColumnTransform

    def transformed(self, transform: ColumnTransform) -> ModesResult:
        """Return the modes for columns under another transform; under the same one, to the same bits."""
        if self.transform.are_same(transform):
            return self.result

        def changed(mode: Mode) -> Mode:
            return Mode(transform.to_transformed(self.transform.to_original(mode.coefficients)), mode.log_weights)

        modes = [
            [FoundMode(changed(found.mode), found.log_likelihood, changed(found.unpruned)) for found in side]
            for side in self.result.modes
        ]
        return replace(self.result, modes=modes)


def approximate_posterior(result: ModesResult, transform: ColumnTransform, prior: Prior) -> RegressionPosterior:
    """Return the posterior whose draws are the modes, each a chain of its own, in the user's units."""

    def to_draw(found: FoundMode) -> tuple[FloatArray, FloatArray, BoolArray, float]:
        weights = np.exp(found.mode.log_weights)
        coefficients = transform.to_original(found.mode.coefficients)
        return coefficients, weights, np.ones(len(weights), dtype=bool), found.log_likelihood

    may_be_best, labelings = np.flatnonzero(result.is_of_best_rate()), []
    for side, modes in enumerate(result.modes):
        parts = [to_draw(found) for found in modes]
        values = np.array([[found.log_likelihood] for found in modes])
        n_active = np.array([[float(len(found.mode.log_weights))] for found in modes])
        mass = np.full_like(values, prior.mass_shape / prior.mass_rate)
        # Between modes of different rates the likelihood of the training rows would always choose the loosest.
        best = may_be_best[np.argmax(values[may_be_best])]
        best_part = to_draw(result.representatives[side]) if result.representatives else parts[best]
        draws, best_draw = Draws.from_parts(parts), Draws.from_parts([best_part])
        labelings.append(LabelingPosterior(draws, best_draw, len(modes), values, n_active, mass))
    return RegressionPosterior(tuple(labelings), result.pool, result.agreement)
