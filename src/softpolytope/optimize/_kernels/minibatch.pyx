"""Adam on minibatches in single precision, for several models side by side.

The log posterior is that of the collapsed likelihood (`model/_kernels/collapsed.pyx` computes it in double precision),
in a basis in which the columns of the design have a root mean square of about one. Linear predictors are clamped to
[-80, 80]. Arrays of models are (columns, layers, experts), with the experts of all models along the last axis.
"""

from libc.stdint cimport int32_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

cdef extern from "minibatch.h" nogil:
    enum:
        WIDTH
    ctypedef struct FloatRows:
        const float* values
        const int32_t* indices
        const int32_t* indptr
        Py_ssize_t n_columns
    ctypedef struct Models:
        Py_ssize_t n_models, n_layers, n_experts
        const int32_t* starts
        const uint8_t* is_flipped
        float* coefficients
        float* gradient
        float* mean
        float* square
        const float* prior_scale
        const float* basis
        const float* inverse_squares
        float* original
        float* log_weights
        float* weights
        float* weight_gradient
        float* weight_mean
        float* weight_square
    ctypedef struct Chunk:
        Py_ssize_t n_rows
        float* predictor
        float* activation
        float* rate
        float* spread
    ctypedef struct Step:
        float step, root_correction, inverse_batch, inverse_total, prior_power, weight_shape, concentration
        int moves_weights
    int widest_version()
    void predict_chunk(int version, const FloatRows* rows, const Models* models, Py_ssize_t start, Py_ssize_t n_rows,
                       const Chunk* chunk)
    void add_chunk(int version, const FloatRows* rows, const Models* models, Py_ssize_t start, Py_ssize_t n_rows,
                   const uint8_t* labels, const float* row_weights, Py_ssize_t weight_stride, const Chunk* chunk)
    void fill_weights(int version, const Models* models)
    void make_step(int version, Py_ssize_t n_columns, const Models* models, const Step* step)

PADDING = WIDTH

cdef enum:
    # Numbers of a chunk's predictors: so many stay in the first cache.
    NEAR = 8192


