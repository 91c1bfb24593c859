/* test_exec_random.c - random programs give the same bytes in every mode: deferred, eager, compiled, with a
 * cache of one entry, without passes, with two threads; and errors in their middle poison what follows and
 * nothing else. */
#include "ascribe/compile.h"
#include "exec.h"
#include "harness.h"
#include "hash.h"
#include "ops.h"
#include <unistd.h>

enum { N_IN = 3, N_SCALARS = 2, N_OPS = 24, N_OUT = 4, MOST_ELEMS = 16384 };

/* A program is its seed: the same draws record the same ops in every context. */
typedef struct plan {
    uint64_t seed;
    bool fail; /* an op in the middle gets shapes that do not fit */
} plan;

typedef struct draws {
    uint64_t seed, next;
} draws;

static uint32_t draw(draws *d, uint32_t below) {
    return (uint32_t)(asc_uniform(d->seed, 7, d->next++) * (double)below);
}

static asc_shape shape_of(draws *d) {
    static const int64_t sizes[] = {1, 2, 3, 5, 8, 17, 33, 64};
    asc_shape s = {.rank = 2 + (int)draw(d, 2)};
    for (int i = 0; i < s.rank; i++) s.dims[i] = sizes[draw(d, s.rank == 2 ? 8 : 6)];
    return s;
}

/* Ops that move values, or reduce them along an axis. */
static asc_tensor *moved(asc_ctx *ctx, draws *d, asc_tensor *x) {
    int rank = x->shape.rank, axis = (int)draw(d, (uint32_t)rank), last = -1;
    int64_t n = x->shape.dims[axis];
    switch (draw(d, 10)) {
    case 0:
        return asc_sum(ctx, x, 1, &axis, true);
    case 1:
        return asc_mean(ctx, x, 1, &last, true);
    case 2:
        return asc_reshape(ctx, x, ASC_SHAPE(-1, x->shape.dims[rank - 1]));
    case 3: {
        int64_t first = draw(d, (uint32_t)n);
        return asc_slice(ctx, x, axis, first, 1 + draw(d, (uint32_t)(n - first)));
    }
    case 4: {
        asc_tensor *two[] = {x, asc_neg(ctx, x)};
        return asc_tensor_elems(x) <= MOST_ELEMS / 2 ? asc_concat(ctx, two, 2, axis) : x;
    }
    case 5: {
        int perm[ASC_MAX_RANK];
        for (int i = 0; i < rank; i++) perm[i] = (i + 1) % rank;
        return asc_transpose(ctx, x, rank, perm);
    }
    case 6:
        return asc_max(ctx, x, axis, true);
    case 7: {
        int32_t rows[3] = {(int32_t)x->shape.dims[0] - 1, 0, (int32_t)x->shape.dims[0] / 2};
        return asc_gather(ctx, x, asc_from_i32(ctx, ASC_SHAPE(3), rows));
    }
    case 8:
        return asc_tensor_elems(x) <= MOST_ELEMS / 2 ? asc_pad(ctx, x, axis, 1, 0) : x;
    default:
        return asc_cumsum(ctx, x, axis, false, false);
    }
}

/* Layers: attention of x with itself, a product with a bias, a convolution. */
static asc_tensor *layer(asc_ctx *ctx, draws *d, asc_tensor *x) {
    int64_t n = x->shape.dims[x->shape.rank - 1], t = x->shape.dims[x->shape.rank - 2];
    int64_t b = asc_tensor_elems(x) / n / t;
    if (draw(d, 2) == 0) {
        asc_tensor *q = asc_reshape(ctx, x, ASC_SHAPE(b, t, 1, n)), *k = asc_tanh(ctx, q);
        asc_tensor *y = asc_sdpa(ctx, q, k, q, 0.5, draw(d, 2) == 0, 0, 0.0);
        return asc_reshape(ctx, y, ASC_SHAPE(b * t, n));
    }
    if (draw(d, 2) == 0 || n < 3 || t < 3) {
        asc_tensor *w = asc_reshape(ctx, asc_iota(ctx, 5 * n, -0.5, 0.125), ASC_SHAPE(5, n));
        return asc_matmul_bias(ctx, x, asc_sin(ctx, w), asc_iota(ctx, 5, 1.0, -0.25), false, true);
    }
    static const asc_window win = {
        .kernel = {3, 3, 1}, .stride = {1, 1, 1}, .dilation = {1, 1, 1}, .before = {1, 1}};
    asc_tensor *w = asc_cos(ctx, asc_reshape(ctx, asc_iota(ctx, 18, 0.5, 0.75), ASC_SHAPE(2, 1, 3, 3)));
    asc_tensor *bias = asc_full(ctx, ASC_SHAPE(2), 0.25);
    asc_tensor *y = asc_conv(ctx, asc_reshape(ctx, x, ASC_SHAPE(b, 1, t, n)), w, bias, &win, 1);
    return asc_reshape(ctx, y, ASC_SHAPE(-1, y->shape.dims[3]));
}

