/* test_cpu_sdpa.c - fast attention, forward and backward, against the reference over shapes, masks, windows
 * and caps. */
#include "harness.h"

#include "kernel_tolerance.h"

typedef struct attn_case {
    int64_t b, t, s, h, g, d;
    bool causal;
    int64_t window;
    double cap, size; /* inputs are uniform in [-size, size) */
} attn_case;

static const attn_case cases[] = {
    {1, 1, 1, 1, 1, 1, true, 0, 0, 2},
    {1, 1, 1, 9, 3, 64, true, 0, 0, 2},
    {2, 1, 1000, 9, 3, 64, true, 0, 0, 2},   /* decoding */
    {1, 1, 1000, 2, 2, 17, true, 129, 0, 2}, /* decoding in a window */
    {1, 2, 300, 4, 1, 128, true, 0, 30, 2},
    {1, 3, 1000, 9, 3, 64, true, 0, 0, 1}, /* a few rows more than the dot-product path takes */
    {1, 17, 17, 9, 3, 64, true, 0, 0, 2},
    {3, 56, 56, 9, 3, 64, true, 0, 0, 2},
    {1, 130, 130, 6, 2, 64, true, 0, 0, 2}, /* tiles and blocks with remainders */
    {1, 129, 257, 3, 1, 64, true, 0, 0, 2}, /* earlier keys */
    {1, 70, 70, 4, 4, 128, true, 0, 0, 1},
    {1, 50, 50, 8, 1, 256, true, 0, 50, 1},
    {2, 33, 33, 4, 2, 80, false, 0, 0, 2}, /* an encoder */
    {1, 40, 300, 2, 1, 5, false, 0, 0, 2},
    {1, 65, 65, 14, 2, 48, true, 0, 0, 2},
    {1, 9, 9, 64, 1, 32, true, 0, 0, 2}, /* more heads in a group than a block has rows */
    {1, 150, 150, 3, 1, 16, true, 20, 0, 2},
    {1, 150, 150, 3, 1, 16, true, 1, 0, 2},
    {1, 150, 400, 2, 1, 32, true, 140, 20, 2},
    {1, 60, 60, 2, 2, 12, false, 7, 0, 2},
    {1, 80, 20, 2, 1, 24, true, 0, 0, 2}, /* queries before the first key see nothing */
    {1, 300, 40, 2, 1, 24, true, 6, 1.5, 2},
    {1, 40, 1, 3, 3, 8, true, 0, 0, 2},
    {1, 60, 60, 2, 1, 64, true, 0, 0, 30}, /* scores in the thousands: one key takes all */
    {1, 60, 60, 2, 1, 64, true, 0, 5, 30},
};
enum { N_CASES = sizeof cases / sizeof cases[0] };

static asc_sample sample_of(const attn_case *c, bool grad) {
    const asc_shape q = ASC_SHAPE(c->b, c->t, c->h, c->d), k = ASC_SHAPE(c->b, c->s, c->g, c->d);
    asc_sample s = {.n_in = grad ? 5 : 3, .in_shape = {q, k, k, q, q}};
    for (int i = 0; i < 5; i++) {
        s.in_dtype[i] = ASC_DTYPE_F32;
        s.lo[i] = -c->size;
        s.hi[i] = c->size;
    }
    s.attrs = (asc_attrs){.i = {c->causal, c->window}, .f = {1 / sqrt((double)c->d), c->cap}};
    return s;
}

/* Longest row of an input. */
static double norm_of(const kcheck *k, int in, int64_t d) {
    double m = 0;
    for (int64_t r = 0; r < k->n_in[in]; r += d) {
        double s = 0;
        for (int64_t i = 0; i < d; i++) s += k->in64[in][r + i] * k->in64[in][r + i];
        m = fmax(m, s);
    }
    return sqrt(m);
}

/* A score is a sum of d products, |q||k| scale at most: its rounding (and that of exp's argument) is a few U
 * of that, and shifts a weight by as much, relatively. Sums over n keys add their own roundings, about
 * sqrt(n) U. */
static void set_tolerance(kcheck *k, const attn_case *c, bool grad) {
    const double scale = k->attrs.f[0], a = scale * norm_of(k, 0, c->d) * norm_of(k, 1, c->d);
    const double rel = KT_U * (12 + 2 * (c->cap > 0 ? fmin(a, 4 * c->cap) : a) + 2 * sqrt((double)c->s));
    if (!grad) {
        const double v = kt_row_max(k->in64[2], k->n_in[2]);
        for (int64_t e = 0; e < k->n_out; e++) k->tol[e] = rel * v;
        return;
    }
    /* |dP - delta| <= 2 |g||v|; weights of a row sum to 1, those of a key over all queries to T rep / S on
     * average */
    const double gv = norm_of(k, 4, c->d) * (norm_of(k, 2, c->d) + norm_of(k, 3, c->d));
    const double per_key = 8 + (double)(c->t * c->h / c->g) / (double)c->s;
    const double dq = rel * scale * gv * kt_row_max(k->in64[1], k->n_in[1]);
    const double dk = rel * scale * gv * per_key * kt_row_max(k->in64[0], k->n_in[0]);
    const double dv = rel * per_key * kt_row_max(k->in64[4], k->n_in[4]);
    for (int64_t e = 0; e < k->n_out; e++)
        k->tol[e] = e < k->n_in[0] ? dq : e < k->n_in[0] + k->n_in[1] ? dk : dv;
}

