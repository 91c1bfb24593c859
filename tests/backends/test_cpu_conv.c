/* test_cpu_conv.c - the fast kernels of convolutions and pools against the reference in f64: the ops' own
 * samples and shapes on both sides of every block edge, 1 and 2 threads, every instruction set of this
 * machine; and that an example's bits do not depend on the rest of its batch. */
#include "harness.h"

#include "kernel_tolerance.h"
#include "ops.h"

/* Sum of |a| |b| over what each output element adds up, by the reference kernel on absolute values. */
static double *sizes_of_sums(const kcheck *k) {
    double *in[ASC_MAX_IN], *out = kc_alloc((size_t)k->n_out * sizeof(double));
    asc_ref_args a = {.attrs = &k->attrs, .n_in = k->call.n_in, .n_threads = 1};
    for (int i = 0; i < k->call.n_in; i++) {
        in[i] = kc_alloc((size_t)k->n_in[i] * sizeof(double));
        for (int64_t e = 0; e < k->n_in[i]; e++)
            in[i][e] = k->call.in_dtype[i] == ASC_DTYPE_F32 ? fabs(k->in64[i][e]) : k->in64[i][e];
        a.in[i] = kc_nd(in[i], &k->call.in_shape[i]);
    }
    a.out = kc_nd(out, &k->call.shape);
    k->call.op->ref(&a);
    for (int i = 0; i < k->call.n_in; i++) free(in[i]);
    return out;
}

/* Roundings of a sum of n terms grow like sqrt(n) when signs are random; 4 for what is added at its end. */
static double terms(const asc_call *c) {
    if (c->op->opcode >= ASC_OPCODE_MAX_POOL) {
        double n = 1;
        for (int d = 0; d < ASC_MAX_SPATIAL && c->op->opcode >= ASC_OPCODE_AVG_POOL; d++)
            n *= (double)(c->attrs->i[ASC_WIN_KERNEL + d] > 0 ? c->attrs->i[ASC_WIN_KERNEL + d] : 1);
        return n;
    }
    asc_conv_sizes s;
    asc_conv_sizes_of(c, &s);
    return asc_conv_flops(&s) / 2 / (double)asc_shape_elems(&c->shape) + 1;
}

static int check(asc_ctx *ctx, const asc_op *op, const asc_sample *s) {
    kcheck k;
    assert_true(kc_begin(&k, ctx, op, s));
    kc_reference(&k);
    double *size = sizes_of_sums(&k);
    const double n = terms(&k.call);
    const int o = op->opcode;
    const bool exact =
        o == ASC_OPCODE_MAX_POOL || o == ASC_OPCODE_MAX_POOL_INDEX || o == ASC_OPCODE_POOL_TAKE;
    for (int64_t e = 0; e < k.n_out; e++) k.tol[e] = exact ? 0 : KT_U * (4 + 2 * sqrt(n)) * size[e];
    kc_compare_all(&k);
    free(size);
    kc_end(&k);
    return k.kernels;
}

static bool has_kernel(const asc_op *op) {
    for (size_t i = 0; i < asc_n_kernels; i++)
        if (asc_kernels[i]->opcode == op->opcode) return true;
    return false;
}

static void samples(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "eager");
    for (int o = ASC_OPCODE_CONV; o <= ASC_OPCODE_AVG_POOL_GRAD; o++) {
        asc_sample s;
        if (!has_kernel(asc_ops[o])) fail_msg("%s has no kernel", asc_ops[o]->name);
        for (int i = 0; memset(&s, 0, sizeof s), asc_ops[o]->sample(i, &s); i++)
            if (check(ctx, asc_ops[o], &s) == 0) fail_msg("%s, sample %d: no kernel", asc_ops[o]->name, i);
    }
    test_ctx_end(ctx);
}

typedef struct conv_case {
    asc_shape x, w;
    int64_t groups;
    asc_window win;
} conv_case;

