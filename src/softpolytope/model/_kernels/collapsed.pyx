"""The collapsed log likelihood and its gradient over a block of rows, all experts at once.

Rows are taken in chunks. Within a chunk an array has one run of rows per expert and layer, so that all arithmetic goes
along rows, whatever the number of experts. Rows with numbers beyond the reach of the plain formulas are few, and are
done again one by one.
"""

from libc.math cimport INFINITY, exp, expm1, log, log1p
from libc.stdlib cimport free, malloc
from libc.string cimport memset
from scipy.linalg.cython_blas cimport dgemm

from softpolytope.model._kernels.softplus cimport next_activation
from softpolytope.model._kernels.vector_math cimport activate_with_slopes, add_multiple, log_positive_with_slopes

cdef enum:
    CHUNK = 128
    # Sparse rows this narrow are unfolded a chunk at a time, and give the bits of dense ones.
    WIDEST_UNFOLDED = 48

cdef double MIN_PLAIN_RATE = 1e-280


cdef struct Rows:
    # Dense rows have `values` alone; CSR rows have all three.
    const double* values
    const int* indices
    const int* indptr
    Py_ssize_t n_rows
    int n_columns


cdef struct Experts:
    int n_experts
    int n_layers
    double* coefficients  # (experts, layers, columns), for wide CSR rows (columns, experts, layers)
    double* slopes  # of the value by the coefficients, in the same order
    const double* log_weights
    double* weight_slopes


cdef struct Chunk:
    # Each is made of runs of CHUNK rows.
    double* predictor  # (experts, layers); becomes d log q' / d log q, then the slope of the value
    double* activation  # (experts); q of the top, then the rate r q
    double* rate
    double* log_positive
    double* pull  # of the value by the rate
    double* is_plain
    double* line  # (experts, layers): one row of the predictor
    double* unfolded  # rows of a narrow sparse design


cdef const double* dense_rows(const Rows* rows, Py_ssize_t start, int n_rows, const Chunk* chunk) noexcept nogil:
    """A few rows as a dense array, or NULL where they are sparse and wide."""
    cdef Py_ssize_t row, entry
    if rows.indptr == NULL:
        return rows.values + start * rows.n_columns
    if rows.n_columns > WIDEST_UNFOLDED:
        return NULL
    memset(chunk.unfolded, 0, n_rows * rows.n_columns * sizeof(double))
    for row in range(n_rows):
        for entry in range(rows.indptr[start + row], rows.indptr[start + row + 1]):
            chunk.unfolded[row * rows.n_columns + rows.indices[entry]] = rows.values[entry]
    return chunk.unfolded


cdef void predict(const Rows* rows, const Experts* experts, Py_ssize_t start, int n_rows, double* out,
                  const Chunk* chunk) noexcept nogil:
    """x'beta of a few rows."""
    cdef int n_lines = experts.n_experts * experts.n_layers, n_columns = rows.n_columns, run = CHUNK, i
    cdef double one = 1.0, zero = 0.0
    cdef double* line = chunk.line
    cdef const double* coefficients
    cdef const double* dense = dense_rows(rows, start, n_rows, chunk)
    cdef Py_ssize_t row, entry
    if dense != NULL:
        dgemm(b"T", b"N", &n_rows, &n_lines, &n_columns, &one, <double*> dense, &n_columns,
              experts.coefficients, &n_columns, &zero, out, &run)
        return
    for row in range(n_rows):
        memset(line, 0, n_lines * sizeof(double))
        for entry in range(rows.indptr[start + row], rows.indptr[start + row + 1]):
            coefficients = experts.coefficients + <Py_ssize_t> rows.indices[entry] * n_lines
            add_multiple(n_lines, rows.values[entry], coefficients, line)
        for i in range(n_lines):
            out[<Py_ssize_t> i * CHUNK + row] = line[i]


cdef void add_slopes(const Rows* rows, const Experts* experts, Py_ssize_t start, int n_rows,
                     const Chunk* chunk) noexcept nogil:
    """Add x times the slopes by x'beta of a few rows to those by the coefficients."""
    cdef int n_lines = experts.n_experts * experts.n_layers, n_columns = rows.n_columns, run = CHUNK, i
    cdef double one = 1.0
    cdef double* line = chunk.line
    cdef double* slopes
    cdef const double* dense = dense_rows(rows, start, n_rows, chunk)
    cdef Py_ssize_t row, entry
    if dense != NULL:
        dgemm(b"N", b"N", &n_columns, &n_lines, &n_rows, &one, <double*> dense, &n_columns,
              chunk.predictor, &run, &one, experts.slopes, &n_columns)
        return
    for row in range(n_rows):
        for i in range(n_lines):
            line[i] = chunk.predictor[<Py_ssize_t> i * CHUNK + row]
        for entry in range(rows.indptr[start + row], rows.indptr[start + row + 1]):
            slopes = experts.slopes + <Py_ssize_t> rows.indices[entry] * n_lines
            add_multiple(n_lines, rows.values[entry], line, slopes)


