/* kernel_tolerance.h - how far a fast f32 kernel may be from the f64 reference on the same inputs, by op,
 * with the reason. One ULP is the distance to the next f32 number; U = 2^-24 is the largest relative rounding
 * error of one operation. */
#ifndef ASC_TEST_KERNEL_TOLERANCE_H
#define ASC_TEST_KERNEL_TOLERANCE_H

#include "kernel_check.h"

#define KT_U 5.9604644775390625e-08

/* Pointwise ops: so many ULP of the result; -1 = has its own rule or is moved exactly. */
static inline double kt_pointwise_ulp(int opcode) {
    switch (opcode) {
    case ASC_OPCODE_ADD:
    case ASC_OPCODE_SUB:
    case ASC_OPCODE_MUL:
    case ASC_OPCODE_DIV:
    case ASC_OPCODE_RECIP:
    case ASC_OPCODE_SQUARE:
    case ASC_OPCODE_SQRT:
        return 0.5; /* one rounded operation */
    case ASC_OPCODE_SIN:
    case ASC_OPCODE_COS:
        return 1; /* the C library's promise */
    case ASC_OPCODE_PRELU:
        return 0.5;
    case ASC_OPCODE_SOFTSIGN: /* a sum and a quotient */
        return 1.5;
    case ASC_OPCODE_HARD_SWISH: /* a sum, a product, a quotient */
        return 2.5;
    case ASC_OPCODE_SOFTPLUS:
        return 5; /* what vmath.inl promises, and a sum */
    case ASC_OPCODE_MISH:
        return 9; /* exp counts twice in n, then n in n / (n + 2) */
    case ASC_OPCODE_ELU:
        return 9; /* what vmath.inl promises for expm1, and a product */
    case ASC_OPCODE_SELU:
        return 11;
    case ASC_OPCODE_LEAKY_RELU:
    case ASC_OPCODE_SCALE:
        return 1.5; /* the factor is rounded (up to 1 ULP of the product) */
    case ASC_OPCODE_RSQRT:
        return 1.5; /* two rounded operations */
    case ASC_OPCODE_EXP:
    case ASC_OPCODE_LOG:
    case ASC_OPCODE_TANH:
    case ASC_OPCODE_ERF:
        return 2; /* what vmath.inl promises */
    case ASC_OPCODE_SIGMOID:
        return 3;
    case ASC_OPCODE_SILU:
        return 4; /* sigmoid and a product */
    case ASC_OPCODE_SWIGLU:
        return 5; /* and another one */
    default:
        return -1;
    }
}

static inline double kt_row_max(const double *x, int64_t n) {
    double m = 0;
    for (int64_t i = 0; i < n; i++) m = fmax(m, fabs(x[i]));
    return m;
}

/* Normalisations: each factor costs a rounding; where two terms cancel, their sizes count, not the result's.
 */
static inline void kt_norm(kcheck *k) {
    const int op = k->call.op->opcode;
    const asc_shape *s = &k->call.shape;
    const int64_t d = s->dims[s->rank - 1], rows = d > 0 ? k->n_out / d : 0;
    const bool layer = op == ASC_OPCODE_LAYER_NORM || op == ASC_OPCODE_LAYER_NORM_GRAD;
    for (int64_t r = 0; r < rows; r++) {
        const double *a = k->in64[0] + r * d;
        double mean = 0, var = 0, u_max = 0;
        for (int64_t i = 0; i < d && layer; i++) mean += a[i];
        mean /= (double)d;
        for (int64_t i = 0; i < d; i++) var += (a[i] - mean) * (a[i] - mean) / (double)d;
        const double rstd = 1 / sqrt(var + k->attrs.f[0]);
        for (int64_t i = 0; i < d && k->call.n_in == 3; i++)
            u_max = fmax(u_max, fabs(k->in64[2][r * d % k->n_in[2] + i] * k->in64[1][i]));
        for (int64_t i = 0; i < d; i++) {
            const int64_t e = r * d + i;
            const double n = fabs(a[i] - mean) * rstd;
            if (op == ASC_OPCODE_RMS_NORM) k->tol[e] = 4 * KT_U * fabs(k->want[e]);
            if (op == ASC_OPCODE_LAYER_NORM)
                k->tol[e] = 5 * KT_U * (fabs(k->want[e]) + 2 * fabs(k->in64[2][i]));
            if (op == ASC_OPCODE_RMS_NORM_GRAD || op == ASC_OPCODE_LAYER_NORM_GRAD)
                k->tol[e] = 6 * KT_U * rstd * u_max * (1 + n);
            k->tol[e] += ldexp(1, -148);
        }
    }
}

