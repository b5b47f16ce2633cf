"""Forward and backward pass of the collapsed likelihood over a block of rows, all experts at once."""

from libc.math cimport INFINITY, exp, expm1, log, log1p

from softpolytope.model._softplus cimport log_one_plus


cdef inline double next_activation(double predictor, double activation, double log_activation, double* log_next,
                                   double* slope) noexcept nogil:
    """q' = log(1 + q e^x'beta); also log q' and its derivative by log q.

    Where q e^x'beta is an ordinary number, one exponential and one logarithm do; `log_next` is then left for the
    caller, who needs it only where q' is not an ordinary number itself.
    """
    cdef double odds, result, logit
    if -500.0 < predictor < 500.0 and 1e-40 < activation < 1e40:
        odds = activation * exp(predictor)
        result = log_one_plus(odds)
        slope[0] = odds / ((1.0 + odds) * result)
        log_next[0] = 0.0
        return result
    if activation > 0.0 and activation < INFINITY and activation > 1e-290:
        log_activation = log(activation)
    logit = predictor + log_activation
    if logit > 37.0:
        log_next[0] = log(logit)
        slope[0] = 1.0 / logit
        return logit
    if logit < -37.0:
        log_next[0] = logit
        slope[0] = 1.0
        return exp(logit)
    odds = exp(logit)
    result = log_one_plus(odds)
    slope[0] = odds / ((1.0 + odds) * result)
    log_next[0] = log(result)
    return result


def value_and_slopes(
    double[:, :, ::1] predictor, const double[::1] log_weights, const unsigned char[::1] labels,
    const double[::1] row_weights, const double[::1] offset, double[::1] weight_slopes, double[::1] scratch,
):
    """Log likelihood of a block, and its derivatives.

    `predictor` is x'beta as (layers, rows, experts), and is overwritten by the derivative of the value by each of its
    entries; the derivatives by log r_k are added to `weight_slopes`. `offset` is a part of each row's rate that is held
    fixed. `scratch` has room for 3 * experts doubles.
    """
    cdef Py_ssize_t row, expert, layer
    cdef Py_ssize_t n_layers = predictor.shape[0], n_experts = predictor.shape[2]
    cdef double* weights = &scratch[0]
    cdef double* terms = weights + n_experts
    cdef double* logs = terms + n_experts
    cdef double value = 0.0, activation, log_activation, slope, rate, largest, pull, log_rate
    for expert in range(n_experts):
        weights[expert] = exp(log_weights[expert])
    with nogil:
        for row in range(predictor.shape[1]):
            rate = offset[row]
            for expert in range(n_experts):
                activation = 1.0
                log_activation = 0.0
                for layer in range(n_layers):
                    activation = next_activation(
                        predictor[layer, row, expert], activation, log_activation, &log_activation, &slope
                    )
                    predictor[layer, row, expert] = slope
                terms[expert] = weights[expert] * activation
                logs[expert] = log_activation
                rate += terms[expert]
            # terms become the derivatives by log(r_k q_k).
            if not labels[row]:
                value -= row_weights[row] * rate
                pull = -row_weights[row]
            elif rate > 1e-280:
                value += row_weights[row] * (log(-expm1(-rate)) if rate < 0.7 else log1p(-exp(-rate)))
                pull = row_weights[row] / expm1(rate) if rate < 700.0 else 0.0
            else:
                # All terms have underflowed: their shares follow from the logarithms, and the log of the rate pulls
                # with full force.
                largest = -INFINITY
                for expert in range(n_experts):
                    if logs[expert] == 0.0 and terms[expert] > 0.0:
                        logs[expert] = log(terms[expert])
                    else:
                        logs[expert] += log_weights[expert]
                    largest = logs[expert] if logs[expert] > largest else largest
                rate = 0.0
                for expert in range(n_experts):
                    terms[expert] = exp(logs[expert] - largest)
                    rate += terms[expert]
                log_rate = largest + log(rate)
                value += row_weights[row] * log_rate
                pull = row_weights[row] / rate
            for expert in range(n_experts):
                slope = pull * terms[expert]
                weight_slopes[expert] += slope
                for layer in range(n_layers - 1, -1, -1):
                    slope *= predictor[layer, row, expert]
                    predictor[layer, row, expert] = slope
    return value
