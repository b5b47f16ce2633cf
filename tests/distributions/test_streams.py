"""Named random streams."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from softpolytope.distributions import Streams
from softpolytope.distributions._streams import _counter

NAME = {"labeling": 1, "chain": 2, "sweep": 30, "step": 4, "block": 5}
names = st.fixed_dictionaries(
    {
        "labeling": st.integers(0, 2**32 - 1),
        "chain": st.integers(0, 2**32 - 1),
        "sweep": st.integers(0, 2**48 - 1),
        "step": st.integers(0, 2**16 - 1),
        "block": st.integers(0, 2**64 - 1),
    }
)


def philox_block(counter, key):
    """Philox4x64-10 (Salmon et al. 2011), written from its definition: four words from a counter and a key."""
    mask = 2**64 - 1
    words, keys = list(counter), list(key)
    for _ in range(10):
        first, second = 0xD2E7470EE14C6C93 * words[0], 0xCA5A826395121157 * words[2]
        words = [
            (second >> 64) ^ words[1] ^ keys[0],
            second & mask,
            (first >> 64) ^ words[3] ^ keys[1],
            first & mask,
        ]
        keys = [(keys[0] + 0x9E3779B97F4A7C15) & mask, (keys[1] + 0xBB67AE8584CAA73B) & mask]
    return words


@given(names)
def test_stream_is_philox_at_its_name(name):
    """The words of a stream are Philox of (1, name), (2, name), ...: NumPy counts before it draws."""
    streams = Streams(11)
    words = streams.generator(**name).bit_generator.random_raw(8).tolist()
    _, *upper = _counter(**name)
    expected = [word for place in (1, 2) for word in philox_block([place, *upper], streams.key)]
    assert words == expected


@given(names, names)
def test_names_and_counters_are_one_to_one(first, second):
    """Different names have different upper words, so their streams share no counter value."""
    assert (_counter(**first) == _counter(**second)) == (first == second)
    assert _counter(**first)[0] == 0


@pytest.mark.parametrize("part", NAME)
def test_every_part_of_the_name_counts(part):
    """Changing one part of the name changes the stream, and no word is shared."""
    streams = Streams(3)
    here = streams.generator(**NAME).bit_generator.random_raw(4000)
    there = streams.generator(**{**NAME, part: NAME[part] + 1}).bit_generator.random_raw(4000)
    assert np.intersect1d(here, there).size == 0


def test_neighboring_streams_are_uncorrelated():
    """First uniforms of 100,000 neighboring blocks are uniform (level 1e-4); their squares are rejected."""
    streams = Streams(0)
    first = np.array([streams.generator(**{**NAME, "block": block}).random() for block in range(100_000)])
    assert stats.kstest(first, "uniform").pvalue > 1e-4
    assert stats.kstest(first**1.05, "uniform").pvalue < 1e-4
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 3.9 / np.sqrt(len(first))


def test_same_draws_in_any_order_and_on_any_thread():
    """A name gives the same draws whatever else was opened before, on every thread."""
    streams = Streams(5)
    blocks = list(range(40))

    def draw(block):
        return streams.generator(**{**NAME, "block": block}).standard_normal(50).tolist()

    forwards = [draw(block) for block in blocks]
    backwards = [draw(block) for block in reversed(blocks)][::-1]
    with ThreadPoolExecutor(4) as pool:
        threaded = list(pool.map(draw, blocks))
    assert forwards == backwards == threaded


def test_half_used_words_are_forgotten():
    """Opening a stream drops what the generator had buffered, 32-bit halves included."""
    streams = Streams(5)
    fresh = streams.generator(**NAME).random(3, dtype=np.float32).tolist()
    streams.generator(**{**NAME, "block": 77}).random(1, dtype=np.float32)
    assert streams.generator(**NAME).random(3, dtype=np.float32).tolist() == fresh


def test_pickled_streams_are_the_same():
    """Streams travel to other processes."""
    streams = Streams(21)
    copy = pickle.loads(pickle.dumps(streams))  # noqa: S301
    assert copy.generator(**NAME).random() == streams.generator(**NAME).random()


def test_seeds_matter():
    """Other seeds give other streams; the same seed, as a number or a SeedSequence, the same."""
    first = Streams(1).generator(**NAME).random()
    assert first != Streams(2).generator(**NAME).random()
    assert first == Streams(np.random.SeedSequence(1)).generator(**NAME).random()
    assert Streams().key != Streams().key


@pytest.mark.parametrize("part", NAME)
@pytest.mark.parametrize("value", [-1, 2**64])
def test_names_out_of_range_are_refused(part, value):
    """A part that does not fit its bits raises an error that names it."""
    with pytest.raises(ValueError, match=f"^{part} must"):
        Streams(0).generator(**{**NAME, part: value})