/* exp(a - max): rounding the difference d costs |d| U of the value; exp itself, the sum and the division 4 U
 * more. */
static inline void kt_softmax(kcheck *k) {
    const int op = k->call.op->opcode;
    const asc_shape *s = &k->call.shape;
    const int64_t d = s->dims[s->rank - 1], rows = d > 0 ? k->n_out / d : 0;
    for (int64_t r = 0; r < rows; r++) {
        const double *a = k->in64[0] + r * d;
        double m = -INFINITY, dot = 0;
        for (int64_t i = 0; i < d; i++) m = fmax(m, a[i]);
        for (int64_t i = 0; i < d && op == ASC_OPCODE_SOFTMAX_GRAD; i++) dot += a[i] * k->in64[1][r * d + i];
        for (int64_t i = 0; i < d; i++) {
            const int64_t e = r * d + i;
            const double w = fabs(k->want[e]);
            if (op == ASC_OPCODE_SOFTMAX)
                k->tol[e] = w * KT_U * (8 + fabs(a[i] - m)) + (double)FLT_MIN; /* flushed below */
            if (op == ASC_OPCODE_LOG_SOFTMAX) k->tol[e] = KT_U * (w + 8);
            if (op == ASC_OPCODE_SOFTMAX_GRAD)
                k->tol[e] = 4 * KT_U * fabs(a[i]) * (fabs(k->in64[1][e]) + fabs(dot));
            if (isnan(k->tol[e])) k->tol[e] = 0;
            k->tol[e] += ldexp(1, -148);
        }
    }
}