static asc_tensor *unary(asc_ctx *ctx, draws *d, asc_tensor *x, const double *scalars) {
    asc_shape last = ASC_SHAPE(x->shape.dims[x->shape.rank - 1]);
    switch (draw(d, 25)) {
    case 0:
        return asc_tanh(ctx, x);
    case 1:
        return asc_relu(ctx, x);
    case 2:
        return asc_scale(ctx, x, scalars[draw(d, N_SCALARS)]);
    case 3:
        return asc_shift(ctx, x, scalars[draw(d, N_SCALARS)]);
    case 4:
        return asc_softmax(ctx, x);
    case 5:
        return asc_neg(ctx, x);
    case 6:
        return asc_sigmoid(ctx, x);
    case 7:
        return asc_gelu(ctx, x);
    case 8:
        return asc_log_softmax(ctx, x);
    case 9:
        return asc_rms_norm(ctx, x, asc_full(ctx, last, 1.25), 1e-5);
    case 10:
        return asc_layer_norm(ctx, x, asc_full(ctx, last, 1.25), asc_full(ctx, last, scalars[1]), 1e-5);
    case 11:
        return asc_exp(ctx, asc_clip(ctx, x, -4.0, 2.0));
    case 12:
        return asc_scale(ctx, asc_scale(ctx, x, 2.0), 1.0); /* what simplification looks for */
    case 13:
        return asc_neg(ctx, asc_neg(ctx, asc_shift(ctx, x, 0.0)));
    case 14:
    case 15:
    case 16:
        return asc_tensor_elems(x) <= MOST_ELEMS / 4 ? layer(ctx, d, x) : x;
    default:
        return moved(ctx, d, x);
    }
}

static asc_tensor *binary(asc_ctx *ctx, draws *d, asc_tensor *a, asc_tensor *b) {
    asc_shape s;
    int64_t inner = a->shape.dims[a->shape.rank - 1], rows = asc_tensor_elems(a) / inner;
    bool small =
        b->shape.rank == 2 && rows * b->shape.dims[0] <= MOST_ELEMS && rows * b->shape.dims[1] <= MOST_ELEMS;
    if (small && inner == b->shape.dims[0] && draw(d, 2) == 0) return asc_matmul(ctx, a, b, false, false);
    if (small && a->shape.rank == 2 && inner == b->shape.dims[1] && draw(d, 2) == 0)
        return asc_matmul(ctx, a, b, false, true);
    if (!asc_shape_broadcast(&a->shape, &b->shape, &s) || asc_shape_elems(&s) > MOST_ELEMS)
        return asc_add(ctx, a, a); /* the same value twice */
    switch (draw(d, 6)) {
    case 0:
        return asc_add(ctx, a, b);
    case 4:
        return asc_where(ctx, asc_less(ctx, a, b), a, b);
    case 5:
        return asc_mul(ctx, asc_sigmoid(ctx, a), asc_shift(ctx, b, 1.0));
    case 1:
        return asc_mul(ctx, a, b);
    case 2:
        return asc_sub(ctx, b, a);
    default:
        return asc_maximum(ctx, a, b);
    }
}

/* Outputs: three values of the program and a gradient of all of them. */
static void program(asc_ctx *ctx, void *self, asc_tensor *const *in, const double *scalars,
                    asc_tensor **out) {
    const plan *p = self;
    draws d = {.seed = p->seed, .next = 1000};
    asc_tensor *v[N_IN + N_OPS], *sum = NULL;
    size_t n = N_IN;
    int axes[] = {0, 1, 2, 3};
    memcpy(v, in, N_IN * sizeof *v);
    for (int i = 0; i < N_OPS; i++) {
        asc_tensor *a = v[n - 1 - draw(&d, n < 8 ? (uint32_t)n : 8)], *b = v[draw(&d, (uint32_t)n)];
        if (p->fail && i == N_OPS / 2) a = asc_reshape(ctx, a, ASC_SHAPE(12345, 7));
        v[n++] = a->poison != ASC_OK || b->poison != ASC_OK ? a
                 : draw(&d, 5) < 3                          ? unary(ctx, &d, a, scalars)
                                                            : binary(ctx, &d, a, b);
    }
    for (int k = 0; k < N_OUT - 1; k++) {
        out[k] = k == 0 ? v[n - 1] : v[N_IN + draw(&d, N_OPS)];
        asc_tensor *s = asc_sum(ctx, out[k], out[k]->shape.rank, axes, false);
        sum = sum == NULL ? s : asc_add(ctx, sum, s);
    }
    asc_grad(ctx, sum, NULL, &in[0], 1, &out[N_OUT - 1]);
}

