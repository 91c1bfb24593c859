/* test_queue_random.c - random programs with scopes, kept values, detached values, marks and reads at random
 * places: deferred with every cap of the queue from 1 to 64 gives the bytes of eager mode; the f64 reference
 * agrees; failures poison what descends from them, by name, and nothing else; memory and the number of
 * programs come to rest. Views (slices, reshapes, transposes, concatenations) are half of the ops, so plans
 * reuse storage in every way they know. */
#include "exec.h"
#include "harness.h"
#include "hash.h"
#include "ops.h"
#include <math.h>

enum { N_STEPS = 70, MOST_ELEMS = 16, MOST_DEPTH = 4, N_FAIL = 2, NEVER = -1 };

/* What a program does that is not drawn from its seed. */
typedef struct setting {
    uint64_t seed;     /* of the program */
    uint64_t reads;    /* of the reads on the way; 0 = none */
    int fail[N_FAIL];  /* steps whose op gets a shape that does not fit */
    bool may_fail;     /* allocations fail: errors are no surprise */
    const float *want; /* [N_STEPS + 3][MOST_ELEMS] by handle; NULL = written to out */
    float *out;
    double tolerance; /* 0 = equal bytes */
} setting;

typedef struct handle {
    asc_tensor *t;
    int depth;     /* scope that owns it; -1 = gone */
    uint32_t from; /* bit k: descends from failure k */
} handle;

typedef struct machine {
    asc_ctx *ctx;
    const setting *s;
    uint64_t next;
    handle h[N_STEPS + 3];
    int n, depth;
} machine;

static uint32_t draw(machine *m, uint32_t below) {
    return (uint32_t)(asc_uniform(m->s->seed, 11, m->next++) * (double)below);
}

/* A living handle; older ones too, so that values are used long after they were made. */
static int pick(machine *m) {
    for (;;) {
        int k = draw(m, 2) == 0 ? (int)draw(m, (uint32_t)m->n) : m->n - 1 - (int)draw(m, m->n < 6 ? 3u : 6u);
        if (m->h[k].depth >= 0) return k;
    }
}

static bool is(const asc_tensor *t, int64_t rows, int64_t cols) {
    return t->shape.dims[0] == rows && t->shape.dims[1] == cols;
}

/* Shapes stay [4,4], [1,4] and [4,1], values within [-1, 1], and no op makes an error larger. */
static asc_tensor *op(machine *m, int ia, int ib) {
    asc_ctx *ctx = m->ctx;
    asc_tensor *a = m->h[ia].t, *b = m->h[ib].t;
    int row[] = {0}, flip[] = {1, 0};
    uint32_t kind = draw(m, 14), at = draw(m, 4);
    if (a->poison != ASC_OK) a = asc_sin(ctx, a); /* shapes are not known */
    if (a->poison != ASC_OK || b->poison != ASC_OK) return a->poison != ASC_OK ? a : asc_sin(ctx, b);
    switch (kind) {
    case 0:
        return asc_tanh(ctx, a);
    case 1:
        return asc_softmax(ctx, a);
    case 2:
        return asc_scale(ctx, asc_add(ctx, a, b), 0.5);
    case 3:
        return asc_maximum(ctx, a, b);
    case 4:
        return asc_sin(ctx, asc_mul(ctx, a, asc_scale(ctx, asc_sigmoid(ctx, b), 0.5)));
    case 5:
        return is(a, 4, 4) && is(b, 4, 4) ? asc_scale(ctx, asc_matmul(ctx, a, b, false, at % 2 != 0), 0.125)
                                          : asc_neg(ctx, a);
    case 6:
        return is(a, 4, 4) ? asc_scale(ctx, asc_sum(ctx, a, 1, row, true), 0.25) : asc_abs(ctx, a);
    case 7:
    case 8:
        return is(a, 4, 4) ? asc_slice(ctx, a, 0, at, 1) : asc_reshape(ctx, a, ASC_SHAPE(4, 1));
    case 9:
        return is(a, 4, 4) ? asc_slice(ctx, a, 1, at, 1) : asc_reshape(ctx, a, ASC_SHAPE(1, 4));
    case 10:
        return asc_transpose(ctx, a, 2, flip);
    case 11:
        return asc_reshape(ctx, asc_reshape(ctx, a, ASC_SHAPE(-1)), a->shape);
    case 12:
        return is(a, 1, 4) ? asc_concat(ctx, (asc_tensor *[]){a, a, asc_neg(ctx, a), a}, 4, 0)
                           : asc_clip(ctx, a, -0.5, 0.75);
    default:
        return is(a, 4, 1) ? asc_concat(ctx, (asc_tensor *[]){a, a, a, asc_tanh(ctx, a)}, 4, 1)
                           : asc_sub(ctx, asc_relu(ctx, a), asc_relu(ctx, asc_neg(ctx, a)));
    }
}

