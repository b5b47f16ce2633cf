"""What the docstrings of all classifiers share, written once."""

from typing import TypeVar

Class = TypeVar("Class", bound=type)

SHARED = """\
inference : {"auto", "gibbs", "map"}
        "map" climbs the posterior from several starts and averages over the modes, in seconds; "gibbs" draws from the
        posterior. "auto" is "gibbs" for fewer than 50 rows (counted by their weights; 50 distinct rows are never few),
        else "map".
    scan : {"auto", "paper", "collapsed"}
        Two exact samplers of one posterior; "auto" is the one that mixes better, the collapsed one.
    start : {"map", "random"}
        "gibbs": where chains begin, each at a mode that a climb has found, or each at a random place. With
        `fit_weight=False` all begin at zero.
    symmetric : bool
        Whether to fit the labels and their opposites, and average the two.
    estimate : {"mean", "best"}
        Predict with the mean over the kept draws or modes, or with the one of highest training likelihood (the paper's
        way; of modes, among those of the best precision rate). May be changed after `fit`.
    n_restarts : int
        "map": climbs per labeling.
    bootstrap : bool
        "map": whether each climb ends with random weights of its own for the rows (the weighted likelihood bootstrap),
        so that the spread of the modes approximates the posterior's; ask for 20 or more restarts to see it.
    n_chains : int
        "gibbs": chains per labeling.
    n_sweeps, n_burn_in, n_draws : int
        "gibbs": sweeps per chain in all; of which the first are discarded (by default half); draws kept per chain,
        evenly spaced over the rest (by default up to 50).
    prior : Prior, optional
        Hyperparameters. If not given, `Prior()` for "gibbs"; for "map"
        `Prior(precision_shape=0.5, precision_rate="learned")`. There a learned rate is chosen among six by the
        likelihood of held-out rows.
    standardize : bool
        Whether to fit with columns of mean 0 and variance 1 (sparse: mean square 1). Coefficients are reported in
        the units of X in any case.
    class_weight : dict, "balanced" or None
        Factors of the rows' weights by class.
    n_jobs : int, optional
        Threads; they change no result.
    random_state : int, RandomState or None
        An integer makes the fit reproducible to the last bit.
    warm_start : bool
        Whether `fit` goes on from the last fit: "map" climbs on from its modes, with these rows; "gibbs" goes on with
        its chains, to a larger `n_sweeps`. A model that was saved and loaded goes on from its file, to the same bits; a
        file without the state of the fit raises.
    checkpoint : str or Path, optional
        A folder where chains are written as they go (once a minute), and climbs that are done (once a second); an
        interrupted or killed fit of the same data resumes from there, to the same bits. Needs an integer
        `random_state`.
    verbose : int
        Above 0, a line with progress, time left, log-likelihood and experts is written to the error stream: over and
        over on a terminal, now and then (and ever less often) to a file.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    n_features_in_, feature_names_in_
        Number of columns of X, and their names if it had any.
    posterior_ : Posterior
        All kept draws, or modes.
    inference_ : {"gibbs", "map"}
        How it was fitted.
    bootstrap_ : bool
        Whether the modes are bootstrapped, so that their spread approximates the posterior's; False for draws, and
        after `partial_fit`.
    precision_rates_ : list
        "map": the precision rates that the restarts chose, (n_restarts,) per regression.
    n_experts_ : int
        Experts with counts in the best draws, labelings added.
    expert_weights_, coefficients_ : list of ndarray
        Weights (experts,) and hyperplanes (experts, layers, 1 + n_features) of the best draws, in the units of X, the
        intercept first; one entry per labeling (and class, if there are more than two). The heaviest expert comes
        first: it is the expert 1 of `polytopes` and `explain`.
    log_likelihood_ : list of ndarray
        Training log-likelihood (chains, sweeps), or (restarts, 1) of modes; one entry per labeling (and class).
"""


def with_shared_documentation(classifier: Class) -> Class:
    """Put the shared parameters and attributes in the place of "{shared}" in a class's docstring."""
    # Interpreters started with -OO have no docstrings.
    if classifier.__doc__ is not None:
        classifier.__doc__ = classifier.__doc__.replace("{shared}", SHARED.rstrip())
    return classifier
