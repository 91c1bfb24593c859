/* test_rehearse.c - passes of eager mode that were rehearsed: the bits of deferred mode, whatever the pass
 * does otherwise than its rehearsal; values that have ended come back when somebody wants them; what others
 * hold stays; memory is that of the plan. */
#include "exec.h"
#include "grad.h"
#include "harness.h"
#include "ops.h"
#include "price.h"
#include "rehearse.h"
#include <math.h>

enum { ROWS = 24, WIDTH = 32, LAYERS = 12, N = ROWS * WIDTH, N_TS = 2 };

typedef struct pass {
    double scale;      /* a run-time scalar: may differ between rehearsal and pass */
    bool unused;       /* ops that nobody reads */
    int odd_at;        /* the layer that has another op in the second recording; -1 = none */
    bool clears;       /* the cache is emptied in the middle */
    bool reads;        /* an inner value is read in the middle */
    asc_tensor *inner; /* the value behind layer 2 */
    int n;             /* recordings so far */
} pass;

static asc_tensor *leaf(asc_ctx *ctx, double by) {
    float v[N];
    for (int i = 0; i < N; i++) v[i] = cosf((float)(i * by));
    return asc_from_f32(ctx, ASC_SHAPE(ROWS, WIDTH), v);
}

static void record(asc_ctx *ctx, pass *p, asc_tensor *x, asc_tensor *w, asc_tensor **ts) {
    asc_tensor *h = x;
    p->n++;
    for (int l = 0; l < LAYERS; l++) {
        asc_tensor *y = asc_matmul(ctx, h, w, false, true); /* [ROWS, ROWS] */
        if (l == p->odd_at && p->n > 1) y = asc_tanh(ctx, y);
        y = asc_matmul(ctx, asc_softmax(ctx, y), w, false, false);
        if (p->unused) asc_neg(ctx, asc_exp(ctx, y));
        y = asc_reshape(ctx, asc_reshape(ctx, asc_scale(ctx, y, p->scale), ASC_SHAPE(N)), h->shape);
        h = asc_add(ctx, h, asc_silu(ctx, y));
        if (l == 2) p->inner = h;
        if (l == 5 && p->n > 1 && p->clears) asc_exec_cache_clear(ctx);
        if (l == 5 && p->n > 1 && p->reads) {
            float got;
            assert_ok(ctx, asc_exec_pending(ctx, &(size_t){0}));
            assert_ok(ctx,
                      asc_read_f32(ctx, asc_slice(ctx, asc_reshape(ctx, p->inner, ASC_SHAPE(N)), 0, 3, 1),
                                   &got, 1));
        }
    }
    ts[0] = asc_sum(ctx, asc_mul(ctx, h, h), 2, (int[]){0, 1}, false);
    asc_grad(ctx, ts[0], NULL, &x, 1, &ts[1]);
}

/* rehearsed: as methods do; otherwise as a user would. Returns the peak of the pass. */
static size_t run(const char *mode, int threads, bool rehearsed, pass *p, float *got, float *inner) {
    asc_ctx_options o = {
        .struct_size = sizeof o, .device = "cpu", .mode = mode, .n_threads = threads, .isa = suite_isa()};
    asc_ctx *ctx = NULL;
    asc_tensor *ts[N_TS] = {NULL, NULL};
    assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
    p->n = 0;
    asc_scope_begin(ctx);
    asc_tensor *x = leaf(ctx, 0.7), *w = leaf(ctx, 0.3);
    bool again = rehearsed && asc_rehearse_begin(ctx);
    assert_int_equal(again, rehearsed && strcmp(mode, "eager") == 0);
    if (!again) p->n = 1;
    do {
        record(ctx, p, x, w, ts);
    } while (asc_rehearsed(ctx, ASC_OK, &again, ts, N_TS));
    assert_int_equal(p->n, 2);
    assert_ok(ctx, asc_run(ctx, ts, N_TS));
    const size_t peak = asc_memory(ctx).peak_total;
    assert_ok(ctx, asc_read_f32(ctx, ts[0], got, 1));
    assert_ok(ctx, asc_read_f32(ctx, ts[1], got + 1, N));
    if (inner != NULL) assert_ok(ctx, asc_read_f32(ctx, p->inner, inner, N));
    assert_ok(ctx, asc_scope_end(ctx));
    test_ctx_end(ctx);
    return peak;
}

static void the_bits_are_those_of_deferred_mode(void **state) {
    (void)state;
    static float want[N + 1], got[N + 1], inner[N], inner_got[N];
    for (int k = 0; k < 32; k++) {
        pass p = {.scale = 0.5, .odd_at = (k & 1) != 0 ? 4 : -1, .unused = (k & 2) != 0};
        p.clears = (k & 4) != 0;
        p.reads = (k & 8) != 0;
        const int threads = 1 + k / 16;
        run("deferred", threads, false, &p, want, inner);
        run("eager", threads, true, &p, got, inner_got);
        assert_memory_equal(want, got, sizeof want);
        assert_memory_equal(inner, inner_got, sizeof inner);
    }
}

