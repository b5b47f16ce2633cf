"""Gaussian draws from a precision matrix and a linear term, for all experts in one call."""

from libc.math cimport isfinite, sqrt
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_normal
from scipy.linalg.cython_blas cimport dtrsv
from scipy.linalg.cython_lapack cimport dpotrf

from softpolytope.distributions._bits cimport bits_of

cdef enum:
    MOST_REPAIRS = 6


cdef bint factorise(double* precision, double* factor, const double* scale, int size) noexcept nogil:
    """Cholesky factor of the matrix scaled to a unit diagonal; repairs add 1e-12, 1e-10, ... to it."""
    cdef int repair, row, column, info
    cdef double extra = 0.0
    for repair in range(MOST_REPAIRS):
        for row in range(size):
            for column in range(size):
                factor[row * size + column] = precision[row * size + column] * scale[row] * scale[column]
            factor[row * size + row] += extra
        dpotrf(b"L", &size, factor, &size, &info)
        if info == 0:
            return True
        extra = 1e-12 if extra == 0.0 else 100.0 * extra
    return False


def draw_gaussians(
    object bit_generator, double[:, :, ::1] precision, const double[:, ::1] linear, double[:, ::1] out,
    double[::1] scratch,
):
    """Draw N(S^-1 h, S^-1) for each expert; returns the first expert without a factor, or -1.

    `precision` is (experts, columns, columns), `linear` and `out` (experts, columns); `scratch` has room for
    columns * (columns + 2) doubles.
    """
    cdef bitgen_t* bits = bits_of(bit_generator)
    cdef int size = precision.shape[1], one = 1
    cdef Py_ssize_t expert, n_experts = precision.shape[0]
    cdef int column
    cdef double* factor = &scratch[0]
    cdef double* scale = factor + size * size
    cdef double* vector = scale + size
    cdef bint is_good
    for expert in range(n_experts):
        is_good = True
        for column in range(size):
            if not (isfinite(precision[expert, column, column]) and precision[expert, column, column] > 0.0):
                is_good = False
                break
            scale[column] = 1.0 / sqrt(precision[expert, column, column])
            vector[column] = linear[expert, column] * scale[column]
        if not (is_good and factorise(&precision[expert, 0, 0], factor, scale, size)):
            return expert
        # With S = D L L' D (D the scaling): mean = D^-1 L^-T L^-1 D^-1 h, and L^-T z has the covariance.
        dtrsv(b"L", b"N", b"N", &size, factor, &size, vector, &one)
        for column in range(size):
            vector[column] += random_standard_normal(bits)
        dtrsv(b"L", b"T", b"N", &size, factor, &size, vector, &one)
        for column in range(size):
            out[expert, column] = vector[column] * scale[column]
    return -1
