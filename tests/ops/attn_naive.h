/* attn_naive.h - attention written from its definition with an explicit mask, for comparison; shares no code
 * with src/. */
#ifndef ASC_TEST_ATTN_NAIVE_H
#define ASC_TEST_ATTN_NAIVE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct naive_case {
    const char *name;
    int B, T, S, H, G, D;
    bool causal;
    int window;
    double scale, cap, size; /* size: range of q and k values */
} naive_case;

/* May query t see key s? */
static inline bool naive_sees(const naive_case *c, int t, int s) {
    const int pos = t + (c->S - c->T), back = pos - s;
    if (c->causal && back < 0) return false;
    return !(c->window > 0 && back >= c->window);
}

/* Probabilities of one query over all keys; all zero if it sees none. raw[s] is the score before the cap. */
static inline void naive_probs(const naive_case *c, const double *q, const double *k, int b, int t, int h,
                               double *p, double *raw) {
    const int g = h / (c->H / c->G);
    double max = -INFINITY, sum = 0;
    for (int s = 0; s < c->S; s++) {
        double z = 0;
        for (int d = 0; d < c->D; d++)
            z += q[((b * c->T + t) * c->H + h) * c->D + d] * k[((b * c->S + s) * c->G + g) * c->D + d];
        raw[s] = z * c->scale;
        p[s] = c->cap > 0 ? c->cap * tanh(raw[s] / c->cap) : raw[s];
        if (naive_sees(c, t, s) && p[s] > max) max = p[s];
    }
    for (int s = 0; s < c->S; s++) {
        p[s] = naive_sees(c, t, s) ? exp(p[s] - max) : 0;
        sum += p[s];
    }
    for (int s = 0; s < c->S; s++) p[s] = sum > 0 ? p[s] / sum : 0;
}

static inline void naive_attention(const naive_case *c, const double *q, const double *k, const double *v,
                                   double *y) {
    double p[64], raw[64];
    for (int b = 0; b < c->B; b++)
        for (int t = 0; t < c->T; t++)
            for (int h = 0; h < c->H; h++) {
                naive_probs(c, q, k, b, t, h, p, raw);
                for (int d = 0; d < c->D; d++) {
                    double sum = 0;
                    for (int s = 0; s < c->S; s++)
                        sum += p[s] * v[((b * c->S + s) * c->G + h / (c->H / c->G)) * c->D + d];
                    y[((b * c->T + t) * c->H + h) * c->D + d] = sum;
                }
            }
}

/* Gradients by the full Jacobian of softmax, p_i (1[i = j] - p_j), not by the shortcut through y. */
static inline void naive_gradient(const naive_case *c, const double *q, const double *k, const double *v,
                                  const double *dy, double *dq, double *dk, double *dv) {
    double p[64], raw[64], dp[64];
    for (int b = 0; b < c->B; b++)
        for (int t = 0; t < c->T; t++)
            for (int h = 0; h < c->H; h++) {
                const int g = h / (c->H / c->G), at_q = ((b * c->T + t) * c->H + h) * c->D;
                naive_probs(c, q, k, b, t, h, p, raw);
                for (int s = 0; s < c->S; s++) {
                    dp[s] = 0;
                    for (int d = 0; d < c->D; d++) {
                        const int at = ((b * c->S + s) * c->G + g) * c->D + d;
                        dp[s] += dy[at_q + d] * v[at];
                        dv[at] += p[s] * dy[at_q + d];
                    }
                }
                for (int j = 0; j < c->S; j++) {
                    double ds = 0;
                    for (int i = 0; i < c->S; i++) ds += dp[i] * p[i] * ((i == j ? 1 : 0) - p[j]);
                    if (c->cap > 0) ds *= 1 / (cosh(raw[j] / c->cap) * cosh(raw[j] / c->cap));
                    for (int d = 0; d < c->D; d++) {
                        const int at = ((b * c->S + j) * c->G + g) * c->D + d;
                        dq[at_q + d] += ds * c->scale * k[at];
                        dk[at] += ds * c->scale * q[at_q + d];
                    }
                }
            }
}

#endif
