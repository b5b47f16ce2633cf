"""The collapsed log prior of coefficients and weights, and its gradient."""

from libc.math cimport INFINITY, exp, fabs, fmax, log, log1p


def add_prior(
    const double[:, :, ::1] coefficients, const double[::1] log_weights, const double[:, ::1] precision_rates,
    double precision_shape, double weight_shape, double concentration,
    double[:, :, ::1] slopes, double[::1] weight_slopes,
):
    """Return the log prior density up to a constant, and add its derivatives.

    Coefficients have -(a + 1/2) log(1 + beta^2 / (2 b)), log weights `weight_shape` log r - concentration r. Written
    so, the value keeps its digits where a large shape makes the law nearly Gaussian.
    """
    cdef Py_ssize_t expert, layer, column
    cdef double value = 0.0, logs = 0.0, power = precision_shape + 0.5, scale, square, weight
    for expert in range(coefficients.shape[0]):
        for layer in range(coefficients.shape[1]):
            scale = fmax(2.0 * precision_rates[expert, layer], 1e-300)
            for column in range(coefficients.shape[2]):
                square = coefficients[expert, layer, column] * coefficients[expert, layer, column]
                if square / scale < INFINITY:
                    logs += log1p(square / scale)
                    slopes[expert, layer, column] -= (
                        2.0 * power * coefficients[expert, layer, column] / (scale + square)
                    )
                else:
                    # Coefficients of tiny columns: the square overflows, but its logarithm does not.
                    logs += 2.0 * log(fabs(coefficients[expert, layer, column])) - log(scale)
                    slopes[expert, layer, column] -= 2.0 * power / coefficients[expert, layer, column]
        weight = exp(log_weights[expert])
        value += weight_shape * log_weights[expert] - concentration * weight
        weight_slopes[expert] += weight_shape - concentration * weight
    return value - power * logs
