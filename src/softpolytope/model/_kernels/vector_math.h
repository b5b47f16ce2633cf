/* Arithmetic, exponentials and logarithms of whole arrays, as branch-free arithmetic that a compiler turns into vector code.
 *
 * Compilers call the C library's exp and log once per number, which was half the time of a sweep. These cost a
 * quarter of that, and give the same bits on every machine, because no operation is contracted or reordered.
 * Errors are at most two rounding units (tested).
 */
#ifndef SOFTPOLYTOPE_VECTOR_MATH_H
#define SOFTPOLYTOPE_VECTOR_MATH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Where the system can choose at load time, wider registers are used if the processor has them. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__)
#define SOFTPOLYTOPE_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define SOFTPOLYTOPE_WIDE
#endif

static inline double number_of_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t bits_of_number(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* e^x = scale (1 + p) for -700 <= x <= 700, scale = 2^n and p = expm1(x - n log 2) by its Taylor polynomial. */
static inline double reduced_expm1(double x, double *scale) {
    const double shift = 6755399441055744.0; /* 1.5 * 2^52: adding it rounds to an integer, held in the low bits */
    const double shifted = x * 1.4426950408889634 + shift;
    const double n = shifted - shift;
    const double rest = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
    /* Terms in pairs: a chain of additions each waiting for the last would take half as long again. */
    const double r2 = rest * rest, r4 = r2 * r2;
    const double p2 = (0.5 + rest * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + rest * (1.0 / 120.0));
    const double p6 = (1.0 / 720.0 + rest * (1.0 / 5040.0)) + r2 * (1.0 / 40320.0 + rest * (1.0 / 362880.0));
    const double p10 = (1.0 / 3628800.0 + rest * (1.0 / 39916800.0))
        + r2 * (1.0 / 479001600.0 + rest * (1.0 / 6227020800.0));
    *scale = number_of_bits((bits_of_number(shifted) << 52) + 0x3ff0000000000000ULL);
    return rest + r2 * (p2 + r4 * (p6 + r4 * p10));
}

static inline double plain_exp(double x) {
    double scale;
    const double p = reduced_expm1(x, &scale);
    return scale * (1.0 + p);
}

/* log x for normal x > 0: x = m 2^k with m between the square roots of 1/2 and 2, and log m = 2 atanh((m-1)/(m+1)). */
static inline double plain_log(double x) {
    const uint64_t root_half = 0x3fe6a09e667f3bcdULL;
    const uint64_t from_root = bits_of_number(x) - root_half + (1023ULL << 52);
    const double k = number_of_bits((from_root >> 52) | 0x4330000000000000ULL) - (4503599627370496.0 + 1023.0);
    const double f = number_of_bits((from_root & 0x000fffffffffffffULL) + root_half) - 1.0;
    const double s = f / (2.0 + f);
    const double z = s * s;
    const double z2 = z * z, z4 = z2 * z2;
    const double p1 = (2.0 / 3.0 + z * (2.0 / 5.0)) + z2 * (2.0 / 7.0 + z * (2.0 / 9.0));
    const double p5 = (2.0 / 11.0 + z * (2.0 / 13.0)) + z2 * (2.0 / 15.0 + z * (2.0 / 17.0));
    const double p = z * (p1 + z4 * (p5 + z4 * (2.0 / 19.0 + z * (2.0 / 21.0))));
    /* 2 s = f - s f, and s f = f^2/2 - s f^2/2: the largest term f is exact. */
    const double half_square = 0.5 * f * f;
    return k * 0.693147180369123816490 - ((half_square - (s * (half_square + p) + k * 1.90821492927058770002e-10)) - f);
}

/* y += a x. */
SOFTPOLYTOPE_WIDE
static void add_multiple(ptrdiff_t n, double a, const double *restrict x, double *restrict y) {
    for (ptrdiff_t i = 0; i < n; i++) {
        y[i] += a * x[i];
    }
}

/* Neighboring numbers that one instruction works on. */
#if defined(__GNUC__)
typedef double lanes __attribute__((vector_size(32), aligned(8), may_alias));
enum { LANES = 4 };
#else
typedef double lanes;
enum { LANES = 1 };
#endif

/* Y (n_rows, n) += A W, with A[i, e] = X[i row_step + e entry_step] and W (n_entries, n).
 *
 * Every sum runs over the entries in order, whatever stands beside it, which a library's matrix product does not promise.
 * Four rows at a time keep four sums going: one alone would wait for each addition to end.
 */
static inline void add_product(
    ptrdiff_t n_rows, ptrdiff_t n_entries, ptrdiff_t n, const double *X, ptrdiff_t row_step, ptrdiff_t entry_step,
    const double *restrict W, double *restrict Y
) {
    ptrdiff_t row = 0;
    for (; row + 4 <= n_rows; row += 4) {
        const double *x0 = X + row * row_step, *x1 = x0 + row_step, *x2 = x1 + row_step, *x3 = x2 + row_step;
        double *y0 = Y + row * n, *y1 = y0 + n, *y2 = y1 + n, *y3 = y2 + n;
        ptrdiff_t i = 0;
        for (; i + LANES <= n; i += LANES) {
            lanes s0 = *(lanes *)(y0 + i), s1 = *(lanes *)(y1 + i), s2 = *(lanes *)(y2 + i), s3 = *(lanes *)(y3 + i);
            for (ptrdiff_t entry = 0; entry < n_entries; entry++) {
                const lanes w = *(const lanes *)(W + entry * n + i);
                s0 += x0[entry * entry_step] * w;
                s1 += x1[entry * entry_step] * w;
                s2 += x2[entry * entry_step] * w;
                s3 += x3[entry * entry_step] * w;
            }
            *(lanes *)(y0 + i) = s0;
            *(lanes *)(y1 + i) = s1;
            *(lanes *)(y2 + i) = s2;
            *(lanes *)(y3 + i) = s3;
        }
        for (; i < n; i++) {
            double s0 = y0[i], s1 = y1[i], s2 = y2[i], s3 = y3[i];
            for (ptrdiff_t entry = 0; entry < n_entries; entry++) {
                const double w = W[entry * n + i];
                s0 += x0[entry * entry_step] * w;
                s1 += x1[entry * entry_step] * w;
                s2 += x2[entry * entry_step] * w;
                s3 += x3[entry * entry_step] * w;
            }
            y0[i] = s0;
            y1[i] = s1;
            y2[i] = s2;
            y3[i] = s3;
        }
    }
    for (; row < n_rows; row++) {
        for (ptrdiff_t entry = 0; entry < n_entries; entry++) {
            const double x = X[row * row_step + entry * entry_step];
            for (ptrdiff_t i = 0; i < n; i++) {
                Y[row * n + i] += x * W[entry * n + i];
            }
        }
    }
}

/* Y = X W, of rows X (n_rows, n_columns). */
SOFTPOLYTOPE_WIDE
static void multiply(
    ptrdiff_t n_rows, ptrdiff_t n_columns, ptrdiff_t n, const double *X, const double *W, double *Y
) {
    memset(Y, 0, (size_t)(n_rows * n) * sizeof *Y);
    add_product(n_rows, n_columns, n, X, n_columns, 1, W, Y);
}

/* Y += X' W, of rows X (n_rows, n_columns). */
SOFTPOLYTOPE_WIDE
static void add_transposed_product(
    ptrdiff_t n_rows, ptrdiff_t n_columns, ptrdiff_t n, const double *X, const double *W, double *Y
) {
    const ptrdiff_t tall = 64; /* so many rows stay near while they are gone through for every column */
    for (ptrdiff_t start = 0; start < n_rows; start += tall) {
        const ptrdiff_t n_taken = n_rows - start < tall ? n_rows - start : tall;
        add_product(n_columns, n_taken, n, X + start * n_columns, 1, n_columns, W + start * n, Y);
    }
}

/* q' = log(1 + q e^predictor) in place of q, and d log q' / d log q in place of the predictor.
 *
 * Where |predictor| > 500 or q' < 1e-290 the results are not to be used; `is_plain`, one entry per number, becomes 0
 * there and stays as it is elsewhere.
 */
SOFTPOLYTOPE_WIDE
static void activate_with_slopes(
    ptrdiff_t n, double *restrict predictor, double *restrict activation, double *restrict is_plain
) {
    for (ptrdiff_t i = 0; i < n; i++) {
        const double x = predictor[i];
        const int is_inside = (x <= 500.0) & (x >= -500.0);
        const double odds = activation[i] * plain_exp(is_inside ? x : 0.0);
        const double u = 1.0 + odds;
        const double result = plain_log(u) + (odds - (u - 1.0)) / u;
        predictor[i] = odds / (u * result);
        activation[i] = result;
        is_plain[i] = is_inside & (result > 1e-290) ? is_plain[i] : 0.0;
    }
}

/* q' = log(1 + q e^predictor) in place of q; `is_plain` as above. */
SOFTPOLYTOPE_WIDE
static void activate(
    ptrdiff_t n, const double *restrict predictor, double *restrict activation, double *restrict is_plain
) {
    for (ptrdiff_t i = 0; i < n; i++) {
        const double x = predictor[i];
        const int is_inside = (x <= 500.0) & (x >= -500.0);
        const double odds = activation[i] * plain_exp(is_inside ? x : 0.0);
        const double u = 1.0 + odds;
        const double result = plain_log(u) + (odds - (u - 1.0)) / u;
        activation[i] = result;
        is_plain[i] = is_inside & (result > 1e-290) ? is_plain[i] : 0.0;
    }
}

/* From rates 1e-290 < lambda: log(1 - e^-lambda) and 1 / (e^lambda - 1). */
SOFTPOLYTOPE_WIDE
static void log_positive_with_slopes(
    ptrdiff_t n, const double *restrict rate, double *restrict log_positive, double *restrict slope
) {
    for (ptrdiff_t i = 0; i < n; i++) {
        double scale;
        const double p = reduced_expm1(rate[i] < 700.0 ? -rate[i] : -700.0, &scale);
        const double chance = (1.0 - scale) - scale * p;
        log_positive[i] = plain_log(chance);
        slope[i] = scale * (1.0 + p) / chance;
    }
}

/* 1 - e^-lambda and e^-lambda, both precise, of rates lambda >= 0; the former is added to one sum, the latter to another. */
SOFTPOLYTOPE_WIDE
static void add_probabilities(
    ptrdiff_t n, double weight, const double *restrict rate, double *restrict event, double *restrict survival
) {
    for (ptrdiff_t i = 0; i < n; i++) {
        double scale;
        const int is_large = rate[i] > 700.0;
        const double p = reduced_expm1(is_large ? -700.0 : -rate[i], &scale);
        event[i] += weight * ((1.0 - scale) - scale * p);
        survival[i] += is_large ? 0.0 : weight * (scale * (1.0 + p));
    }
}

/* Odds e^lambda - 1 of rates lambda >= 0, multiplied into a product; at least e^-limit, and e^limit from a rate of
   `limit` on. */
SOFTPOLYTOPE_WIDE
static void multiply_odds(
    ptrdiff_t n, double limit, double lowest, double highest, const double *restrict rate, double *restrict product
) {
    for (ptrdiff_t i = 0; i < n; i++) {
        double scale;
        const double p = reduced_expm1(rate[i] > 700.0 ? 700.0 : rate[i], &scale);
        double odds = (scale - 1.0) + scale * p;
        odds = rate[i] >= limit ? highest : odds;
        product[i] *= odds < lowest ? lowest : odds;
    }
}

/* From z = x'beta + log q: log q' in place of z, and q' itself, q' = log(1 + e^z). */
SOFTPOLYTOPE_WIDE
static void log_softplus_of(ptrdiff_t n, double *restrict z, double *restrict activation) {
    for (ptrdiff_t i = 0; i < n; i++) {
        const double value = z[i];
        double x = value > 37.0 ? 37.0 : value;
        x = x < -700.0 ? -700.0 : x;
        const double odds = plain_exp(x);
        const double u = 1.0 + odds;
        const double q = value > 37.0 ? value : plain_log(u) + (odds - (u - 1.0)) / u;
        const double log_q = plain_log(q);
        z[i] = value < -18.0 ? value - 0.5 * odds : log_q;
        activation[i] = value < -700.0 ? 0.0 : q;
    }
}

#endif
