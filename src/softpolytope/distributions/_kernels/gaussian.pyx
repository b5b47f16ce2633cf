"""Gaussian draws from a precision matrix and a linear term, for all experts in one call.

The Cholesky factor is computed in a fixed order of operations (`symmetric.h`), so that draws do not depend on a BLAS.
"""

from libc.math cimport isfinite, sqrt
from libc.string cimport memset
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_normal

from softpolytope.distributions._kernels.bits cimport bits_of

cdef extern from "symmetric.h" nogil:
    Py_ssize_t padded(Py_ssize_t n)
    bint factorise_upper(Py_ssize_t n, Py_ssize_t width, double* S)
    void solve_lower(Py_ssize_t n, Py_ssize_t width, const double* U, double* v)
    void solve_upper(Py_ssize_t n, Py_ssize_t width, const double* U, double* v)

cdef enum:
    MAX_REPAIRS = 6  # attempts; the last one adds 1e-4 to a unit diagonal


cdef bint factorise(
    const double* precision, double* factor, const double* scale, Py_ssize_t size, Py_ssize_t width
) noexcept nogil:
    """Write the Cholesky factor of the matrix scaled to a unit diagonal; return False if it has none.

    Rounding can make a nearly singular matrix indefinite: repeated attempts add 1e-12, 1e-10, ... to the diagonal.
    """
    cdef Py_ssize_t row, column
    cdef int repair
    cdef double extra = 0.0
    for repair in range(MAX_REPAIRS):
        memset(factor, 0, size * width * sizeof(double))
        for row in range(size):
            for column in range(row, size):
                factor[row * width + column] = precision[row * size + column] * scale[row] * scale[column]
            factor[row * width + row] += extra
        if factorise_upper(size, width, factor):
            return True
        extra = 1e-12 if extra == 0.0 else 100.0 * extra
    return False


cdef bint draw_one(
    bitgen_t* bits, const double* precision, const double* linear, Py_ssize_t size, double* scratch, double* out
) noexcept nogil:
    """Draw N(S^-1 h, S^-1); return False if S has no Cholesky factor."""
    cdef Py_ssize_t width = padded(size), column
    cdef double* scale = scratch + size * width
    cdef double diagonal
    for column in range(size):
        diagonal = precision[column * size + column]
        if not (isfinite(diagonal) and diagonal > 0.0):
            return False
        scale[column] = 1.0 / sqrt(diagonal)
        out[column] = linear[column] * scale[column]
    if not factorise(precision, scratch, scale, size, width):
        return False
    # With S = D U'U D (D the scaling): mean = D^-1 U^-1 U^-T D^-1 h, and U^-1 z has the covariance.
    solve_lower(size, width, scratch, out)
    for column in range(size):
        out[column] += random_standard_normal(bits)
    solve_upper(size, width, scratch, out)
    for column in range(size):
        out[column] *= scale[column]
    return True


def draw_gaussians(
    object bit_generator, const double[:, :, ::1] precision, const double[:, ::1] linear, double[:, ::1] out,
    double[::1] scratch,
):
    """Draw N(S^-1 h, S^-1) for each expert; return the first expert without a Cholesky factor, or -1.

    `precision` is (experts, columns, columns), `linear` and `out` (experts, columns); `scratch` has room for
    columns * (columns + 4) doubles.
    """
    cdef bitgen_t* bits = bits_of(bit_generator)
    cdef Py_ssize_t expert, failed = -1
    with bit_generator.lock, nogil:
        for expert in range(precision.shape[0]):
            if not draw_one(
                bits, &precision[expert, 0, 0], &linear[expert, 0], precision.shape[1], &scratch[0], &out[expert, 0]
            ):
                failed = expert
                break
    return failed
