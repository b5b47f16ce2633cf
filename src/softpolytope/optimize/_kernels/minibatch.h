/* Gradients of minibatches in single precision, for several models side by side, compiled for each kind of register.
 *
 * The experts of all models lie along one axis, padded to a multiple of WIDTH. Every number of one expert is computed by
 * the same operations in the same order whatever stands beside it. Operations are those of IEEE 754 (add, subtract,
 * multiply, divide, square root, and a fused multiply-add where FUSED says so); the compiler may not contract others. The
 * results are therefore the same bits for any width of the registers, any processor, any set of models side by side.
 * Processors without a fused multiply-add (x86 before 2013) get the same bits from the C library, slowly.
 */
#ifndef SOFTPOLYTOPE_MINIBATCH_H
#define SOFTPOLYTOPE_MINIBATCH_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { WIDTH = 16 }; /* experts are padded to a multiple of it */

/* Rows of a minibatch: dense with `values` alone, CSR with all three. */
typedef struct {
    const float *values;
    const int32_t *indices;
    const int32_t *indptr;
    ptrdiff_t n_columns;
} FloatRows;

/* Models side by side. Arrays by columns are (columns, layers, experts). */
typedef struct {
    ptrdiff_t n_models, n_layers, n_experts;
    const int32_t *starts; /* (models + 1): experts of a model */
    const uint8_t *is_flipped; /* (models) */
    float *coefficients, *gradient, *mean, *square; /* by columns; mean and square are the moving averages of Adam */
    const float *prior_scale; /* (layers, experts): twice the precision rate */
    /* The coefficients of the user are `basis` times those here; without a basis, those here divided by the root of
     * `inverse_squares`. */
    const float *basis; /* (columns, columns) or NULL */
    const float *inverse_squares; /* (columns) */
    float *original; /* by columns: coefficients of the user, if there is a basis */
    float *log_weights, *weights, *weight_gradient, *weight_mean, *weight_square; /* (experts) */
} Models;

/* Memory for some rows at a time. */
typedef struct {
    ptrdiff_t n_rows;
    float *predictor; /* (layers, rows, experts); becomes d log q' / d log q, then the gradient */
    float *activation; /* (rows, experts) */
    float *rate; /* (rows, models); becomes the derivative by the rate */
    float *spread; /* (experts): the derivative by the rate, repeated for every expert */
} Chunk;

/* Numbers of one step of Adam. */
typedef struct {
    float step, root_correction; /* step divided by the first correction; root of the second one */
    float inverse_batch, inverse_total; /* of the row weights of the batch, and of all rows */
    float prior_power, weight_shape, concentration;
    int moves_weights;
} Step;

/* Vectors are passed between inlined functions only. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

#if defined(__GNUC__)
#define FUSED(a, b, c) __builtin_fmaf(a, b, c)
#else
#define FUSED(a, b, c) fmaf(a, b, c)
#endif

#define PASTE_(name, suffix) name##suffix
#define PASTE(name, suffix) PASTE_(name, suffix)
#define VERSION(name) PASTE(name, SUFFIX)

#define SUFFIX _plain
#define TARGET
#define VECTOR_BYTES 16
#include "minibatch_body.h"
#undef SUFFIX
#undef TARGET
#undef VECTOR_BYTES

#if defined(__x86_64__) && defined(__GNUC__)
#define SUFFIX _avx2
#define TARGET __attribute__((target("avx2,fma")))
#define VECTOR_BYTES 32
#include "minibatch_body.h"
#undef SUFFIX
#undef TARGET
#undef VECTOR_BYTES

#define SUFFIX _avx512
#if defined(__clang__)
#define TARGET __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq")))
#else
#define TARGET __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,prefer-vector-width=512")))
#endif
#define VECTOR_BYTES 64
#include "minibatch_body.h"
#undef SUFFIX
#undef TARGET
#undef VECTOR_BYTES
#endif

/* The widest version that the processor has: 0 plain, 1 avx2, 2 avx512. */
static int widest_version(void) {
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")
        && __builtin_cpu_supports("avx512dq")) {
        return 2;
    }
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 1 : 0;
#else
    return 0;
#endif
}

#if defined(__x86_64__) && defined(__GNUC__)
#define DISPATCH(name, ...) \
    if (version == 2) { \
        name##_avx512(__VA_ARGS__); \
    } else if (version == 1) { \
        name##_avx2(__VA_ARGS__); \
    } else { \
        name##_plain(__VA_ARGS__); \
    }
#else
#define DISPATCH(name, ...) \
    (void)version; \
    name##_plain(__VA_ARGS__);
#endif

/* Write the Poisson rates of some rows (rows, models) to `chunk->rate`. */
static void predict_chunk(
    int version, const FloatRows *rows, const Models *models, ptrdiff_t start, ptrdiff_t n_rows, const Chunk *chunk
) {
    DISPATCH(forward, rows, models, start, n_rows, chunk)
}

/* Add the gradient of the log likelihood of some rows; row weights are (rows, `weight_stride`), one per model. */
static void add_chunk(
    int version, const FloatRows *rows, const Models *models, ptrdiff_t start, ptrdiff_t n_rows, const uint8_t *labels,
    const float *row_weights, ptrdiff_t weight_stride, const Chunk *chunk
) {
    DISPATCH(add_gradient, rows, models, start, n_rows, labels, row_weights, weight_stride, chunk)
}

/* Write e^log weight of all experts. */
static void fill_weights(int version, const Models *models) { DISPATCH(exponentiate, models) }

/* Make one step of Adam, and set the gradient to zero. */
static void make_step(int version, ptrdiff_t n_columns, const Models *models, const Step *step) {
    DISPATCH(move, n_columns, models, step)
}

#endif
