"""The collapsed log prior of coefficients and weights, and its gradient."""

from libc.math cimport exp, fmax, log


def add_prior(
    const double[:, :, ::1] coefficients, const double[::1] log_weights, const double[:, ::1] precision_rates,
    double precision_shape, double weight_shape, double concentration,
    double[:, :, ::1] slopes, double[::1] weight_slopes,
):
    """Return the log prior density up to a constant, and add its derivatives.

    Coefficients have -(a + 1/2) log(2 b + beta^2), log weights `weight_shape` log r - concentration r.
    """
    cdef Py_ssize_t expert, layer, column
    cdef double value = 0.0, logs = 0.0, power = precision_shape + 0.5, size, beta, weight
    for expert in range(coefficients.shape[0]):
        for layer in range(coefficients.shape[1]):
            for column in range(coefficients.shape[2]):
                beta = coefficients[expert, layer, column]
                size = fmax(2.0 * precision_rates[expert, layer] + beta * beta, 1e-300)
                logs += log(size)
                slopes[expert, layer, column] -= 2.0 * power * beta / size
        weight = exp(log_weights[expert])
        value += weight_shape * log_weights[expert] - concentration * weight
        weight_slopes[expert] += weight_shape - concentration * weight
    return value - power * logs
