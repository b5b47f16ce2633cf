"""Two independent distribution functions of the Polya-Gamma law."""

import functools

import numpy as np
from scipy import special


def series_cdf(shape, tilt):
    """The exact distribution function, from the alternating series of the density.

    Each term of the density integrates to the (defective) distribution function of an inverse Gaussian. The
    terms grow like 2^shape before they cancel, so shapes up to 30 are right to 1e-6 or better.
    """
    front = shape * np.log1p(np.exp(-abs(tilt)))  # (1 + e^-c)^h = (2 cosh(c/2))^h e^{-hc/2}
    c = abs(tilt)

    def cdf(x):
        total = np.zeros_like(x)
        root = np.sqrt(2.0 * x)
        for n in range(400):
            a = n + 0.5 * shape
            log_coefficient = special.gammaln(n + shape) - special.gammaln(shape) - special.gammaln(n + 1)
            # First passage of level a with drift c: e^{-ac}/2 (erfc((a - cx)/root) e^{...} + ...).
            first = special.erfc((a - c * x) / root) * np.exp(-n * c)
            second = special.erfcx((a + c * x) / root) * np.exp(-((a - c * x) ** 2) / (2 * x) - n * c)
            term = 0.5 * (-1) ** n * np.exp(front + log_coefficient) * (first + second)
            total += term
            if np.abs(term).max() < 1e-16:
                break
        return total

    return cdf


@functools.cache
def thousand_term_log_transform(tilt, step, n_frequencies):
    """Log of the characteristic function of shape one, at the middles of steps."""
    places = np.arange(1, 2_000_001) - 0.5
    scales = 1.0 / (2 * np.pi**2 * (places**2 + (tilt / (2 * np.pi)) ** 2))
    tail_scales = scales[1000:]
    # What is left after 2e6 terms is below 1e-7 of the tail; its mean is that of an integral.
    tail_mean = tail_scales.sum() + 1.0 / (2 * np.pi**2 * 2_000_000)
    tail_variance = (tail_scales**2).sum()
    frequencies = (np.arange(n_frequencies) + 0.5) * step
    modulus, phase = np.zeros(n_frequencies), np.zeros(n_frequencies)
    for scale in scales[:1000]:
        product = frequencies * scale
        phase += np.arctan(product)
        modulus -= 0.5 * np.log1p(product * product)
    tail = -(tail_mean**2) / tail_variance * np.log1p(-1j * frequencies * tail_variance / tail_mean)
    return modulus + 1j * phase + tail


def thousand_term_cdf(shape, tilt, mean, deviation):
    """Distribution function of 1,000 gamma terms plus one with the mean and variance of all the others.

    The characteristic function is inverted by Gil-Pelaez's integral, which a trapezium sum makes a Fourier series.
    """
    # The Fourier series repeats itself after 2 pi / step, here 40 deviations or more.
    step = 2 * np.pi / (mean + 40 * deviation) if mean < 40 * deviation else 2 * np.pi / (40 * deviation)
    n_frequencies = 1 << 15
    frequencies = (np.arange(n_frequencies) + 0.5) * step
    transform = np.exp(shape * thousand_term_log_transform(tilt, step, n_frequencies))
    assert abs(transform[-1]) < 1e-6, "the transform must have died out"
    # Summed by a Fourier transform at eight points per frequency, from where the law begins.
    start, n_points = max(mean - 8 * deviation, 0.0), 8 * n_frequencies
    grid = start + 2 * np.pi / step * np.arange(n_points) / n_points
    waves = np.fft.fft(transform / frequencies * np.exp(-1j * start * frequencies), n_points)
    values = 0.5 - (np.exp(-1j * np.pi * np.arange(n_points) / n_points) * waves).imag * step / np.pi
    is_inside = grid < mean + 14 * deviation

    def cdf(x):
        return np.interp(x, grid[is_inside], values[is_inside])

    return cdf