static void check_all(bool grad) {
    asc_ctx *ctx = test_ctx("cpu", "eager");
    for (int i = 0; i < N_CASES; i++) {
        kcheck k;
        asc_sample s = sample_of(&cases[i], grad);
        assert_true(kc_begin(&k, ctx, asc_ops[grad ? ASC_OPCODE_SDPA_GRAD : ASC_OPCODE_SDPA], &s));
        if (grad) { /* y is what attention gives, so that dP - delta cancels as it does in use */
            kcheck f;
            asc_sample fs = sample_of(&cases[i], false);
            assert_true(kc_begin(&f, ctx, asc_ops[ASC_OPCODE_SDPA], &fs));
            for (int j = 0; j < 3; j++) memcpy(f.in[j], k.in[j], (size_t)k.n_in[j] * sizeof(float));
            kc_reference(&f);
            for (int64_t e = 0; e < f.n_out; e++) k.in[3][e] = (float)f.want[e];
            kc_end(&f);
        }
        kc_reference(&k);
        set_tolerance(&k, &cases[i], grad);
        kc_compare_all(&k);
        assert_true(k.kernels >= 1 + (int)asc_cpu_vector_isa());
        kc_end(&k);
    }
    test_ctx_end(ctx);
}

static void test_forward(void **state) {
    (void)state;
    check_all(false);
}

static void test_backward(void **state) {
    (void)state;
    check_all(true);
}

/* Rows that see no key are exactly 0 and pass no gradient. */
static void test_masked_rows(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "eager");
    const attn_case c = {1, 70, 30, 2, 1, 16, true, 4, 0, 2};
    for (int grad = 0; grad < 2; grad++) {
        kcheck k;
        asc_sample s = sample_of(&c, grad != 0);
        assert_true(kc_begin(&k, ctx, asc_ops[grad != 0 ? ASC_OPCODE_SDPA_GRAD : ASC_OPCODE_SDPA], &s));
        for (size_t i = 0; i < asc_n_kernels; i++) {
            const asc_kernel *kn = asc_kernels[i];
            if (kn->opcode != k.call.op->opcode || kn->isa > asc_cpu_best_isa()) continue;
            float *out = kc_out(k.n_out);
            kc_run(&k, kn, out, 1, -1);
            for (int64_t e = 0; e < 40 * c.h * c.d; e++) assert_true(out[e] == 0.0f); /* queries 0 to 39 */
            free(out);
        }
        kc_end(&k);
    }
    test_ctx_end(ctx);
}

/* A NaN or infinity in a query or key reaches no query that does not see it. (In a value it may reach
 * neighbours in its block of queries: a weight of 0 times NaN is NaN.) */
static void test_nasty(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "eager");
    const attn_case c = {1, 150, 150, 2, 1, 16, true, 0, 0, 2};
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        for (int in = 0; in < 2; in++) {
            kcheck k;
            asc_sample s = sample_of(&c, false);
            assert_true(kc_begin(&k, ctx, asc_ops[ASC_OPCODE_SDPA], &s));
            k.in[in][140 * (in == 0 ? c.h : c.g) * c.d + 3] = bad[i];
            kc_reference(&k);
            for (size_t n = 0; n < asc_n_kernels; n++) {
                const asc_kernel *kn = asc_kernels[n];
                if (kn->opcode != ASC_OPCODE_SDPA || kn->isa > asc_cpu_best_isa()) continue;
                float *out = kc_out(k.n_out);
                kc_run(&k, kn, out, 1, -1);
                for (int64_t e = 0; e < 140 * c.h * c.d; e++) assert_true(isfinite(out[e]));
                for (int64_t e = 140 * c.h * c.d; e < k.n_out; e++)
                    if (isfinite(k.want[e]) != 0 && in == 0) assert_true(isfinite(out[e]));
                if (isnan(bad[i])) assert_true(isnan(out[140 * c.h * c.d + 3]));
                free(out);
            }
            kc_end(&k);
        }
    }
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),
        cmocka_unit_test(test_backward),
        cmocka_unit_test(test_masked_rows),
        cmocka_unit_test(test_nasty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