/* Fills k->tol after kc_reference. */
static inline void kt_set(kcheck *k) {
    const int op = k->call.op->opcode;
    const double ulps = kt_pointwise_ulp(op), *x = k->in64[0],
                 largest = k->call.n_in > 0 ? kt_row_max(x, k->n_in[0]) : 0;
    k->exact_zero = ulps >= 0 && ulps <= 0.5;
    for (int64_t e = 0; e < k->n_out && ulps >= 0; e++) k->tol[e] = (ulps + 1e-6) * kc_ulp(k->want[e]);
    switch (op) {
    case ASC_OPCODE_SILU:
    case ASC_OPCODE_SWIGLU: /* a sigmoid below e^-87 counts as 0; 87 e^-87 < 2e-36 */
        for (int64_t e = 0; e < k->n_out; e++)
            k->tol[e] += 2e-36 * (k->call.n_in > 1 ? fabs(k->in64[1][e]) : 1);
        break;
    case ASC_OPCODE_MISH:
        for (int64_t e = 0; e < k->n_out; e++) k->tol[e] += 2e-36;
        break;
    case ASC_OPCODE_CELU: /* as elu; the quotient's rounding counts by its size in the exponent */
        for (int64_t e = 0; e < k->n_out; e++)
            k->tol[e] = (9 + 2 * fmin(fabs(x[e] / k->attrs.f[0]), 1e3)) * kc_ulp(k->want[e]);
        break;
    case ASC_OPCODE_HARD_SIGMOID: /* a product and a sum of rounded attributes */
        for (int64_t e = 0; e < k->n_out; e++)
            k->tol[e] = 3 * KT_U * (fmin(fabs(x[e] * k->attrs.f[0]), 10) + fabs(k->attrs.f[1]) + 1);
        break;
    case ASC_OPCODE_CLIP: /* the ends are rounded */
        for (int64_t e = 0; e < k->n_out; e++) k->tol[e] = KT_U * fabs(k->want[e]);
        break;
    case ASC_OPCODE_SHIFT: /* the addend is rounded */
        for (int64_t e = 0; e < k->n_out; e++)
            k->tol[e] = 0.5 * kc_ulp(k->want[e]) + KT_U * fabs(k->attrs.f[0]);
        break;
    case ASC_OPCODE_GELU: /* the tail is e^(-x^2/2): without fused multiply-add its exponent is rounded to U
                             x^2/2 */
        for (int64_t e = 0; e < k->n_out; e++)
            k->tol[e] = (6 + fmin(x[e] * x[e], 1e3) / 2) * kc_ulp(k->want[e]);
        break;
    case ASC_OPCODE_GELU_TANH: /* the exponent 2u has 5 roundings, two of them of constants */
        for (int64_t e = 0; e < k->n_out; e++) {
            double u2 = fmin(fabs(1.5957691 * (x[e] + 0.044715 * x[e] * x[e] * x[e])), 1e3);
            k->tol[e] = (5 + 3 * u2) * kc_ulp(k->want[e]) + 2e-36;
        }
        break;
    case ASC_OPCODE_GELU_SLOPE: /* has a root, so the sizes of its terms count; the exponent as in gelu */
        for (int64_t e = 0; e < k->n_out; e++) {
            const double a = fmin(fabs(x[e]), 40), bell = 0.3989422804 * exp(-a * a / 2);
            k->tol[e] =
                (8 + a * a / 2) * KT_U * (0.5 * erfc(-fmax(x[e], -40) * 0.7071067812) + a * bell) + 1e-37;
        }
        break;
    case ASC_OPCODE_GELU_TANH_SLOPE: /* the same; the exponent v as in gelu_tanh */
        for (int64_t e = 0; e < k->n_out; e++) {
            const double a = fmin(fabs(x[e]), 11), v = 1.5957691 * (a + 0.044715 * a * a * a);
            const double s = 1 / (1 + exp(x[e] < 0 ? v : -v)), dv = 1.5957691 * (1 + 3 * 0.044715 * a * a);
            k->tol[e] = (8 + 3 * v) * KT_U * (s + a * s * (1 - s) * dv) + 1e-34;
        }
        break;
    case ASC_OPCODE_SWIGLU_GRAD: /* s (1 + x (1 - s)) has a root, so the sizes of its terms count */
        for (int64_t e = 0; e < k->n_out / 2; e++) {
            double s = 1 / (1 + exp(-x[e])), gu = fabs(k->in64[1][e] * k->in64[2][e]);
            double xs = fabs(x[e]) > 100 ? 0 : fabs(x[e]) * s * (1 - s);
            k->tol[e] = 8 * KT_U * gu * (s + xs) + 2e-36 * (1 + gu);
            k->tol[k->n_out / 2 + e] = 5 * kc_ulp(k->want[k->n_out / 2 + e]) + 2e-36 * fabs(k->in64[2][e]);
            if (isnan(k->tol[e])) k->tol[e] = 0;
        }
        break;
    case ASC_OPCODE_SUM:
    case ASC_OPCODE_MEAN: /* summed in double, rounded once; 2^-40 covers the order of addition */
        for (int64_t e = 0; e < k->n_out; e++)
            k->tol[e] = 0.500001 * kc_ulp(k->want[e]) + ldexp(largest, -40);
        break;
    case ASC_OPCODE_ROPE: /* two products, one sum, rounded cos and sin */
        for (int64_t e = 0; e < k->n_out; e++) k->tol[e] = 6 * KT_U * fabs(k->attrs.f[0]) * largest;
        break;
    case ASC_OPCODE_CUMSUM: /* summed in double, in the reference's order */
        for (int64_t e = 0; e < k->n_out; e++) k->tol[e] = 0.500001 * kc_ulp(k->want[e]);
        break;
    case ASC_OPCODE_PUT_ALONG:
    case ASC_OPCODE_SCATTER_ADD: { /* f32 additions, one for each row at most */
        const asc_shape *i = &k->call.in_shape[1];
        for (int64_t e = 0; e < k->n_out; e++)
            k->tol[e] = KT_U * (double)kc_elems(i) * (double)kc_elems(i) * largest;
        break;
    }
    case ASC_OPCODE_FULL:
    case ASC_OPCODE_IOTA:
    case ASC_OPCODE_CAST:
        for (int64_t e = 0; e < k->n_out; e++) k->tol[e] = 0.5 * kc_ulp(k->want[e]);
        break;
    case ASC_OPCODE_RMS_NORM:
    case ASC_OPCODE_RMS_NORM_GRAD:
    case ASC_OPCODE_LAYER_NORM:
    case ASC_OPCODE_LAYER_NORM_GRAD:
        kt_norm(k);
        break;
    case ASC_OPCODE_SOFTMAX:
    case ASC_OPCODE_LOG_SOFTMAX:
    case ASC_OPCODE_SOFTMAX_GRAD:
        kt_softmax(k);
        break;
    default:
        break; /* comparisons, choices, moves: exact */
    }
}

#endif