static const conv_case convs[] = {
    /* several panels of k, rows, columns; slabs across rows and images */
    {{4, {2, 96, 7, 7}}, {4, {21, 96, 3, 3}}, 1, {.before = {1, 1}, .after = {1, 1}}},
    {{4, {3, 5, 14, 14}}, {4, {10, 5, 3, 3}}, 1, {.before = {1, 1}, .after = {1, 1}}},
    {{4, {1, 3, 61, 59}}, {4, {17, 3, 7, 7}}, 1, {.stride = {2, 2}, .before = {3, 3}, .after = {3, 3}}},
    {{4, {2, 16, 30, 49}}, {4, {9, 16, 1, 1}}, 1, {.before = {0}}},
    {{4, {2, 8, 15, 17}}, {4, {12, 8, 1, 1}}, 1, {.stride = {2, 2}}},
    {{4, {1, 6, 20, 21}}, {4, {8, 6, 3, 2}}, 1, {.stride = {3, 5}, .before = {2, 0}, .after = {0, 4}}},
    {{4, {2, 8, 13, 12}}, {4, {16, 4, 3, 3}}, 2, {.dilation = {2, 3}, .before = {2, 3}, .after = {2, 3}}},
    {{4, {2, 12, 19, 40}}, {4, {12, 1, 3, 3}}, 12, {.before = {1, 1}, .after = {1, 1}}},
    {{4, {1, 6, 18, 35}}, {4, {12, 1, 5, 5}}, 6, {.stride = {2, 2}, .before = {2, 2}, .after = {2, 2}}},
    {{4, {1, 9, 9, 9}}, {4, {2, 9, 3, 3}}, 1, {.before = {-1, 0}, .after = {0, -2}}},
    {{4, {1, 5, 6, 6}},
     {4, {7, 5, 2, 2}},
     1,
     {.stride = {4, 2}, .dilation = {2, 4}, .before = {5, 1}, .after = {3, 2}}},
    {{3, {2, 2, 1200}}, {3, {5, 2, 801}}, 1, {.stride = {3}, .before = {7}}},
    {{3, {3, 40, 25}}, {3, {33, 40, 3}}, 1, {.before = {1}, .after = {1}}},
    {{3, {1, 1, 2000}}, {3, {4, 1, 10}}, 1, {.stride = {5}}},
    {{3, {1, 3, 40}}, {3, {3, 1, 4}}, 3, {.stride = {7}, .dilation = {3}, .before = {2}}},
    {{5, {1, 4, 6, 7, 8}},
     {5, {6, 4, 3, 2, 3}},
     1,
     {.stride = {1, 2, 2}, .before = {1, 0, 1}, .after = {1, 1, 0}}},
    {{5, {2, 3, 4, 9, 17}},
     {5, {5, 3, 1, 3, 3}},
     1,
     {.dilation = {1, 2, 1}, .before = {0, 2, 1}, .after = {0, 2, 1}}},
    {{4, {1, 300, 5, 5}}, {4, {50, 300, 1, 1}}, 1, {.before = {0}}},
    /* few rows: more taps than are kept, rows longer than what is in registers at once */
    {{3, {2, 2, 300}}, {3, {1, 2, 101}}, 1, {.stride = {2}, .before = {50}, .after = {50}}},
    {{4, {2, 3, 5, 150}}, {4, {3, 1, 3, 3}}, 3, {.before = {1, 1}, .after = {1, 1}}},
    {{4, {1, 3, 6, 301}}, {4, {3, 1, 3, 5}}, 3, {.stride = {1, 2}, .before = {1, 2}, .after = {1, 2}}},
    {{4, {1, 2, 6, 400}}, {4, {2, 1, 2, 4}}, 2, {.stride = {2, 3}}},
    /* stride 2 and few rows, whose four phases are one: even and odd sizes, a phase without its last column,
     * rows of one, two and three vectors, even kernels, padding that is cut off, a third axis */
    {{4, {2, 3, 64, 98}}, {4, {16, 3, 7, 7}}, 1, {.stride = {2, 2}, .before = {3, 3}, .after = {3, 3}}},
    {{4, {2, 3, 9, 65}}, {4, {5, 3, 3, 3}}, 1, {.stride = {2, 2}, .before = {1, 1}, .after = {1, 1}}},
    {{4, {1, 6, 12, 33}}, {4, {8, 3, 4, 2}}, 2, {.stride = {2, 2}, .before = {1, 0}, .after = {2, 1}}},
    {{4, {2, 1, 31, 7}}, {4, {6, 1, 5, 6}}, 1, {.stride = {2, 2}, .before = {2, 5}, .after = {2, 0}}},
    {{4, {1, 4, 37, 101}}, {4, {4, 2, 2, 3}}, 2, {.stride = {2, 2}, .before = {-1, 0}, .after = {0, -3}}},
    {{5, {2, 3, 4, 9, 40}},
     {5, {7, 3, 2, 3, 5}},
     1,
     {.stride = {1, 2, 2}, .before = {1, 1, 2}, .after = {0, 1, 2}}},
};

