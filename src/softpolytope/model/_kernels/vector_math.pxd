"""Vectorised elementary functions; the header says what they do."""

cdef extern from "vector_math.h" nogil:
    double plain_exp(double x)
    double plain_log(double x)
    void add_multiple(Py_ssize_t n, double a, const double* x, double* y)
    void multiply(
        Py_ssize_t n_rows, Py_ssize_t n_columns, Py_ssize_t n, const double* X, const double* W, double* Y
    )
    void add_transposed_product(
        Py_ssize_t n_rows, Py_ssize_t n_columns, Py_ssize_t n, const double* X, const double* W, double* Y
    )
    void activate_with_slopes(Py_ssize_t n, double* predictor, double* activation, double* is_plain)
    void activate(Py_ssize_t n, const double* predictor, double* activation, double* is_plain)
    void log_positive_with_slopes(Py_ssize_t n, const double* rate, double* log_positive, double* slope)
    void add_probabilities(Py_ssize_t n, double weight, const double* rate, double* event, double* survival)
    void multiply_odds(
        Py_ssize_t n, double limit, double lowest, double highest, const double* rate, double* product
    )
    void log_softplus_of(Py_ssize_t n, double* z, double* activation)
