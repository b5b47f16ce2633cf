"""The vectorised elementary functions on arrays, as tests see them."""

def fill_exp(const double[::1] x, double[::1] out):
    """Write e^x of numbers from -700 to 700."""
    cdef Py_ssize_t i
    for i in range(x.shape[0]):
        out[i] = plain_exp(x[i])


def fill_log(const double[::1] x, double[::1] out):
    """Write log x of normal numbers above 0."""
    cdef Py_ssize_t i
    for i in range(x.shape[0]):
        out[i] = plain_log(x[i])


def fill_log_positive(const double[::1] rate, double[::1] out, double[::1] slope):
    """Write log(1 - e^-rate) and 1 / (e^rate - 1) of rates above 1e-290."""
    log_positive_with_slopes(rate.shape[0], &rate[0], &out[0], &slope[0])


def fill_log_softplus(double[::1] z, double[::1] activation):
    """Replace z by log log(1 + e^z), and write log(1 + e^z)."""
    log_softplus_of(z.shape[0], &z[0], &activation[0])
