"""Arithmetic of a leapfrog step on flat arrays, whose last entries are log weights."""


def kick_and_drift(
    double[::1] position, double[::1] momentum, const double[::1] slope, const double[::1] scale, double kick,
    double step, Py_ssize_t n_weights, double lower, double upper,
):
    """Change momentum by `kick` times the gradient `slope`, then position by `step` times the momentum.

    Both are multiplied by `scale`: the momentum is that of position / scale, and has variance one.

    A log weight that crosses a bound is reflected, which preserves volume and is reversible.
    """
    cdef Py_ssize_t i, n_entries = position.shape[0]
    for i in range(n_entries):
        momentum[i] += kick * scale[i] * slope[i]
        position[i] += step * scale[i] * momentum[i]
    # One reflection is enough: only one of the bounds is finite (`_hamiltonian._select_experts`).
    for i in range(n_entries - n_weights, n_entries):
        if position[i] < lower:
            position[i] = 2.0 * lower - position[i]
            momentum[i] = -momentum[i]
        elif position[i] > upper:
            position[i] = 2.0 * upper - position[i]
            momentum[i] = -momentum[i]