static asc_sample conv_sample(const conv_case *c, int opcode) {
    const int n = c->x.rank - 2;
    asc_sample s = {.n_in = 2, .lo = {-1, -1, -1}, .hi = {1, 1, 1}};
    asc_shape y = c->x;
    asc_geometry g;
    s.attrs = asc_window_attrs(&c->win, n, false);
    s.attrs.i[ASC_WIN_GROUPS] = c->groups;
    asc_geometry_of(&s.attrs, n, c->x.dims + 2, c->w.dims + 2, false, &g);
    y.dims[1] = c->w.dims[0];
    for (int d = 0; d < n; d++) y.dims[2 + d] = asc_spatial_of(g.out, n)[d];
    s.in_shape[0] = opcode == ASC_OPCODE_CONV_GRAD_INPUT ? y : c->x;
    s.in_shape[1] = opcode == ASC_OPCODE_CONV_GRAD_WEIGHT ? y : c->w;
    if (opcode == ASC_OPCODE_CONV) {
        s.n_in = 3;
        s.in_shape[2] = ASC_SHAPE(c->w.dims[0]);
    } else if (opcode == ASC_OPCODE_CONV_GRAD_INPUT) {
        asc_window_set_size(&s.attrs, n, c->x.dims + 2);
    } else {
        for (int d = 0; d < n; d++) s.attrs.i[ASC_WIN_KERNEL + d] = c->w.dims[2 + d];
    }
    return s;
}

static void convolutions(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "eager");
    for (size_t i = 0; i < sizeof convs / sizeof convs[0]; i++)
        for (int op = ASC_OPCODE_CONV; op <= ASC_OPCODE_CONV_GRAD_WEIGHT; op++) {
            const asc_sample s = conv_sample(&convs[i], op);
            if (check(ctx, asc_ops[op], &s) == 0) fail_msg("%s, case %zu: no kernel", asc_ops[op]->name, i);
        }
    test_ctx_end(ctx);
}

/* The second example alone gives the bits that it has in the batch. */
static void batches(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "eager");
    for (size_t i = 0; i < sizeof convs / sizeof convs[0]; i++)
        for (int op = ASC_OPCODE_CONV; op <= ASC_OPCODE_CONV_GRAD_INPUT; op++) {
            const asc_sample s = conv_sample(&convs[i], op);
            kcheck k;
            if (convs[i].x.dims[0] < 2) continue;
            assert_true(kc_begin(&k, ctx, asc_ops[op], &s));
            const asc_kernel *kn = asc_kernel_pick(&k.call, asc_cpu_best_isa());
            float *all = kc_out(k.n_out), *one = kc_out(k.n_out);
            kc_run(&k, kn, all, 2, -1);
            const int64_t batch = k.call.shape.dims[0], n = k.n_out / batch, n_in = k.n_in[0] / batch;
            k.call.shape.dims[0] = k.call.in_shape[0].dims[0] = 1;
            memmove(k.in[0], k.in[0] + n_in, (size_t)n_in * sizeof(float));
            kc_run(&k, kn, one, 1, -1);
            if (memcmp(all + n, one, (size_t)n * sizeof(float)) != 0)
                fail_msg("%s, case %zu: an example's bits depend on its batch", kn->name, i);
            free(all);
            free(one);
            kc_end(&k);
        }
    test_ctx_end(ctx);
}