/* The message of a failure that the handle descends from. */
static void names_its_failure(machine *m, const handle *h) {
    char text[32];
    for (int k = 0; k < N_FAIL; k++) {
        snprintf(text, sizeof text, "[%d]", 7000 + m->s->fail[k]);
        if ((h->from >> k & 1) != 0 && strstr(asc_error_message(m->ctx), text) != NULL) return;
    }
    fail_msg("program %llu: '%s' names another failure", (unsigned long long)m->s->seed,
             asc_error_message(m->ctx));
}

static void look(machine *m, int k) {
    const setting *s = m->s;
    const handle *h = &m->h[k];
    const size_t n = (size_t)asc_tensor_elems(h->t);
    float v[MOST_ELEMS] = {0};
    assert_int_equal(asc_tensor_poisoned(h->t), h->from != 0);
    if (h->from != 0 && s->may_fail) {
        assert_int_not_equal(asc_read_f32(m->ctx, h->t, v, n), ASC_OK);
        return;
    }
    if (h->from != 0) {
        for (int again = 0; again < 2; again++) {
            assert_int_equal(asc_read_f32(m->ctx, h->t, v, n), ASC_FAILED_PRECONDITION);
            names_its_failure(m, h);
        }
        return;
    }
    asc_status st = asc_read_f32(m->ctx, h->t, v, n);
    if (st != ASC_OK && s->may_fail) st = asc_read_f32(m->ctx, h->t, v, n); /* a value is not lost */
    assert_ok(m->ctx, st);
    if (s->out != NULL) memcpy(s->out + k * MOST_ELEMS, v, sizeof v);
    if (s->want == NULL) return;
    const float *want = s->want + k * MOST_ELEMS;
    for (size_t i = 0; i < n; i++) {
        bool same = s->tolerance > 0 ? fabs((double)v[i] - (double)want[i]) <= s->tolerance
                                     : memcmp(&v[i], &want[i], sizeof v[i]) == 0;
        if (!same)
            fail_msg("program %llu, value %d [%zu]: %.9g, not %.9g", (unsigned long long)s->seed, k, i,
                     (double)v[i], (double)want[i]);
    }
}

/* Text and price of a pending value change nothing. */
static void look_only(machine *m, int k) {
    size_t before, after;
    asc_plan plan;
    asc_strbuf text;
    if (m->h[k].from != 0 || m->s->may_fail) return;
    asc_strbuf_init(&text, m->ctx);
    assert_ok(m->ctx, asc_exec_pending(m->ctx, &before));
    assert_ok(m->ctx, asc_exec_text(m->ctx, &m->h[k].t, 1, &text));
    assert_ok(m->ctx, asc_exec_price(m->ctx, &m->h[k].t, 1, &plan));
    assert_ok(m->ctx, asc_exec_pending(m->ctx, &after));
    assert_int_equal(before, after);
    asc_strbuf_deinit(&text);
}

static void add(machine *m, asc_tensor *t, uint32_t from) {
    if (m->s->may_fail && t->poison != ASC_OK && from == 0) from = 1u << 31;
    m->h[m->n++] = (handle){.t = t, .depth = m->depth, .from = from};
}

static void end_scope(machine *m) {
    int kept = (int)draw(m, (uint32_t)m->n), any = NEVER;
    for (int k = 0; k < m->n; k++) {
        handle *h = &m->h[(kept + k) % m->n];
        if (h->depth != m->depth) continue;
        if (any == NEVER) {
            any = k;
            asc_keep(m->ctx, h->t);
            h->depth--;
        } else {
            h->depth = -1;
        }
    }
    asc_status st = asc_scope_end(m->ctx);
    if (!m->s->may_fail) assert_ok(m->ctx, st);
    m->depth--;
}

static void step(machine *m, int i) {
    asc_ctx *ctx = m->ctx;
    const setting *s = m->s;
    uint32_t what = draw(m, 20);
    if (what == 0 && m->depth < MOST_DEPTH) {
        asc_scope_begin(ctx);
        m->depth++;
    } else if (what == 1 && m->depth > 0) {
        end_scope(m);
    } else if (what == 2) {
        asc_status st = asc_mark(ctx, "test");
        if (!s->may_fail) assert_ok(ctx, st);
    } else if (what == 3) {
        handle *h = &m->h[pick(m)]; /* detached: its past is forgotten, its value is not */
        if (h->from == 0 && asc_run(ctx, &h->t, 1) == ASC_OK) asc_tensor_detach(h->t);
    }
    int a = pick(m), b = pick(m);
    uint32_t from = m->h[a].from | m->h[b].from;
    for (int k = 0; k < N_FAIL; k++) {
        if (s->fail[k] != i) continue;
        asc_tensor *bad = asc_reshape(ctx, m->h[a].t, ASC_SHAPE(7000 + i));
        assert_true(asc_tensor_poisoned(bad));
        if (m->h[a].from == 0) assert_int_equal(asc_run(ctx, NULL, 0), ASC_INVALID_ARGUMENT); /* told once */
        add(m, bad, m->h[a].from != 0 ? m->h[a].from : 1u << k);
        return;
    }
    asc_tensor *t = op(m, a, b);
    add(m, t, s->may_fail ? 0 : t->poison != ASC_OK ? from : 0);
    if (s->out != NULL) look(m, m->n - 1);
}

