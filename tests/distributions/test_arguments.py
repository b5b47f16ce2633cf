"""What every law does with good, odd and bad arguments."""

import numpy as np
import pytest

from softpolytope.distributions import (
    crt,
    crt_moments,
    log_standard_gamma,
    polya_gamma,
    polya_gamma_moments,
    split_counts,
    sum_log,
    sum_log_pmf,
    truncated_poisson,
    truncated_poisson_pmf,
)

# Each law with one valid set of arguments, all of which broadcast.
LAWS = {
    "polya_gamma": (polya_gamma, (0.7, 1.5)),
    "crt": (crt, (9, 1.2)),
    "sum_log": (sum_log, (5, 0.6)),
    "truncated_poisson": (truncated_poisson, (1.3,)),
    "log_standard_gamma": (log_standard_gamma, (0.2,)),
}

BAD = [
    (polya_gamma, (-1.0, 0.0), "shape"),
    (polya_gamma, (np.nan, 0.0), "shape"),
    (polya_gamma, (np.inf, 0.0), "shape"),
    (polya_gamma, (10**400, 0.0), "shape"),
    (polya_gamma, ("one", 0.0), "shape"),
    (polya_gamma, (1.0, np.nan), "tilt"),
    (polya_gamma, (1.0, -np.inf), "tilt"),
    (crt, (-1, 1.0), "count"),
    (crt, (2**63, 1.0), "count"),
    (crt, (2**80, 1.0), "count"),
    (crt, (1e19, 1.0), "count"),
    (crt, (2.5, 1.0), "count"),
    (crt, (np.nan, 1.0), "count"),
    (crt, ("many", 1.0), "count"),
    (crt, (5, -0.1), "concentration"),
    (crt, (5, np.nan), "concentration"),
    (crt, (5, np.inf), "concentration"),
    (sum_log, (-3, 0.5), "count"),
    (sum_log, (2**64, 0.5), "count"),
    (sum_log, (3, 1.0), "probability"),
    (sum_log, (3, -1e-9), "probability"),
    (sum_log, (3, np.nan), "probability"),
    (truncated_poisson, (-1.0,), "rate"),
    (truncated_poisson, (np.nan,), "rate"),
    (truncated_poisson, (np.inf,), "rate"),
    (truncated_poisson, (1e19,), "rate"),
    (log_standard_gamma, (-1.0,), "shape"),
    (log_standard_gamma, (np.nan,), "shape"),
    (split_counts, (3, [np.nan, 0.0]), "log_rates"),
    (split_counts, (3, [np.inf, 0.0]), "log_rates"),
    (split_counts, (3, [-np.inf, -np.inf]), "log_rates"),
    (split_counts, (3, 1.0), "log_rates"),
    (split_counts, (-3, [0.0, 0.0]), "count"),
]


@pytest.mark.parametrize(("law", "arguments", "name"), BAD)
def test_bad_arguments_are_named(law, arguments, name, rng):
    """A bad argument raises a ValueError that begins with its name."""
    with pytest.raises(ValueError, match=f"^{name} must"):
        law(*arguments, rng)


def test_error_shows_value_and_place(rng):
    """Among many values, the message shows the bad one and where it is."""
    with pytest.raises(ValueError, match=r"shape must be finite and >= 0; got -2\.0 at index \(1, 0\)"):
        polya_gamma([[1.0], [-2.0]], 0.0, rng)


@pytest.mark.parametrize(
    ("function", "arguments", "name"),
    [
        (polya_gamma_moments, (-1.0, 0.0), "shape"),
        (crt_moments, (3, -1.0), "concentration"),
        (sum_log_pmf, (3, 1.5, 4), "probability"),
        (truncated_poisson_pmf, (-1, 1.0), "value"),
    ],
)
def test_moments_and_pmf_check_their_arguments(function, arguments, name):
    """The functions beside the draws check like the draws."""
    with pytest.raises(ValueError, match=f"^{name} must"):
        function(*arguments)


@pytest.mark.parametrize("seed", [3, None, np.random.RandomState(0)])
def test_rng_must_be_a_generator(seed):
    """A seed or an old RandomState is refused, with advice."""
    with pytest.raises(TypeError, match="default_rng"):
        polya_gamma(1.0, 1.0, seed)


def test_terms_must_be_a_count(rng):
    """The number of terms is a whole number above zero."""
    with pytest.raises(ValueError, match=r"^terms must"):
        polya_gamma(1.0, 1.0, rng, terms=0)


@pytest.mark.parametrize("name", LAWS)
def test_scalars_and_0d_arrays_give_scalars(name, rng):
    """Scalars and 0-d arrays give one draw, not an array."""
    law, arguments = LAWS[name]
    assert np.ndim(law(*arguments, rng)) == 0
    assert np.ndim(law(*(np.array(argument) for argument in arguments), rng)) == 0


@pytest.mark.parametrize("name", LAWS)
def test_empty_arrays_work(name, rng):
    """An empty argument gives an empty result of the common shape."""
    law, arguments = LAWS[name]
    empty = np.full((0, 3), arguments[0])
    assert law(empty, *arguments[1:], rng).shape == (0, 3)


@pytest.mark.parametrize("name", LAWS)
def test_broadcasting_equals_a_loop(name):
    """Broadcast arguments give the draws of a loop over entries, from the same generator."""
    law, arguments = LAWS[name]
    scale = np.array([[1.0], [3.0]])
    first = arguments[0] * scale if isinstance(arguments[0], float) else arguments[0] * scale.astype(int)
    rest = [np.array([argument, argument / 2, argument / 3]) for argument in arguments[1:]]
    together = law(first, *rest, np.random.default_rng(5))
    one_by_one = np.random.default_rng(5)
    entries = np.broadcast(first, *rest)
    assert together.shape == entries.shape
    loop = [law(*entry, one_by_one) for entry in entries]
    assert together.reshape(-1).tolist() == loop


@pytest.mark.parametrize("name", LAWS)
def test_size_asks_for_more_draws(name, rng):
    """`size` gives the result's shape, and must hold the arguments' shape."""
    law, arguments = LAWS[name]
    assert law(*arguments, rng, size=(4, 2)).shape == (4, 2)
    assert law(*arguments, rng, size=3).shape == (3,)
    with pytest.raises(ValueError, match="does not hold"):
        law(np.array([arguments[0]] * 2), *arguments[1:], rng, size=3)


def test_split_broadcasts_counts_against_rates(rng):
    """One row of rates serves many counts, and many rows one count."""
    counts = np.array([[3], [50]])
    assert split_counts(counts, np.zeros((2, 4)), rng).sum(axis=-1).tolist() == [[3, 3], [50, 50]]
    assert split_counts(np.zeros(0, dtype=int), np.zeros((0, 4)), rng).shape == (0, 4)


def test_integral_doubles_are_counts(rng):
    """A whole number in a double is a count."""
    assert crt(1.0, 2.0, rng) == 1


def test_sum_log_says_when_int64_is_too_small(rng):
    """A sum that cannot be held raises instead of wrapping round."""
    with pytest.raises(OverflowError, match="int64"):
        sum_log(10**12, 1.0 - 1e-15, rng)
