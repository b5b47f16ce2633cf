/* One version of the functions of minibatch.h, for the registers that TARGET and VECTOR_BYTES name. */

#if defined(__GNUC__)
typedef float VERSION(lanes) __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
#define INLINE static inline __attribute__((always_inline)) TARGET
#else
typedef float VERSION(lanes);
#define INLINE static inline
#endif
#define lanes VERSION(lanes)
#define LANES ((ptrdiff_t)(sizeof(lanes) / sizeof(float)))

INLINE float VERSION(as_float)(int32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

INLINE int32_t VERSION(as_bits)(float value) {
    int32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* e^x = scale (1 + p) for -80 <= x <= 80, scale = 2^n. The polynomial is minimax on |x| <= log(2) / 2, error 4e-10. */
INLINE float VERSION(reduced_expm1)(float x, float *scale) {
    const float shift = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer, held in the low bits */
    const float shifted = FUSED(x, 1.44269504f, shift);
    const float n = shifted - shift;
    const float r = FUSED(n, 2.12194440e-4f, FUSED(n, -0.693359375f, x));
    float p = 1.39517197e-3f;
    p = FUSED(p, r, 8.36959854e-3f);
    p = FUSED(p, r, 4.16661873e-2f);
    p = FUSED(p, r, 1.66665122e-1f);
    p = FUSED(p, r, 0.5f);
    *scale = VERSION(as_float)((int32_t)((uint32_t)VERSION(as_bits)(shifted) << 23) + 0x3f800000);
    return FUSED(r * r, p, r);
}

/* log x for normal x > 0: x = m 2^k with m between the square roots of 1/2 and 2, and a minimax polynomial in m - 1. */
INLINE float VERSION(logarithm)(float x) {
    const int32_t bits = VERSION(as_bits)(x) - 0x3f3504f3;
    const float k = (float)(bits >> 23);
    const float f = VERSION(as_float)((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
    const float z = f * f;
    float p = -7.8599602e-2f;
    p = FUSED(p, f, 1.28858641e-1f);
    p = FUSED(p, f, -1.31304502e-1f);
    p = FUSED(p, f, 1.41806990e-1f);
    p = FUSED(p, f, -1.66243479e-1f);
    p = FUSED(p, f, 2.00023025e-1f);
    p = FUSED(p, f, -2.50008166e-1f);
    p = FUSED(p, f, 3.33333164e-1f);
    const float small = FUSED(f * z, p, k * -2.12194440e-4f);
    return FUSED(k, 0.693359375f, f + FUSED(-0.5f, z, small));
}

INLINE float VERSION(clamped)(float x) {
    x = x < -80.0f ? -80.0f : x;
    return x > 80.0f ? 80.0f : x;
}

/* q' = log(1 + q e^predictor) in place of q, and d log q' / d log q in place of the predictor. */
TARGET static void VERSION(activate)(ptrdiff_t n, float *restrict predictor, float *restrict activation) {
    for (ptrdiff_t i = 0; i < n; i++) {
        float scale;
        const float p = VERSION(reduced_expm1)(VERSION(clamped)(predictor[i]), &scale);
        float odds = activation[i] * FUSED(scale, p, scale);
        odds = odds < 1e-30f ? 1e-30f : odds;
        const float u = 1.0f + odds;
        const float inverse = 1.0f / u;
        const float q = FUSED(odds - (u - 1.0f), inverse, VERSION(logarithm)(u));
        predictor[i] = (odds * inverse) / q;
        activation[i] = q;
    }
}

/* Y (rows, experts) = X W for `n_taken` rows, by `n_vectors` vectors of experts; W has the stride of all layers. */
INLINE void VERSION(multiply_tile)(
    const int n_taken, const int n_vectors, ptrdiff_t n_columns, const float *X, const float *W, ptrdiff_t stride,
    float *Y, ptrdiff_t n_experts
) {
    lanes sums[4][2];
    for (int row = 0; row < n_taken; row++) {
        for (int v = 0; v < n_vectors; v++) {
            sums[row][v] = (lanes){0};
        }
    }
    for (ptrdiff_t column = 0; column < n_columns; column++) {
        for (int v = 0; v < n_vectors; v++) {
            const lanes w = *(const lanes *)(W + column * stride + v * LANES);
            for (int row = 0; row < n_taken; row++) {
                sums[row][v] += X[row * n_columns + column] * w;
            }
        }
    }
    for (int row = 0; row < n_taken; row++) {
        for (int v = 0; v < n_vectors; v++) {
            *(lanes *)(Y + row * n_experts + v * LANES) = sums[row][v];
        }
    }
}

TARGET static void VERSION(multiply_dense)(
    const float *X, ptrdiff_t n_rows, ptrdiff_t n_columns, const float *W, ptrdiff_t stride, float *Y,
    ptrdiff_t n_experts
) {
    ptrdiff_t first = 0;
    for (; first + 2 * LANES <= n_experts; first += 2 * LANES) {
        ptrdiff_t row = 0;
        for (; row + 4 <= n_rows; row += 4) {
            VERSION(multiply_tile)(
                4, 2, n_columns, X + row * n_columns, W + first, stride, Y + row * n_experts + first, n_experts
            );
        }
        for (; row < n_rows; row++) {
            VERSION(multiply_tile)(
                1, 2, n_columns, X + row * n_columns, W + first, stride, Y + row * n_experts + first, n_experts
            );
        }
    }
    for (; first < n_experts; first += LANES) {
        ptrdiff_t row = 0;
        for (; row + 4 <= n_rows; row += 4) {
            VERSION(multiply_tile)(
                4, 1, n_columns, X + row * n_columns, W + first, stride, Y + row * n_experts + first, n_experts
            );
        }
        for (; row < n_rows; row++) {
            VERSION(multiply_tile)(
                1, 1, n_columns, X + row * n_columns, W + first, stride, Y + row * n_experts + first, n_experts
            );
        }
    }
}

/* G (columns, experts) += X' Z for `n_taken` columns, by `n_vectors` vectors of experts. */
INLINE void VERSION(transposed_tile)(
    const int n_taken, const int n_vectors, ptrdiff_t n_rows, const float *X, ptrdiff_t n_columns, const float *Z,
    ptrdiff_t n_experts, float *G, ptrdiff_t stride
) {
    lanes sums[4][2];
    for (int column = 0; column < n_taken; column++) {
        for (int v = 0; v < n_vectors; v++) {
            sums[column][v] = *(const lanes *)(G + column * stride + v * LANES);
        }
    }
    for (ptrdiff_t row = 0; row < n_rows; row++) {
        for (int v = 0; v < n_vectors; v++) {
            const lanes z = *(const lanes *)(Z + row * n_experts + v * LANES);
            for (int column = 0; column < n_taken; column++) {
                sums[column][v] += X[row * n_columns + column] * z;
            }
        }
    }
    for (int column = 0; column < n_taken; column++) {
        for (int v = 0; v < n_vectors; v++) {
            *(lanes *)(G + column * stride + v * LANES) = sums[column][v];
        }
    }
}

TARGET static void VERSION(add_transposed_dense)(
    const float *X, ptrdiff_t n_rows, ptrdiff_t n_columns, const float *Z, ptrdiff_t n_experts, float *G,
    ptrdiff_t stride
) {
    ptrdiff_t column = 0;
    for (; column + 4 <= n_columns; column += 4) {
        ptrdiff_t first = 0;
        for (; first + 2 * LANES <= n_experts; first += 2 * LANES) {
            VERSION(transposed_tile)(
                4, 2, n_rows, X + column, n_columns, Z + first, n_experts, G + column * stride + first, stride
            );
        }
        for (; first < n_experts; first += LANES) {
            VERSION(transposed_tile)(
                4, 1, n_rows, X + column, n_columns, Z + first, n_experts, G + column * stride + first, stride
            );
        }
    }
    for (; column < n_columns; column++) {
        for (ptrdiff_t first = 0; first < n_experts; first += LANES) {
            VERSION(transposed_tile)(
                1, 1, n_rows, X + column, n_columns, Z + first, n_experts, G + column * stride + first, stride
            );
        }
    }
}

/* One row of Y = X W of all layers, by `n_vectors` vectors of experts; entries are added in the order of the columns. */
INLINE void VERSION(sparse_tile)(
    const int n_vectors, const FloatRows *rows, ptrdiff_t row, const float *W, ptrdiff_t stride, float *y
) {
    lanes sums[4];
    for (int v = 0; v < n_vectors; v++) {
        sums[v] = (lanes){0};
    }
    for (int32_t entry = rows->indptr[row]; entry < rows->indptr[row + 1]; entry++) {
        const float x = rows->values[entry];
        const float *w = W + rows->indices[entry] * stride;
        for (int v = 0; v < n_vectors; v++) {
            sums[v] += x * *(const lanes *)(w + v * LANES);
        }
    }
    for (int v = 0; v < n_vectors; v++) {
        *(lanes *)(y + v * LANES) = sums[v];
    }
}

/* x'beta of some rows, (layers, rows, experts). */
TARGET static void VERSION(multiply_rows)(
    const FloatRows *rows, const Models *models, ptrdiff_t start, ptrdiff_t n_rows, const Chunk *chunk
) {
    const ptrdiff_t n_experts = models->n_experts, stride = models->n_layers * n_experts;
    for (ptrdiff_t layer = 0; layer < models->n_layers; layer++) {
        const float *W = models->coefficients + layer * n_experts;
        float *Y = chunk->predictor + layer * chunk->n_rows * n_experts;
        if (!rows->indptr) {
            VERSION(multiply_dense)(
                rows->values + start * rows->n_columns, n_rows, rows->n_columns, W, stride, Y, n_experts
            );
            continue;
        }
        for (ptrdiff_t row = 0; row < n_rows; row++) {
            ptrdiff_t first = 0;
            for (; first + 4 * LANES <= n_experts; first += 4 * LANES) {
                VERSION(sparse_tile)(4, rows, start + row, W + first, stride, Y + row * n_experts + first);
            }
            for (; first < n_experts; first += LANES) {
                VERSION(sparse_tile)(1, rows, start + row, W + first, stride, Y + row * n_experts + first);
            }
        }
    }
}

/* Add X' times the gradient by x'beta to the gradient by the coefficients. */
TARGET static void VERSION(add_rows)(
    const FloatRows *rows, const Models *models, ptrdiff_t start, ptrdiff_t n_rows, const Chunk *chunk
) {
    const ptrdiff_t n_experts = models->n_experts, stride = models->n_layers * n_experts;
    for (ptrdiff_t layer = 0; layer < models->n_layers; layer++) {
        const float *Z = chunk->predictor + layer * chunk->n_rows * n_experts;
        float *G = models->gradient + layer * n_experts;
        if (!rows->indptr) {
            VERSION(add_transposed_dense)(
                rows->values + start * rows->n_columns, n_rows, rows->n_columns, Z, n_experts, G, stride
            );
            continue;
        }
        for (ptrdiff_t row = 0; row < n_rows; row++) {
            const float *z = Z + row * n_experts;
            for (int32_t entry = rows->indptr[start + row]; entry < rows->indptr[start + row + 1]; entry++) {
                const float x = rows->values[entry];
                float *g = G + rows->indices[entry] * stride;
                for (ptrdiff_t i = 0; i < n_experts; i += LANES) {
                    *(lanes *)(g + i) += x * *(const lanes *)(z + i);
                }
            }
        }
    }
}

TARGET static void VERSION(forward)(
    const FloatRows *rows, const Models *models, ptrdiff_t start, ptrdiff_t n_rows, const Chunk *chunk
) {
    const ptrdiff_t n_experts = models->n_experts, n = n_rows * n_experts;
    VERSION(multiply_rows)(rows, models, start, n_rows, chunk);
    for (ptrdiff_t i = 0; i < n; i++) {
        chunk->activation[i] = 1.0f;
    }
    for (ptrdiff_t layer = 0; layer < models->n_layers; layer++) {
        VERSION(activate)(n, chunk->predictor + layer * chunk->n_rows * n_experts, chunk->activation);
    }
    for (ptrdiff_t row = 0; row < n_rows; row++) {
        float *restrict q = chunk->activation + row * n_experts;
        const float *restrict weights = models->weights;
        for (ptrdiff_t expert = 0; expert < n_experts; expert++) {
            q[expert] *= weights[expert];
        }
        for (ptrdiff_t model = 0; model < models->n_models; model++) {
            float rate = 0.0f;
            for (int32_t expert = models->starts[model]; expert < models->starts[model + 1]; expert++) {
                rate += q[expert];
            }
            chunk->rate[row * models->n_models + model] = rate;
        }
    }
}

/* 1 / (e^lambda - 1) in place of rates lambda. */
TARGET static void VERSION(pull_positive)(ptrdiff_t n, float *restrict rate) {
    for (ptrdiff_t i = 0; i < n; i++) {
        float x = rate[i] < 1e-30f ? 1e-30f : rate[i];
        float scale;
        x = x > 80.0f ? 80.0f : x;
        const float p = VERSION(reduced_expm1)(-x, &scale);
        rate[i] = FUSED(scale, p, scale) / FUSED(-scale, p, 1.0f - scale);
    }
}

/* From the products r q of some rows and the derivatives by their rates: the gradient by x'beta and by log r. */
TARGET static void VERSION(descend)(const Models *models, ptrdiff_t n_rows, const Chunk *chunk) {
    const ptrdiff_t n_experts = models->n_experts, n = n_rows * n_experts;
    for (ptrdiff_t row = 0; row < n_rows; row++) {
        float *restrict products = chunk->activation + row * n_experts;
        float *restrict spread = chunk->spread;
        float *restrict sums = models->weight_gradient;
        for (ptrdiff_t model = 0; model < models->n_models; model++) {
            const float pull = chunk->rate[row * models->n_models + model];
            for (int32_t expert = models->starts[model]; expert < models->starts[model + 1]; expert++) {
                spread[expert] = pull;
            }
        }
        for (ptrdiff_t expert = 0; expert < n_experts; expert++) {
            products[expert] *= spread[expert];
            sums[expert] += products[expert];
        }
    }
    for (ptrdiff_t layer = models->n_layers - 1; layer >= 0; layer--) {
        float *restrict slope = chunk->predictor + layer * chunk->n_rows * n_experts;
        float *restrict products = chunk->activation;
        for (ptrdiff_t i = 0; i < n; i++) {
            products[i] *= slope[i];
            slope[i] = products[i];
        }
    }
}

TARGET static void VERSION(add_gradient)(
    const FloatRows *rows, const Models *models, ptrdiff_t start, ptrdiff_t n_rows, const uint8_t *labels,
    const float *row_weights, ptrdiff_t weight_stride, const Chunk *chunk
) {
    const ptrdiff_t n_models = models->n_models;
    VERSION(forward)(rows, models, start, n_rows, chunk);
    VERSION(pull_positive)(n_rows * n_models, chunk->rate);
    for (ptrdiff_t row = 0; row < n_rows; row++) {
        for (ptrdiff_t model = 0; model < n_models; model++) {
            float *pull = chunk->rate + row * n_models + model;
            const int is_positive = labels[start + row] != models->is_flipped[model];
            *pull = (is_positive ? *pull : -1.0f) * row_weights[(start + row) * weight_stride + model];
        }
    }
    VERSION(descend)(models, n_rows, chunk);
    VERSION(add_rows)(rows, models, start, n_rows, chunk);
}

TARGET static void VERSION(exponentiate)(const Models *models) {
    for (ptrdiff_t expert = 0; expert < models->n_experts; expert++) {
        float scale;
        const float x = models->log_weights[expert];
        const float p = VERSION(reduced_expm1)(VERSION(clamped)(x), &scale);
        models->weights[expert] = x < -80.0f ? 0.0f : FUSED(scale, p, scale);
    }
}

/* Add the gradient of the log prior, times `factor`, where coefficients are a basis times those of the models. */
TARGET static void VERSION(add_prior)(ptrdiff_t n_columns, const Models *models, float factor) {
    const ptrdiff_t n_lines = models->n_layers * models->n_experts;
    const float *restrict prior_scale = models->prior_scale;
    VERSION(multiply_dense)
    (models->basis, n_columns, n_columns, models->coefficients, n_lines, models->original, n_lines);
    for (ptrdiff_t column = 0; column < n_columns; column++) {
        float *restrict beta = models->original + column * n_lines;
        for (ptrdiff_t i = 0; i < n_lines; i++) {
            beta[i] = -factor * beta[i] / (prior_scale[i] + beta[i] * beta[i]);
        }
    }
    VERSION(add_transposed_dense)
    (models->basis, n_columns, n_columns, models->original, n_lines, models->gradient, n_lines);
}

/* One step of Adam on the mean log posterior per row, with the constants of Kingma and Ba. */
TARGET static void VERSION(move)(ptrdiff_t n_columns, const Models *models, const Step *given) {
    const ptrdiff_t n = models->n_layers * models->n_experts;
    const Step step = *given;
    const float *restrict prior_scale = models->prior_scale;
    const float prior_power = models->basis ? 0.0f : step.prior_power * step.inverse_total;
    if (models->basis) {
        VERSION(add_prior)(n_columns, models, step.prior_power * step.inverse_total / step.inverse_batch);
    }
    for (ptrdiff_t column = 0; column < n_columns; column++) {
        float *restrict theta = models->coefficients + column * n, *restrict gradient = models->gradient + column * n;
        float *restrict mean = models->mean + column * n, *restrict square = models->square + column * n;
        const float inverse_square = models->inverse_squares[column];
        for (ptrdiff_t i = 0; i < n; i++) {
            const float pull = prior_power * theta[i] / (prior_scale[i] * inverse_square + theta[i] * theta[i]);
            const float g = gradient[i] * step.inverse_batch - pull;
            const float m = 0.9f * mean[i] + 0.1f * g, v = 0.999f * square[i] + 0.001f * (g * g);
            theta[i] += step.step * m / (sqrtf(v) * step.root_correction + 1e-8f);
            mean[i] = m;
            square[i] = v;
            gradient[i] = 0.0f;
        }
    }
    for (ptrdiff_t i = 0; i < models->n_experts; i++) {
        const float prior = (step.weight_shape - step.concentration * models->weights[i]) * step.inverse_total;
        const float g = models->weight_gradient[i] * step.inverse_batch + prior;
        const float m = 0.9f * models->weight_mean[i] + 0.1f * g;
        const float v = 0.999f * models->weight_square[i] + 0.001f * (g * g);
        const float moved = models->log_weights[i] + step.step * m / (sqrtf(v) * step.root_correction + 1e-8f);
        /* Experts beyond the last model have weight zero, and keep it. */
        if (step.moves_weights && models->log_weights[i] > -80.0f) {
            models->log_weights[i] = moved < -30.0f ? -30.0f : moved;
        }
        models->weight_mean[i] = m;
        models->weight_square[i] = v;
        models->weight_gradient[i] = 0.0f;
    }
}

#undef lanes
#undef LANES
#undef INLINE