/* The same rehearsal serves several passes, with other numbers in each. */
static void run_time_scalars_are_those_of_the_pass(void **state) {
    (void)state;
    float got[2][N + 1];
    asc_ctx *ctx = test_ctx("cpu", "eager");
    for (int k = 0; k < 2; k++) {
        pass p = {.scale = 0.5, .odd_at = -1};
        asc_tensor *ts[N_TS];
        asc_scope_begin(ctx);
        asc_tensor *x = leaf(ctx, 0.7), *w = leaf(ctx, 0.3);
        bool again = asc_rehearse_begin(ctx);
        do {
            if (!again) p.scale = k == 0 ? 0.5 : 0.25;
            record(ctx, &p, x, w, ts);
        } while (asc_rehearsed(ctx, ASC_OK, &again, ts, N_TS));
        assert_ok(ctx, asc_read_f32(ctx, ts[0], got[k], 1));
        assert_ok(ctx, asc_read_f32(ctx, ts[1], got[k] + 1, N));
        assert_ok(ctx, asc_scope_end(ctx));
    }
    test_ctx_end(ctx);
    for (int k = 0; k < 2; k++) {
        pass p = {.scale = k == 0 ? 0.5 : 0.25, .odd_at = -1};
        float want[N + 1];
        run("deferred", 1, false, &p, want, NULL);
        assert_memory_equal(want, got[k], sizeof want);
    }
}

/* 12 layers of 6 values of 3 KB each and their cotangents, against what the gradient reads. */
static void values_end_with_their_last_use(void **state) {
    (void)state;
    static float got[N + 1];
    pass p = {.scale = 0.5, .odd_at = -1};
    asc_ctx *ctx = test_ctx("cpu", "eager");
    asc_tensor *ts[N_TS];
    asc_scope_begin(ctx);
    asc_tensor *x = leaf(ctx, 0.7), *w = leaf(ctx, 0.3);
    asc_price price;
    asc_price_begin(ctx);
    record(ctx, &p, x, w, ts);
    assert_ok(ctx, asc_price_of(ctx, ts, N_TS, &price));
    asc_price_end(ctx);
    const size_t before = asc_memory(ctx).live_total, planned = price.arena_bytes + price.output_bytes;
    bool again = asc_rehearse_begin(ctx);
    do {
        record(ctx, &p, x, w, ts);
    } while (asc_rehearsed(ctx, ASC_OK, &again, ts, N_TS));
    assert_ok(ctx, asc_run(ctx, ts, N_TS));
    const asc_mem_stats m = asc_memory(ctx);
    const size_t values = m.live_bytes[ASC_MEM_ACTIVATIONS]; /* with the leaves */
    assert_true(m.peak_bytes[ASC_MEM_ACTIVATIONS] <= planned + 16384);
    assert_true(values <= planned + 16384 && values >= planned);
    assert_true(m.live_total - before < planned + price.scratch_bytes + price.code_bytes + (size_t)300000);
    assert_ok(ctx, asc_read_f32(ctx, ts[1], got, N));
    assert_ok(ctx, asc_scope_end(ctx));
    asc_exec_trim(ctx);
    assert_int_equal(asc_memory(ctx).live_bytes[ASC_MEM_ACTIVATIONS], 0);
    test_ctx_end(ctx);
    /* what a user records in eager mode stays */
    assert_true(run("eager", 1, false, &p, got, NULL) > planned + 100000);
}

/* Somebody else holds the storage of a value that ends: it keeps its bits. */
static void storage_that_others_hold_stays(void **state) {
    (void)state;
    static float want[N], got[N];
    asc_ctx *ctx = test_ctx("cpu", "eager");
    for (int k = 0; k < 2; k++) {
        asc_buffer *held = NULL;
        asc_tensor *y;
        asc_scope_begin(ctx);
        asc_tensor *x = leaf(ctx, 0.7);
        bool again = asc_rehearse_begin(ctx), first = again;
        do {
            asc_tensor *a = asc_scale(ctx, x, 3.0); /* overwritten by the next one, or not */
            if (!first && a->buf != NULL) {
                held = a->buf;
                asc_buffer_retain(held);
                memcpy(want, held->data, sizeof want);
            }
            y = k == 0 ? asc_exp(ctx, a) : asc_matmul(ctx, a, x, false, true);
            y = asc_add(ctx, y, asc_full(ctx, y->shape, 1.0));
            first = false;
        } while (asc_rehearsed(ctx, ASC_OK, &again, &y, 1));
        assert_ok(ctx, asc_run(ctx, &y, 1));
        assert_non_null(held);
        assert_ok(ctx, asc_scope_end(ctx));
        memcpy(got, held->data, sizeof got);
        assert_memory_equal(want, got, sizeof want);
        asc_buffer_release(ctx, held);
    }
    test_ctx_end(ctx);
}

/* An error in the rehearsal is that of the pass. */
static void errors_are_those_of_the_pass(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "eager");
    asc_tensor *y;
    asc_scope_begin(ctx);
    asc_tensor *x = leaf(ctx, 0.7);
    bool again = asc_rehearse_begin(ctx);
    do {
        y = asc_matmul(ctx, asc_exp(ctx, x), x, false, false);
    } while (asc_rehearsed(ctx, ASC_OK, &again, &y, 1));
    assert_int_equal(asc_run(ctx, &y, 1), ASC_INVALID_ARGUMENT);
    assert_non_null(strstr(asc_error_message(ctx), "matmul"));
    assert_ok(ctx, asc_scope_end(ctx));
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_bits_are_those_of_deferred_mode),
                                       cmocka_unit_test(run_time_scalars_are_those_of_the_pass),
                                       cmocka_unit_test(values_end_with_their_last_use),
                                       cmocka_unit_test(storage_that_others_hold_stays),
                                       cmocka_unit_test(errors_are_those_of_the_pass)};
    return cmocka_run_group_tests_name("rehearse", tests, NULL, NULL);
}
