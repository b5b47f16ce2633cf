/* Sums of weighted squares x x' and Cholesky factors, every sum one addition after the other.
 *
 * A library's matrix products add in an order that its build chooses by the processor, so a chain of thousands of sweeps
 * would end elsewhere on another machine. Here the order is fixed. Rows without weight cost nothing: where there are none,
 * a library with wider registers is faster by half, in the paper's scan, which has many, it is not.
 *
 * Matrices hold their upper triangle in rows of `width` entries, the number of columns rounded up to a multiple of four;
 * entries beyond the last column are zero, those below the diagonal are not to be used.
 */
#ifndef SOFTPOLYTOPE_SYMMETRIC_H
#define SOFTPOLYTOPE_SYMMETRIC_H

#include <math.h>

#include "vector_math.h"

/* Entries of a matrix that stay near while all rows go by. */
enum { TILE = 2048 };

static inline ptrdiff_t padded(ptrdiff_t n) {
    return (n + 3) / 4 * 4;
}

/* S[a, b] += sum_j w_j x_j[a] x_j[b] over four rows in order, for a from `first` to `last` and b >= a. */
static inline void add_four_squares(
    ptrdiff_t first, ptrdiff_t last, ptrdiff_t width, const double *const *x, const double *w, double *S
) {
    const double *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
    for (ptrdiff_t a = first; a < last; a++) {
        const double s0 = w[0] * x0[a], s1 = w[1] * x1[a], s2 = w[2] * x2[a], s3 = w[3] * x3[a];
        double *row = S + a * width;
        for (ptrdiff_t b = a / 4 * 4; b < width; b += LANES) {
            lanes sum = *(lanes *)(row + b);
            sum += s0 * *(const lanes *)(x0 + b);
            sum += s1 * *(const lanes *)(x1 + b);
            sum += s2 * *(const lanes *)(x2 + b);
            sum += s3 * *(const lanes *)(x3 + b);
            *(lanes *)(row + b) = sum;
        }
    }
}

/* S += sum_i w_i x_i x_i' over rows (n_rows, width), with w_i = weights[i step]. */
SOFTPOLYTOPE_WIDE
static void add_squares(
    ptrdiff_t n_rows, ptrdiff_t n, ptrdiff_t width, const double *rows, const double *weights, ptrdiff_t step, double *S
) {
    const ptrdiff_t tile = TILE / width > 4 ? TILE / width : 4;
    for (ptrdiff_t first = 0; first < n; first += tile) {
        const ptrdiff_t last = first + tile < n ? first + tile : n;
        const double *x[4];
        double w[4];
        int n_taken = 0;
        for (ptrdiff_t row = 0; row < n_rows; row++) {
            if (weights[row * step] == 0.0) {
                continue;
            }
            x[n_taken] = rows + row * width;
            w[n_taken] = weights[row * step];
            if (++n_taken == 4) {
                add_four_squares(first, last, width, x, w, S);
                n_taken = 0;
            }
        }
        if (n_taken > 0) {
            for (; n_taken < 4; n_taken++) {
                x[n_taken] = x[0];
                w[n_taken] = 0.0;
            }
            add_four_squares(first, last, width, x, w, S);
        }
    }
}

/* U with S = U'U in the place of S; 0 if there is none. Four rows at a time are taken out of those below them. */
SOFTPOLYTOPE_WIDE
static int factorise_upper(ptrdiff_t n, ptrdiff_t width, double *S) {
    const double minus[4] = {-1.0, -1.0, -1.0, -1.0};
    for (ptrdiff_t first = 0; first < n; first += 4) {
        const ptrdiff_t last = first + 4 < n ? first + 4 : n;
        const double *x[4];
        for (ptrdiff_t k = first; k < last; k++) {
            double *row = S + k * width;
            for (ptrdiff_t j = first; j < k; j++) {
                const double *above = S + j * width;
                const double factor = above[k];
                for (ptrdiff_t b = k; b < n; b++) {
                    row[b] -= factor * above[b];
                }
            }
            if (!(row[k] > 0.0)) {
                return 0;
            }
            const double root = sqrt(row[k]);
            for (ptrdiff_t b = k; b < n; b++) {
                row[b] /= root;
            }
            x[k - first] = row;
        }
        if (last < n) {
            add_four_squares(last, n, width, x, minus, S);
        }
    }
    return 1;
}

/* x in the place of v, with U'x = v. */
SOFTPOLYTOPE_WIDE
static void solve_lower(ptrdiff_t n, ptrdiff_t width, const double *U, double *v) {
    for (ptrdiff_t k = 0; k < n; k++) {
        const double *row = U + k * width;
        const double x = v[k] / row[k];
        v[k] = x;
        for (ptrdiff_t b = k + 1; b < n; b++) {
            v[b] -= x * row[b];
        }
    }
}

/* x in the place of v, with U x = v; four sums go on side by side. */
static void solve_upper(ptrdiff_t n, ptrdiff_t width, const double *U, double *v) {
    for (ptrdiff_t k = n - 1; k >= 0; k--) {
        const double *row = U + k * width;
        double sums[4] = {0.0, 0.0, 0.0, 0.0};
        ptrdiff_t b = k + 1;
        for (; b + 4 <= n; b += 4) {
            for (int i = 0; i < 4; i++) {
                sums[i] += row[b + i] * v[b + i];
            }
        }
        for (; b < n; b++) {
            sums[0] += row[b] * v[b];
        }
        v[k] = (v[k] - ((sums[0] + sums[1]) + (sums[2] + sums[3]))) / row[k];
    }
}

#endif