/* The bytes of all outputs for data set `round`, and how many. */
static size_t run(asc_ctx *ctx, plan *p, asc_compiled *c, int round, double *to) {
    draws d = {.seed = p->seed};
    asc_tensor *in[N_IN], *out[N_OUT];
    double scalars[N_SCALARS];
    float x[5000];
    size_t n = 0;
    asc_scope_begin(ctx);
    for (int k = 0; k < N_IN; k++) {
        asc_shape s = shape_of(&d);
        for (int64_t i = 0; i < asc_shape_elems(&s); i++)
            x[i] = (float)(2.0 * asc_uniform(p->seed, 100 + (uint64_t)(3 * round + k), (uint64_t)i) - 1.0);
        in[k] = asc_from_f32(ctx, s, x);
    }
    for (int k = 0; k < N_SCALARS; k++) scalars[k] = 0.5 + 0.3 * k - 0.7 * round;
    if (c != NULL) {
        assert_ok(ctx, asc_compiled_call(c, in, scalars, out));
    } else {
        program(ctx, p, in, scalars, out);
        assert_ok(ctx, asc_run(ctx, out, N_OUT));
    }
    for (int k = 0; k < N_OUT; k++) {
        size_t m = (size_t)asc_tensor_elems(out[k]);
        assert_ok(ctx, asc_read_f64(ctx, out[k], to + n, m));
        n += m;
    }
    assert_ok(ctx, asc_scope_end(ctx));
    return n;
}

typedef struct setting {
    const char *name, *mode, *passes;
    int threads;
    bool compile;
    size_t entries; /* of the cache; 0 = as it comes */
    bool file;      /* behind the first round it goes through a file */
} setting;

static const setting settings[] = {
    {"deferred", "deferred", "", 1, false, 0, false},      {"eager", "eager", "", 1, false, 0, false},
    {"compiled", "compiled", "", 1, true, 0, false},       {"one entry", "deferred", "", 1, false, 1, false},
    {"no passes", "deferred", "none", 1, false, 0, false}, {"two threads", "compiled", "", 2, true, 0, false},
    {"from a file", "deferred", "", 1, true, 0, true}};
enum { N_SETTINGS = sizeof settings / sizeof *settings, ROUNDS = 3 };

static asc_ctx *open_setting(const char *device, const char *precision, const setting *s) {
    asc_ctx_options o = {.struct_size = sizeof o,
                         .device = device,
                         .precision = precision,
                         .mode = s->mode,
                         .n_threads = s->threads};
    asc_ctx *ctx;
    assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
    assert_ok(ctx, asc_exec_passes(ctx, s->passes));
    if (s->entries > 0) asc_exec_cache_bound(ctx, s->entries, (size_t)1 << 30);
    return ctx;
}

static asc_compiled *compiled_of(asc_ctx *ctx, plan *p) {
    asc_compile_def d = {.struct_size = sizeof d,
                         .fn = program,
                         .self = p,
                         .n_in = N_IN,
                         .n_scalars = N_SCALARS,
                         .n_out = N_OUT};
    asc_compiled *c;
    assert_ok(ctx, asc_compile(ctx, &d, &c));
    return c;
}

/* What a file of c holds, in c's place. */
static void through_a_file(asc_ctx *ctx, asc_compiled **c) {
    char path[TEST_TMP];
    const int fd = mkstemp(test_tmp_name(path, "ascribe-random-XXXXXX"));
    assert_true(fd >= 0);
    close(fd);
    assert_ok(ctx, asc_compiled_save(*c, path));
    asc_compiled_destroy(*c);
    assert_ok(ctx, asc_compiled_load(ctx, path, c));
    unlink(path);
}

