"""Two independent distribution functions of the Polya-Gamma law."""

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


def thousand_term_cdf(shape, tilt, mean, deviation):
    """Distribution function of 1,000 gamma terms plus one with the mean and variance of all the others.

    The characteristic function is inverted by Gil-Pelaez's integral, which a trapezium sum makes a Fourier series.
    """
    terms = np.arange(1, 1001)
    scales = 1.0 / (2 * np.pi**2 * ((terms - 0.5) ** 2 + (tilt / (2 * np.pi)) ** 2))
    tail = np.arange(1001, 2_000_001)
    tail_scales = 1.0 / (2 * np.pi**2 * ((tail - 0.5) ** 2 + (tilt / (2 * np.pi)) ** 2))
    # What is left after 2e6 terms is below 1e-7 of the tail; its mean is that of an integral.
    tail_mean = tail_scales.sum() + 1.0 / (2 * np.pi**2 * 2_000_000)
    tail_variance = (tail_scales**2).sum()
    # The Fourier series repeats itself after 2 pi / step, here 40 deviations or more.
    step = 2 * np.pi / (mean + 40 * deviation) if mean < 40 * deviation else 2 * np.pi / (40 * deviation)
    n_frequencies = 1 << 15
    frequencies = (np.arange(n_frequencies) + 0.5) * step
    log_transform = np.zeros(n_frequencies, dtype=complex)
    for scale in scales:
        log_transform -= np.log1p(-1j * frequencies * scale)
    log_transform -= tail_mean**2 / tail_variance * np.log1p(-1j * frequencies * tail_variance / tail_mean)
    transform = np.exp(shape * log_transform)
    assert abs(transform[-1]) < 1e-6, "the transform must have died out"
    keep = abs(transform) > 1e-12

    def cdf(x):
        grid = np.linspace(mean - 8 * deviation, mean + 14 * deviation, 2001)
        grid = np.concatenate([np.geomspace(1e-3 * mean, mean, 500), grid[grid > mean]]) if grid[0] < 0 else grid
        waves = np.exp(-1j * np.outer(grid, frequencies[keep]))
        values = 0.5 - (waves @ (transform[keep] / frequencies[keep])).imag * step / np.pi
        return np.interp(x, grid, values)

    return cdf