static void pools(void **state) {
    (void)state;
    static const struct {
        asc_shape x;
        asc_window win;
    } cases[] = {
        {{4, {2, 3, 112, 61}}, {.kernel = {3, 3}, .stride = {2, 2}, .before = {1, 1}, .after = {1, 1}}},
        {{4, {1, 5, 33, 40}}, {.kernel = {2, 2}, .stride = {2, 2}, .ceil = true}},
        {{4, {1, 7, 20, 20}}, {.kernel = {3, 5}, .stride = {1, 1}, .before = {1, 2}, .after = {1, 2}}},
        {{4, {2, 2, 23, 31}},
         {.kernel = {3, 4}, .stride = {3, 2}, .dilation = {2, 3}, .before = {2, 4}, .after = {1, 5}}},
        {{4, {3, 70, 7, 7}}, {.kernel = {7, 7}}},
        {{3, {2, 4, 700}}, {.kernel = {5}, .stride = {4}, .before = {2}, .after = {2}, .ceil = true}},
        {{3, {1, 2, 700}}, {.kernel = {45}, .stride = {2}, .before = {22}, .after = {22}}},
        {{5, {1, 3, 8, 9, 21}},
         {.kernel = {2, 3, 2}, .stride = {2, 1, 2}, .before = {1, 1, 0}, .after = {0, 1, 1}}},
    };
    asc_ctx *ctx = test_ctx("cpu", "eager");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int n = cases[i].x.rank - 2;
        asc_sample s = {.n_in = 1, .in_shape = {cases[i].x}, .lo = {-1}, .hi = {1}};
        asc_geometry g;
        s.attrs = asc_window_attrs(&cases[i].win, n, true);
        s.attrs.i[ASC_WIN_CEIL] = cases[i].win.ceil;
        assert_true(check(ctx, &asc_op_max_pool, &s) > 0);
        assert_true(check(ctx, &asc_op_max_pool_index, &s) > 0);
        asc_geometry_of(&s.attrs, n, cases[i].x.dims + 2, s.attrs.i + ASC_WIN_KERNEL, cases[i].win.ceil, &g);
        asc_shape y = cases[i].x;
        for (int d = 0; d < n; d++) y.dims[2 + d] = asc_spatial_of(g.out, n)[d];
        for (int include = 0; include < 2; include++) {
            s.attrs.i[ASC_WIN_INCLUDE_PAD] = include;
            assert_true(check(ctx, &asc_op_avg_pool, &s) > 0);
            asc_sample back = s;
            back.in_shape[0] = y;
            asc_window_set_size(&back.attrs, n, cases[i].x.dims + 2);
            assert_true(check(ctx, &asc_op_avg_pool_grad, &back) > 0);
        }
        asc_sample put = {.n_in = 2, .in_shape = {y, y}, .in_dtype = {ASC_DTYPE_F32, ASC_DTYPE_I32}};
        put.lo[0] = -1, put.hi[0] = 1, put.lo[1] = -3, put.hi[1] = (double)(g.in[0] * g.in[1] * g.in[2] + 3);
        asc_window_set_size(&put.attrs, n, cases[i].x.dims + 2);
        assert_true(check(ctx, &asc_op_pool_put, &put) > 0);
        put.attrs = (asc_attrs){.i = {0}};
        put.in_shape[0] = cases[i].x;
        assert_true(check(ctx, &asc_op_pool_take, &put) > 0);
    }
    test_ctx_end(ctx);
}

/* Equal values, NaN and infinities under the windows: value and place are the reference's. */
static void ties(void **state) {
    (void)state;
    static const float values[] = {0.0f, 1.0f, 1.0f, NAN, -INFINITY, INFINITY, -INFINITY, -0.0f};
    asc_ctx *ctx = test_ctx("cpu", "eager");
    for (int round = 0; round < 24; round++) {
        const asc_window win = {
            .kernel = {3, 2 + round % 3}, .stride = {2, 1 + round % 2}, .before = {1, 1}, .after = {1, 0}};
        asc_sample s = {.n_in = 1, .in_shape = {ASC_SHAPE(2, 3, 9, 41)}, .lo = {0}, .hi = {1}};
        s.attrs = asc_window_attrs(&win, 2, true);
        for (int op = ASC_OPCODE_MAX_POOL; op <= ASC_OPCODE_MAX_POOL_INDEX; op++) {
            kcheck k;
            assert_true(kc_begin(&k, ctx, asc_ops[op], &s));
            for (int64_t e = 0; e < k.n_in[0]; e++) {
                const int most = round < 8 ? 3 : 8; /* NaN everywhere would hide the rest */
                k.in[0][e] = values[((int)kc_uniform(0, most) + (round % 4 == 3 ? 4 : 0)) & 7];
            }
            kc_reference(&k);
            kc_compare_all(&k);
            assert_true(k.kernels > 0);
            kc_end(&k);
        }
    }
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(samples), cmocka_unit_test(convolutions),
                                       cmocka_unit_test(batches), cmocka_unit_test(pools),
                                       cmocka_unit_test(ties)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