static void compare_modes(const char *device, const char *precision, uint64_t seeds) {
    static double want[ROUNDS][N_OUT * MOST_ELEMS], got[N_OUT * MOST_ELEMS];
    asc_ctx *ctx[N_SETTINGS];
    for (size_t k = 0; k < N_SETTINGS; k++) ctx[k] = open_setting(device, precision, &settings[k]);
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        size_t n[ROUNDS];
        for (size_t k = 0; k < N_SETTINGS; k++) {
            plan p = {.seed = seed};
            asc_compiled *c = settings[k].compile ? compiled_of(ctx[k], &p) : NULL;
            for (int round = 0; round < ROUNDS; round++) {
                if (k == 0) {
                    n[round] = run(ctx[k], &p, c, round, want[round]);
                    continue;
                }
                assert_int_equal(run(ctx[k], &p, c, round, got), n[round]);
                if (memcmp(got, want[round], n[round] * sizeof *got) != 0)
                    fail_msg("program %llu on %s, round %d: %s gives other bytes", (unsigned long long)seed,
                             device, round, settings[k].name);
                if (settings[k].file && round == 0) through_a_file(ctx[k], &c);
            }
            asc_compiled_destroy(c);
        }
    }
    asc_exec_stats s = asc_exec_stats_of(ctx[3]);
    assert_true(s.cache_evictions + 1 >= seeds && s.cache_entries == 1);
    for (size_t k = 0; k < N_SETTINGS; k++) test_ctx_end(ctx[k]);
}

static void every_mode_gives_the_same_bytes(void **state) {
    (void)state;
    compare_modes("cpu", "highest", 150);
    compare_modes("reference", "highest", 60);
    compare_modes("cpu", "medium", 40); /* not promised at other levels, and so all the same */
    compare_modes("cpu", "high", 40);
    compare_modes("cpu", "int8", 20);
}

/* 5,000 pairs of scalars: one executable, one capture, not a block more. */
static void scalars_make_nothing(void **state) {
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        asc_ctx *ctx = open_setting("cpu", NULL, &settings[k]);
        plan p = {.seed = 5};
        asc_compiled *c = settings[k].compile ? compiled_of(ctx, &p) : NULL;
        static double out[N_OUT * MOST_ELEMS];
        size_t live = 0, bytes = 0;
        asc_exec_stats first = {0};
        for (int i = 0; i < 5000; i++) {
            (void)run(ctx, &p, c, i, out);
            if (i != 9) continue;
            live = asc_memory(ctx).live_allocs;
            bytes = asc_memory(ctx).live_total;
            first = asc_exec_stats_of(ctx);
        }
        asc_exec_stats s = asc_exec_stats_of(ctx);
        assert_int_equal(asc_memory(ctx).live_allocs, live);
        assert_int_equal(asc_memory(ctx).live_total, bytes);
        assert_int_equal(s.cache_misses, first.cache_misses);
        assert_int_equal(s.captures, first.captures);
        asc_compiled_destroy(c);
        test_ctx_end(ctx);
    }
}

static void errors_in_the_middle(void **state) {
    (void)state;
    static double before[N_OUT * MOST_ELEMS], after[N_OUT * MOST_ELEMS];
    for (size_t k = 0; k < 3; k++) {
        asc_ctx *ctx = open_setting("cpu", NULL, &settings[k]);
        for (uint64_t seed = 200; seed < 220; seed++) {
            plan good = {.seed = seed}, bad = {.seed = seed, .fail = true};
            asc_compiled *g = settings[k].compile ? compiled_of(ctx, &good) : NULL,
                         *b = settings[k].compile ? compiled_of(ctx, &bad) : NULL;
            size_t n = run(ctx, &good, g, 0, before);
            draws d = {.seed = seed};
            asc_tensor *in[N_IN], *out[N_OUT];
            const double scalars[N_SCALARS] = {0.5, 0.8};
            float x[5000] = {0.25f};
            asc_scope_begin(ctx);
            for (int i = 0; i < N_IN; i++) in[i] = asc_from_f32(ctx, shape_of(&d), x);
            asc_status st;
            if (b != NULL) {
                st = asc_compiled_call(b, in, scalars, out);
            } else {
                program(ctx, &bad, in, scalars, out);
                st = asc_run(ctx, out, N_OUT);
            }
            assert_int_equal(st, ASC_INVALID_ARGUMENT);
            assert_non_null(strstr(asc_error_message(ctx), "reshape"));
            assert_ok(ctx, asc_scope_end(ctx));
            assert_int_equal(run(ctx, &good, g, 0, after), n);
            assert_memory_equal(before, after, n * sizeof *before);
            asc_compiled_destroy(g);
            asc_compiled_destroy(b);
        }
        test_ctx_end(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mode_gives_the_same_bytes),
        cmocka_unit_test(scalars_make_nothing),
        cmocka_unit_test(errors_in_the_middle),
    };
    return cmocka_run_group_tests_name("exec_random", tests, NULL, NULL);
}
