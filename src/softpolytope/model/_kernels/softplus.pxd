"""Scalar pieces of the softplus layers, shared by kernels."""

from libc.math cimport INFINITY, exp, log, log1p


cdef inline double next_activation(double predictor, double activation, double* log_activation,
                                   double* slope) noexcept nogil:
    """q' = log(1 + q e^x'beta) and log q' for any numbers, and the derivative of log q' by log q."""
    cdef double odds, result, logit
    if 1e-290 < activation < INFINITY:
        log_activation[0] = log(activation)
    logit = predictor + log_activation[0]
    if logit > 37.0:
        log_activation[0] = log(logit)
        slope[0] = 1.0 / logit
        return logit
    if logit < -37.0:
        log_activation[0] = logit
        slope[0] = 1.0
        return exp(logit)
    odds = exp(logit)
    result = log1p(odds)
    slope[0] = odds / ((1.0 + odds) * result)
    log_activation[0] = log(result)
    return result