cdef class ModelGroup:
    """Models that are trained side by side; arrays are shared with the caller.

    `starts` (models + 1) are the experts of each model; experts beyond the last are padding to a multiple of `PADDING`,
    with a log weight below -80. `prior_scale` (layers, experts) is twice the precision rate. The coefficients that the
    prior is for are `basis` (columns, columns) times `coefficients`, or, without a basis, these divided by the root of
    `inverse_squares` (columns).
    """

    cdef Models models
    cdef Py_ssize_t n_columns
    cdef int version
    cdef tuple _arrays

    def __init__(
        self, const int32_t[::1] starts, const uint8_t[::1] is_flipped, float[:, :, ::1] coefficients,
        float[::1] log_weights, const float[:, ::1] prior_scale, const float[::1] inverse_squares,
        float[:, :, :, ::1] averages, float[:, ::1] weight_averages, const float[:, ::1] basis=None,
    ):
        """`averages` is (4, columns, layers, experts): gradient, mean, square, and memory; `weight_averages`
        (4, experts): gradient, mean, square, and e^log weight."""
        cdef Models* models = &self.models
        if coefficients.shape[2] % WIDTH or starts[starts.shape[0] - 1] > coefficients.shape[2]:
            raise ValueError(f"the number of experts must be padded to a multiple of {WIDTH}")
        self._arrays = (starts, is_flipped, coefficients, log_weights, prior_scale, inverse_squares, averages,
                        weight_averages, basis)
        self.n_columns = coefficients.shape[0]
        self.version = widest_version()
        models.n_models = is_flipped.shape[0]
        models.n_layers, models.n_experts = coefficients.shape[1], coefficients.shape[2]
        models.starts, models.is_flipped = &starts[0], &is_flipped[0]
        models.coefficients, models.log_weights = &coefficients[0, 0, 0], &log_weights[0]
        models.prior_scale, models.inverse_squares = &prior_scale[0, 0], &inverse_squares[0]
        models.gradient, models.mean = &averages[0, 0, 0, 0], &averages[1, 0, 0, 0]
        models.square, models.original = &averages[2, 0, 0, 0], &averages[3, 0, 0, 0]
        models.basis = NULL if basis is None else &basis[0, 0]
        models.weight_gradient, models.weight_mean = &weight_averages[0, 0], &weight_averages[1, 0]
        models.weight_square, models.weights = &weight_averages[2, 0], &weight_averages[3, 0]

    def use_version(self, int version):
        """Use narrower registers than the processor has: 0 plain, 1 AVX2, 2 AVX-512; return the version in use."""
        self.version = min(max(version, 0), widest_version())
        return self.version

    cdef float* open_chunk(self, Chunk* chunk) except NULL:
        """Memory for a chunk, to be freed."""
        cdef Py_ssize_t n_experts = self.models.n_experts, n_layers = self.models.n_layers
        cdef float* memory
        chunk.n_rows = min(max(NEAR // (n_experts * n_layers) // 4 * 4, 8), 64)
        memory = <float*> malloc(
            (chunk.n_rows * ((n_layers + 1) * n_experts + self.models.n_models) + n_experts) * sizeof(float)
        )
        if memory == NULL:
            raise MemoryError
        chunk.predictor = memory
        chunk.activation = memory + chunk.n_rows * n_layers * n_experts
        chunk.spread = chunk.activation + chunk.n_rows * n_experts
        chunk.rate = chunk.spread + n_experts
        memset(chunk.spread, 0, n_experts * sizeof(float))
        return memory

    def fill_rates(self, const float[::1] values, indices, indptr, float[:, ::1] out):
        """Write the Poisson rates (rows, models) of rows; `indices` and `indptr` are those of CSR rows, or None."""
        cdef FloatRows rows = float_rows(values, indices, indptr, self.n_columns)
        cdef Chunk chunk
        cdef Py_ssize_t start, n_rows, n_models = self.models.n_models, i
        cdef float* memory = self.open_chunk(&chunk)
        with nogil:
            fill_weights(self.version, &self.models)
            for start from 0 <= start < out.shape[0] by chunk.n_rows:
                n_rows = min(chunk.n_rows, out.shape[0] - start)
                predict_chunk(self.version, &rows, &self.models, start, n_rows, &chunk)
                for i in range(n_rows * n_models):
                    out[start + i // n_models, i % n_models] = chunk.rate[i]
        free(memory)

    def add_gradient(self, const float[::1] values, indices, indptr, const uint8_t[::1] labels,
                     const float[:, :] row_weights):
        """Add the gradient of the log likelihood of all rows to `averages[0]` and `weight_averages[0]`."""
        cdef FloatRows rows = float_rows(values, indices, indptr, self.n_columns)
        cdef Chunk chunk
        cdef Py_ssize_t stride = row_weights.strides[0] // sizeof(float)
        cdef float* memory = self.open_chunk(&chunk)
        with nogil:
            fill_weights(self.version, &self.models)
            self.add_rows(&rows, &labels[0], &row_weights[0, 0], stride, 0, labels.shape[0], &chunk)
        free(memory)

    cdef void add_rows(self, const FloatRows* rows, const uint8_t* labels, const float* row_weights,
                       Py_ssize_t stride, Py_ssize_t first, Py_ssize_t last, const Chunk* chunk) noexcept nogil:
        """Add the gradient of rows `first` to `last`."""
        cdef Py_ssize_t start
        for start from first <= start < last by chunk.n_rows:
            add_chunk(self.version, rows, &self.models, start, min(chunk.n_rows, last - start), labels, row_weights,
                      stride, chunk)

    def train(self, const float[::1] values, indices, indptr, const uint8_t[::1] labels,
              const float[:, :] row_weights, const Py_ssize_t[::1] batches, const float[:, ::1] steps, prior):
        """Make a step of Adam for each batch of rows.

        `batches` (batches + 1) are the first rows of the batches, `row_weights` (rows, models) the weights of the rows
        in each model, and `steps` (batches, 4) are the step with Adam's first correction, the root of the second one,
        and the inverse weights of the batch and of all rows. `prior` has its power 2 a + 1, the shape of the expert
        weights, their concentration, and whether these are trained.
        """
        cdef FloatRows rows = float_rows(values, indices, indptr, self.n_columns)
        cdef Chunk chunk
        cdef Step step
        cdef Py_ssize_t batch, stride = row_weights.strides[0] // sizeof(float)
        cdef float* memory
        step.prior_power, step.weight_shape, step.concentration, step.moves_weights = prior
        if batches[batches.shape[0] - 1] > labels.shape[0] or row_weights.shape[0] < labels.shape[0]:
            raise ValueError("batches end after the last row")
        memory = self.open_chunk(&chunk)
        with nogil:
            for batch in range(batches.shape[0] - 1):
                fill_weights(self.version, &self.models)
                self.add_rows(&rows, &labels[0], &row_weights[0, 0], stride, batches[batch],
                              batches[batch + 1], &chunk)
                step.step, step.root_correction = steps[batch, 0], steps[batch, 1]
                step.inverse_batch, step.inverse_total = steps[batch, 2], steps[batch, 3]
                make_step(self.version, self.n_columns, &self.models, &step)
        free(memory)


cdef FloatRows float_rows(const float[::1] values, const int32_t[::1] indices, const int32_t[::1] indptr,
                          Py_ssize_t n_columns):
    """Rows for the C functions; without `indptr` they are dense."""
    cdef FloatRows rows
    rows.values = &values[0] if values.shape[0] else NULL
    rows.n_columns = n_columns
    rows.indices = rows.indptr = NULL
    if indptr is not None:
        rows.indptr = &indptr[0]
        rows.indices = &indices[0] if indices.shape[0] else NULL
    return rows