static void program(asc_ctx *ctx, const setting *s) {
    machine m = {.ctx = ctx, .s = s, .next = 1};
    float x[MOST_ELEMS];
    asc_scope_begin(ctx);
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < MOST_ELEMS; i++)
            x[i] = (float)(2.0 * asc_uniform(s->seed, 12, (uint64_t)(k * MOST_ELEMS + i)) - 1.0);
        add(&m,
            asc_from_f32(ctx,
                         k == 0   ? ASC_SHAPE(4, 4)
                         : k == 1 ? ASC_SHAPE(1, 4)
                                  : ASC_SHAPE(4, 1),
                         x),
            0);
        if (s->out != NULL) look(&m, k);
    }
    for (int i = 0; i < N_STEPS; i++) {
        step(&m, i);
        uint32_t r = s->reads == 0 ? 99 : (uint32_t)(asc_uniform(s->reads, 13, (uint64_t)i) * 8.0);
        int k = (int)(asc_uniform(s->reads, 14, (uint64_t)i) * (double)m.n);
        if (m.h[k].depth < 0) continue;
        if (r == 0) look(&m, k);
        if (r == 1) look_only(&m, k);
    }
    for (int k = m.n - 1; k >= 0; k--) {
        if (m.h[k].depth >= 0) look(&m, k);
    }
    while (m.depth > 0) end_scope(&m);
    asc_status st = asc_scope_end(ctx);
    if (!s->may_fail) assert_ok(ctx, st);
}

static void cap(asc_ctx *ctx, size_t nodes, bool loops) {
    asc_queue_limits l = asc_exec_limits(ctx);
    l.nodes = nodes;
    l.find_loops = loops;
    asc_exec_set_limits(ctx, &l);
}

typedef float values[(N_STEPS + 3) * MOST_ELEMS];

static const setting plain = {.fail = {NEVER, NEVER}};

/* Eager mode reads each value as it is made, so what a program drops later is known too. */
static void oracle(asc_ctx *ctx, uint64_t seed, float *out) {
    setting s = plain;
    s.seed = seed;
    s.out = out;
    memset(out, 0, sizeof(values));
    program(ctx, &s);
}

static void every_cap_gives_the_bytes_of_eager(void **state) {
    (void)state;
    static values want;
    asc_ctx *eager = test_ctx("cpu", "eager"), *ctx = test_ctx("cpu", "deferred"),
            *compiled = test_ctx("cpu", "compiled"), *ref = test_ctx("reference", "eager");
    for (uint64_t seed = 1; seed <= 8; seed++) {
        oracle(eager, seed, want);
        setting s = plain;
        s.seed = seed;
        s.want = want;
        for (size_t nodes = 1; nodes <= 64; nodes++) {
            s.reads = nodes % 3 == 0 ? 0 : 1000 * seed + nodes;
            cap(ctx, nodes, nodes % 5 == 0);
            program(ctx, &s);
        }
        program(compiled, &s);
        /* every op keeps errors as they are and adds at most 4 ulp of values below 1; a value has at most
         * N_STEPS * 3 ops behind it, softmax and matmul of 4 elements included */
        s.tolerance = N_STEPS * 3 * 4 * 1.2e-7;
        program(ref, &s);
    }
    assert_true(asc_exec_stats_of(ctx).cuts[ASC_CUT_NODES] > 1000);
    assert_true(asc_exec_stats_of(ctx).cuts[ASC_CUT_MARK] > 100);
    test_ctx_end(eager);
    test_ctx_end(ctx);
    test_ctx_end(compiled);
    test_ctx_end(ref);
}

