"""Rows standardized for inference in one pass; NumPy takes a pass for each operation, in runs as short as a row."""


def fill_design(const double[:, ::1] rows, const double[::1] center, const double[::1] scale, double[:, ::1] out):
    """Write a column of ones, then the columns centerd and divided; `center` and `scale` begin with the intercept's."""
    cdef Py_ssize_t n_columns = rows.shape[1], row, column
    cdef const double* given
    cdef double* made
    if rows.shape[0] == 0:
        return
    with nogil:
        for row in range(rows.shape[0]):
            made = &out[row, 0]
            made[0] = 1.0
            if n_columns > 0:
                given = &rows[row, 0]
                for column in range(n_columns):
                    made[column + 1] = (given[column] - center[column + 1]) / scale[column + 1]