cdef double repeat_row(const Rows* rows, const Experts* experts, Py_ssize_t start, Py_ssize_t row, double offset,
                       bint label, const Chunk* chunk) noexcept nogil:
    """Do one row of a chunk again in logarithms; returns its log likelihood."""
    cdef double* predictor = chunk.predictor + row
    cdef double* terms = chunk.activation + row
    cdef int n_layers = experts.n_layers, expert, layer, place
    cdef double activation, log_activation, log_term, largest = -INFINITY, rate = offset, shares = 0.0
    predict(rows, experts, start + row, 1, predictor, chunk)
    for expert in range(experts.n_experts):
        activation = 1.0
        log_activation = 0.0
        for layer in range(n_layers):
            place = (expert * n_layers + layer) * CHUNK
            activation = next_activation(predictor[place], activation, &log_activation, &predictor[place])
        log_term = experts.log_weights[expert] + log_activation
        terms[expert * CHUNK] = log_term
        largest = log_term if log_term > largest else largest
        rate += exp(experts.log_weights[expert]) * activation
    if label and rate <= MIN_PLAIN_RATE:
        # The rate has underflowed. Its terms' shares follow from logarithms, and log lambda pulls with full force.
        for expert in range(experts.n_experts):
            terms[expert * CHUNK] = exp(terms[expert * CHUNK] - largest)
            shares += terms[expert * CHUNK]
        chunk.pull[row] = 1.0 / shares
        return largest + log(shares)
    for expert in range(experts.n_experts):
        terms[expert * CHUNK] = exp(terms[expert * CHUNK])
    if not label:
        chunk.pull[row] = -1.0
        return -rate
    chunk.pull[row] = 1.0 / expm1(rate) if rate < 700.0 else 0.0
    return log(-expm1(-rate)) if rate < 0.7 else log1p(-exp(-rate))


cdef double add_chunk(
    const Rows* rows, const Experts* experts, Py_ssize_t start, int n_rows, const unsigned char* labels,
    const double* row_weights, const double* offset, const Chunk* chunk,
) noexcept nogil:
    """Log likelihood of a chunk of rows; its slopes are added."""
    cdef int n_layers = experts.n_layers, expert, layer
    cdef Py_ssize_t row
    cdef double* activation
    cdef double* slope
    cdef double weight, value = 0.0, total
    predict(rows, experts, start, n_rows, chunk.predictor, chunk)
    for row in range(n_rows):
        chunk.rate[row] = offset[start + row]
        chunk.is_plain[row] = 1.0
    for expert in range(experts.n_experts):
        activation = chunk.activation + expert * CHUNK
        weight = exp(experts.log_weights[expert])
        for row in range(n_rows):
            activation[row] = 1.0
        for layer in range(n_layers):
            activate_with_slopes(
                n_rows, chunk.predictor + (expert * n_layers + layer) * CHUNK, activation, chunk.is_plain
            )
        for row in range(n_rows):
            activation[row] *= weight
            chunk.rate[row] += activation[row]
    log_positive_with_slopes(n_rows, chunk.rate, chunk.log_positive, chunk.pull)
    for row in range(n_rows):
        if chunk.is_plain[row] == 0.0 or not MIN_PLAIN_RATE < chunk.rate[row] < INFINITY:
            value += row_weights[start + row] * repeat_row(
                rows, experts, start, row, offset[start + row], labels[start + row], chunk
            )
        elif labels[start + row]:
            value += row_weights[start + row] * chunk.log_positive[row]
        else:
            value -= row_weights[start + row] * chunk.rate[row]
            chunk.pull[row] = -1.0
        chunk.pull[row] *= row_weights[start + row]
    for expert in range(experts.n_experts):
        activation = chunk.activation + expert * CHUNK
        total = 0.0
        for row in range(n_rows):
            activation[row] *= chunk.pull[row]
            total += activation[row]
        experts.weight_slopes[expert] += total
        for layer in range(n_layers - 1, -1, -1):
            slope = chunk.predictor + (expert * n_layers + layer) * CHUNK
            for row in range(n_rows):
                activation[row] *= slope[row]
                slope[row] = activation[row]
    add_slopes(rows, experts, start, n_rows, chunk)
    return value


