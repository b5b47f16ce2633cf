"""Parameters and attributes that all classifiers share, as their docstrings state them."""

from typing import TypeVar

Class = TypeVar("Class", bound=type)

SHARED = """\
inference : {"auto", "bootstrap", "gibbs", "map"}
        "bootstrap" finds modes of the posterior, each from its own random start and under its own random weights of the
        rows; together they approximate a sample from the posterior, in seconds and at any size. "gibbs" draws from the
        posterior by an exact sampler. "map" finds modes that have all rows equally weighted: the fastest to fit, but
        without intervals. "auto" is "bootstrap".
    scan : {"auto", "paper", "collapsed"}
        Two exact samplers of one posterior; "auto" is the one that mixes better, the collapsed one.
    start : {"map", "random"}
        "gibbs": whether each chain starts at a mode of its own, or at random. With `fit_weight=False` all start at
        zero.
    symmetric : bool
        Whether to fit the labels and their opposites, and average the two.
    estimate : {"mean", "best"}
        Predict with all draws or modes together, or with one of each labeling: of a bootstrap the representative, which
        rules and explanations show, otherwise the one of highest training likelihood, as the paper does (of modes,
        among those of the best precision rate). May be changed after `fit`.
    n_members : int
        "bootstrap": modes of both labelings together, at least 18 for intervals of 89 %; an odd number is rounded up.
    n_restarts : int
        "map": optimizations per labeling, each from its own random start.
    bootstrap : bool
        Deprecated: True is `inference="bootstrap"` with `n_restarts` members per labeling.
    n_chains : int
        "gibbs": chains per labeling.
    n_sweeps, n_burn_in, n_draws : int
        "gibbs": total sweeps per chain; the first sweeps, which are discarded (by default half); and draws kept per
        chain, evenly spaced over the rest (by default up to 50).
    prior : Prior, optional
        Hyperparameters. If not given, `Prior(precision_shape=0.5, precision_rate="learned")` for modes, with the rate
        chosen among six by the likelihood of held-out rows, by every member of a bootstrap for itself; for "gibbs"
        `Prior()`, with the scale of the coefficients that the search for the chains' starts chose in this way. With
        `start="random"` or `fit_weight=False` there is no such search, and the prior is `Prior()`.
    standardize : bool
        Whether to fit with columns of mean 0 and variance 1 (sparse: mean square 1). Coefficients are reported in
        the units of X in any case.
    class_weight : dict, "balanced" or None
        Factors of the rows' weights by class.
    n_jobs : int, optional
        Number of threads; it changes no result.
    random_state : int, RandomState or None
        An integer makes the fit reproducible to the last bit.
    warm_start : bool
        Whether `fit` continues the last fit: "bootstrap" and "map" optimize their modes further, with these rows, and
        "bootstrap" adds members if `n_members` has grown; "gibbs" continues its chains, to a larger `n_sweeps`. A model
        that was saved and loaded continues from its file, to the same bits; a file without the state of the fit raises
        an error.
    checkpoint : str or Path, optional
        A folder to which chains are written once a minute, and finished optimizations once a second. An interrupted or
        killed fit of the same data resumes from there, to the same bits. Requires an integer `random_state`.
    verbose : int
        Above 0, a line with progress, time left, log-likelihood and experts is written to the error stream: a terminal
        shows one line that is updated in place, a file gets a new line ever less often.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    n_features_in_, feature_names_in_
        Number of columns of X, and their names if it had any.
    posterior_ : Posterior
        All members, kept draws or modes.
    inference_ : {"bootstrap", "gibbs", "map"}
        Inference of the fit.
    bootstrap_ : bool
        Whether the modes are members of a bootstrap, so that their spread approximates that of the posterior.
    precision_rates_ : list
        "bootstrap" and "map": the precision rates of the modes, (labelings, modes) per regression.
    prior_ : list of Prior
        The prior of the fit, one per regression; for chains, with the precision rate that was chosen.
    n_layers_ : int
        Number of layers, chosen by `n_layers="auto"` or given.
    n_experts_ : int
        Experts with counts in the best draws, or of the representatives of a bootstrap, labelings added.
    expert_weights_, coefficients_ : list of ndarray
        Weights (experts,) and hyperplanes (experts, layers, 1 + n_features) of the same, in the units of X, the
        intercept first; one entry per labeling (and class, if there are more than two). The heaviest expert comes
        first: it is the expert 1 of `polytopes` and `explain`.
    log_likelihood_ : list of ndarray
        Training log-likelihood (chains, sweeps), or (modes, 1); one entry per labeling (and class).
"""


def with_shared_documentation(classifier: Class) -> Class:
    """Replace "{shared}" in the docstring of a class by the parameters and attributes that all classifiers share."""
    # With python -OO there are no docstrings.
    if classifier.__doc__ is not None:
        classifier.__doc__ = classifier.__doc__.replace("{shared}", SHARED.rstrip())
    return classifier
