"""Scalar pieces of the softplus layers, shared by kernels."""

from libc.math cimport exp, log


cdef inline double log_one_plus(double odds) noexcept nogil:
    """log(1 + odds) for odds >= 0, to 1e-14: half the time of log1p, which half the passes over rows would be."""
    if odds > 0.01:
        return log(1.0 + odds)
    return odds * (
        1.0 - odds * (1.0 / 2 - odds * (1.0 / 3 - odds * (1.0 / 4 - odds * (1.0 / 5 - odds * (1.0 / 6 - odds / 7)))))
    )


cdef inline double log_softplus(double z) noexcept nogil:
    """log(log(1 + e^z)); near its zero the absolute, not the relative error is a few rounding units."""
    if z < -18.0:
        return z - 0.5 * exp(z)
    if z > 37.0:
        return log(z)
    return log(log_one_plus(exp(z)))