cdef bint open_chunk(const Rows* rows, const Experts* experts, Chunk* chunk) noexcept nogil:
    """Memory for a chunk, to be freed as `predictor`; returns whether there is any."""
    cdef Py_ssize_t n_lines = experts.n_experts * experts.n_layers
    cdef Py_ssize_t n_unfolded = rows.n_columns if rows.indptr != NULL and rows.n_columns <= WIDEST_UNFOLDED else 0
    cdef double* memory = <double*> malloc(
        ((n_lines + experts.n_experts + 4 + n_unfolded) * CHUNK + n_lines) * sizeof(double)
    )
    chunk.predictor = memory
    chunk.activation = chunk.predictor + n_lines * CHUNK
    chunk.rate = chunk.activation + experts.n_experts * CHUNK
    chunk.log_positive = chunk.rate + CHUNK
    chunk.pull = chunk.log_positive + CHUNK
    chunk.is_plain = chunk.pull + CHUNK
    chunk.unfolded = chunk.is_plain + CHUNK
    chunk.line = chunk.unfolded + n_unfolded * CHUNK
    return memory != NULL


cdef double add_rows(
    const Rows* rows, const Experts* experts, const unsigned char* labels, const double* row_weights,
    const double* offset,
) noexcept nogil:
    """Log likelihood of all rows; its slopes are added. Returns NaN where there is no memory."""
    cdef Py_ssize_t start
    cdef double value = 0.0
    cdef Chunk chunk
    if not open_chunk(rows, experts, &chunk):
        return INFINITY - INFINITY
    for start from 0 <= start < rows.n_rows by CHUNK:
        value += add_chunk(
            rows, experts, start, min(<Py_ssize_t> CHUNK, rows.n_rows - start), labels, row_weights, offset, &chunk
        )
    free(chunk.predictor)
    return value


def add_likelihood_dense(
    const double[:, ::1] design, double[:, :, ::1] coefficients, const double[::1] log_weights,
    const unsigned char[::1] labels, const double[::1] row_weights, const double[::1] offset,
    double[:, :, ::1] slopes, double[::1] weight_slopes,
):
    """Return the log likelihood of a block of rows, and add its derivatives.

    Coefficients and their slopes are (experts, layers, columns); weight slopes are those by log r_k. `offset` is a part
    of each row's rate that is held fixed.
    """
    cdef Rows rows
    cdef Experts experts
    cdef double value
    if design.shape[0] == 0 or log_weights.shape[0] == 0:
        return 0.0
    rows.values = &design[0, 0]
    rows.indices = rows.indptr = NULL
    rows.n_rows = design.shape[0]
    rows.n_columns = design.shape[1]
    experts.n_experts = coefficients.shape[0]
    experts.n_layers = coefficients.shape[1]
    experts.coefficients = &coefficients[0, 0, 0]
    experts.slopes = &slopes[0, 0, 0]
    experts.log_weights = &log_weights[0]
    experts.weight_slopes = &weight_slopes[0]
    with nogil:
        value = add_rows(&rows, &experts, &labels[0], &row_weights[0], &offset[0])
    return value


def is_wide(int n_columns):
    """Whether sparse rows have coefficients and slopes as (columns, experts, layers)."""
    return n_columns > WIDEST_UNFOLDED


def add_likelihood_sparse(
    const double[::1] data, const int[::1] indices, const int[::1] indptr, double[:, :, ::1] coefficients,
    const double[::1] log_weights, const unsigned char[::1] labels, const double[::1] row_weights,
    const double[::1] offset, double[:, :, ::1] slopes, double[::1] weight_slopes, int n_columns,
):
    """The same for rows in CSR form; of wide rows, coefficients and slopes are (columns, experts, layers)."""
    cdef Rows rows
    cdef Experts experts
    cdef double value
    if indptr.shape[0] < 2 or log_weights.shape[0] == 0:
        return 0.0
    rows.values = &data[0] if data.shape[0] else NULL
    rows.indices = &indices[0] if data.shape[0] else NULL
    rows.indptr = &indptr[0]
    rows.n_rows = indptr.shape[0] - 1
    rows.n_columns = n_columns
    experts.n_experts = log_weights.shape[0]
    experts.n_layers = coefficients.shape[2 if is_wide(n_columns) else 1]
    experts.coefficients = &coefficients[0, 0, 0]
    experts.slopes = &slopes[0, 0, 0]
    experts.log_weights = &log_weights[0]
    experts.weight_slopes = &weight_slopes[0]
    with nogil:
        value = add_rows(&rows, &experts, &labels[0], &row_weights[0], &offset[0])
    return value