static void failures_poison_their_descendants(void **state) {
    (void)state;
    static values want;
    asc_ctx *eager = test_ctx("cpu", "eager");
    for (int mode = 0; mode < 2; mode++) {
        asc_ctx *ctx = test_ctx("cpu", mode == 0 ? "deferred" : "eager");
        for (uint64_t seed = 100; seed < 130; seed++) {
            setting s = plain;
            s.seed = seed;
            s.fail[0] = (int)(seed % 11);
            s.fail[1] = 20 + (int)(seed % 17);
            s.reads = seed;
            s.out = want; /* with the failures, values behind them differ from those of a whole program */
            memset(want, 0, sizeof want);
            program(eager, &s);
            s.out = NULL;
            s.want = want;
            if (mode == 0) cap(ctx, 1 + seed % 40, false);
            s.reads = seed + 7;
            setting last = s;
            last.reads = 0;
            program(ctx, &last);
        }
        test_ctx_end(ctx);
    }
    test_ctx_end(eager);
}

/* The n-th allocation fails, for every n: what is not poisoned has its value, now or at the second try. */
static void allocations_may_fail(void **state) {
    (void)state;
    static values want;
    asc_ctx *eager = test_ctx("cpu", "eager");
    for (uint64_t seed = 200; seed < 203; seed++) {
        oracle(eager, seed, want);
        bool finished = false;
        for (long n = 1; !finished; n += n < 40 ? 1 : 3) {
            test_alloc a = {0};
            asc_ctx_options o = {.struct_size = sizeof o,
                                 .alloc = test_alloc_fn,
                                 .alloc_self = &a,
                                 .n_threads = 1,
                                 .isa = suite_isa()};
            asc_ctx *ctx;
            assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
            setting s = plain;
            s.seed = seed;
            s.reads = seed;
            s.may_fail = true;
            s.want = want;
            cap(ctx, 20, false);
            long before = a.count;
            a.fail_at = before + n;
            program(ctx, &s);
            finished = a.count < a.fail_at;
            a.fail_at = 0;
            s.may_fail = false;
            program(ctx, &s); /* the context is as good as new */
            test_ctx_end(ctx);
            assert_int_equal(a.live, 0);
        }
    }
    test_ctx_end(eager);
}

/* The same program again and again: from the second time on nothing is made that stays. */
static void memory_and_programs_come_to_rest(void **state) {
    (void)state;
    static values want;
    asc_ctx *eager = test_ctx("cpu", "eager");
    for (uint64_t seed = 300; seed < 312; seed++) {
        oracle(eager, seed, want);
        asc_ctx *ctx = test_ctx("cpu", "deferred");
        setting s = plain;
        s.seed = seed;
        s.want = want;
        s.reads = seed;
        cap(ctx, 1 + seed % 30, false);
        size_t live = 0, bytes = 0;
        uint64_t misses = 0;
        for (int i = 0; i < 5; i++) {
            program(ctx, &s);
            assert_ok(ctx, asc_mark(ctx, "test"));
            asc_mem_stats mem = asc_memory(ctx);
            if (i >= 2) {
                assert_int_equal(mem.live_allocs, live);
                assert_int_equal(mem.live_total, bytes);
                assert_int_equal(asc_exec_stats_of(ctx).cache_misses, misses);
            }
            live = mem.live_allocs;
            bytes = mem.live_total;
            misses = asc_exec_stats_of(ctx).cache_misses;
        }
        test_ctx_end(ctx);
    }
    test_ctx_end(eager);
}

/* Reading one of two pending values leaves the other's ops pending, all of them. */
static void a_read_leaves_the_rest_pending(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    float v[4] = {0.1f, 0.2f, 0.3f, 0.4f}, out[4];
    size_t n;
    asc_scope_begin(ctx);
    asc_tensor *x = asc_from_f32(ctx, ASC_SHAPE(4), v), *y = x, *z = x;
    for (int i = 0; i < 5; i++) y = asc_sin(ctx, y);
    for (int i = 0; i < 7; i++) z = asc_tanh(ctx, z);
    assert_ok(ctx, asc_exec_pending(ctx, &n));
    assert_int_equal(n, 12);
    assert_ok(ctx, asc_read_f32(ctx, y, out, 4));
    assert_ok(ctx, asc_exec_pending(ctx, &n));
    assert_int_equal(n, 7);
    assert_int_equal(z->n_in, 1);
    assert_null(z->buf);
    assert_ok(ctx, asc_read_f32(ctx, z, out, 4));
    assert_ok(ctx, asc_exec_pending(ctx, &n));
    assert_int_equal(n, 0);
    assert_ok(ctx, asc_scope_end(ctx));
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cap_gives_the_bytes_of_eager),
        cmocka_unit_test(failures_poison_their_descendants),
        cmocka_unit_test(allocations_may_fail),
        cmocka_unit_test(memory_and_programs_come_to_rest),
        cmocka_unit_test(a_read_leaves_the_rest_pending),
    };
    return cmocka_run_group_tests_name("queue_random", tests, NULL, NULL);
}
