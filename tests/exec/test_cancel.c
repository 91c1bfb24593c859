/* test_cancel.c - a stop (Ctrl-C) at every moment of an attribution, in every mode: while ops are recorded,
 * while passes and plans are made, while a program runs. The call says CANCELLED or had finished; nothing
 * leaks; after asc_cancel_reset the same context gives the numbers of an undisturbed one. */
#include "ascribe/attr.h"
#include "ascribe/attribute.h"
#include "exec.h"
#include "harness.h"
#include "ops.h"
#include <signal.h>
#include <sys/time.h>

#define MODEL "goldens/zoo_gguf/qwen3-q5_0/model.gguf"

enum { WIDTH = 6, HIDDEN = 10, CLASSES = 3, ROOM = 2 * WIDTH };

static float number(int i) { return (float)((i * 7919 + 13) % 101) / 50.0f - 1.0f; }

static void mlp(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    asc_ctx *ctx = asc_frame_ctx(f);
    float w[HIDDEN * WIDTH], v[CLASSES * HIDDEN];
    (void)self;
    for (int i = 0; i < HIDDEN * WIDTH; i++) w[i] = number(i);
    for (int i = 0; i < CLASSES * HIDDEN; i++) v[i] = number(i + 200);
    asc_tensor *h = asc_matmul(ctx, in[0], asc_from_f32(ctx, ASC_SHAPE(HIDDEN, WIDTH), w), false, true);
    h = asc_site(f, "hidden", asc_tanh(ctx, h));
    out[0] = asc_matmul(ctx, h, asc_from_f32(ctx, ASC_SHAPE(CLASSES, HIDDEN), v), false, true);
}

/* Scores of a net, or of a language model, by integrated gradients. */
static asc_status attribute(asc_ctx *ctx, bool model, double *out) {
    static const int64_t target[] = {0, 2};
    static const int32_t ids[] = {54, 70, 21, 59, 28, 34}, target_ids[] = {193, 31};
    static const char *const names[] = {"y"};
    asc_status st;
    memset(out, 0, ROOM * sizeof *out);
    if (model) {
        asc_model *m = NULL;
        asc_result *r = NULL;
        const asc_request q = {.struct_size = sizeof q,
                               .method = "integrated-gradients",
                               .rule = "gauss-legendre",
                               .steps = 3,
                               .prompt_ids = ids,
                               .n_prompt_ids = 6,
                               .target_ids = target_ids,
                               .n_target_ids = 2};
        st = asc_model_open(ctx, test_data(MODEL), NULL, &m);
        if (st == ASC_OK) st = asc_explain(m, &q, &r);
        if (st == ASC_OK) memcpy(out, r->scores, 6 * sizeof *out);
        assert_true((r != NULL) == (st == ASC_OK));
        asc_result_destroy(ctx, r);
        asc_model_close(m);
        return st;
    }
    float x[ROOM];
    for (int i = 0; i < ROOM; i++) x[i] = number(i + 300);
    const asc_port port = {"x", ASC_ELEM_F32, {2, {-1, WIDTH}}, true};
    const asc_net_def d = {.struct_size = sizeof d,
                           .inputs = &port,
                           .n_inputs = 1,
                           .outputs = names,
                           .n_outputs = 1,
                           .forward = mlp};
    const asc_array in = {.elem = ASC_ELEM_F32, .shape = ASC_SHAPE(2, WIDTH), .data = x};
    const asc_attr_request q = {.struct_size = sizeof q,
                                .method = "integrated-gradients",
                                .inputs = &in,
                                .n_inputs = 1,
                                .target = {.n_rows = 2, .rank = 1, .index = target},
                                .steps = 7};
    asc_net *net = NULL;
    asc_attribution *r = NULL;
    st = asc_net_create(ctx, &d, &net);
    if (st == ASC_OK) st = asc_attribute(net, &q, &r);
    if (st == ASC_OK) memcpy(out, r->scores[0].data, ROOM * sizeof *out);
    assert_true((r != NULL) == (st == ASC_OK));
    asc_attribution_destroy(ctx, r);
    asc_net_close(net);
    return st;
}

/* An allocator that asks for a stop at its n-th call: every stage of the work allocates. */
typedef struct stopper {
    test_alloc alloc;
    long stop_at;
    asc_ctx *ctx;
} stopper;

static void *stopping_alloc(void *self, void *ptr, size_t old_size, size_t new_size, size_t align) {
    stopper *s = self;
    if (s->stop_at > 0 && s->ctx != NULL && s->alloc.count >= s->stop_at) asc_cancel(s->ctx);
    return test_alloc_fn(&s->alloc, ptr, old_size, new_size, align);
}

/* One attribution stopped at allocation `at`; returns how many allocations it made. */
static long attempt(const char *mode, bool model, long at, const double *want, bool *stopped) {
    stopper s = {.stop_at = 0};
    asc_ctx_options o = {.struct_size = sizeof o,
                         .alloc = stopping_alloc,
                         .alloc_self = &s,
                         .n_threads = 1,
                         .mode = mode,
                         .isa = suite_isa()};
    double got[ROOM];
    assert_int_equal(asc_ctx_create(&o, &s.ctx), ASC_OK);
    const long before = s.alloc.count;
    s.stop_at = at > 0 ? before + at : 0;
    asc_status st = attribute(s.ctx, model, got);
    const long n = s.alloc.count - before;
    s.stop_at = 0;
    *stopped = st == ASC_CANCELLED;
    if (st != ASC_CANCELLED) {
        assert_ok(s.ctx, st); /* the stop came behind the last place that looks for it */
        if (want != NULL) assert_memory_equal(got, want, sizeof got);
    } else {
        assert_int_equal(asc_error_code(s.ctx), ASC_CANCELLED);
        assert_int_equal(attribute(s.ctx, model, got), ASC_CANCELLED); /* not taken back: stops at once */
    }
    asc_cancel_reset(s.ctx);
    assert_ok(s.ctx, attribute(s.ctx, model, got));
    if (want != NULL) assert_memory_equal(got, want, sizeof got);
    test_ctx_end(s.ctx);
    assert_int_equal(s.alloc.live, 0);
    return n;
}

static void a_stop_at_every_stage(void **state) {
    (void)state;
    static const char *const modes[] = {"deferred", "eager", "compiled"};
    for (int model = 0; model < 2; model++) {
        double want[ROOM];
        asc_ctx *ctx = test_ctx("cpu", "deferred");
        assert_ok(ctx, attribute(ctx, model != 0, want));
        test_ctx_end(ctx);
        for (int m = 0; m < 3; m++) {
            bool stopped;
            int n_stopped = 0, tried = 0;
            const long n = attempt(modes[m], model != 0, 0, want, &stopped);
            assert_false(stopped);
            for (long at = 1; at <= n; at += n / 40 + 1, tried++) {
                (void)attempt(modes[m], model != 0, at, want, &stopped);
                n_stopped += stopped;
            }
            assert_true(n_stopped * 2 > tried); /* most stops come before the last look */
        }
    }
}

static asc_ctx *interrupted; /* what the handler stops */
static void on_alarm(int signal_number) {
    (void)signal_number;
    asc_cancel(interrupted);
}

/* And by a real signal, later and later, until the work ends before it comes. */
static void a_signal_at_any_time(void **state) {
    (void)state;
    static const char *const modes[] = {"deferred", "eager", "compiled"};
    static char bytes[1 << 16]; /* as the program's handlers have it (src/cli/session.c) */
    const stack_t stack = {.ss_sp = bytes, .ss_size = sizeof bytes};
    struct sigaction act = {.sa_handler = on_alarm, .sa_flags = SA_ONSTACK}, old;
    assert_int_equal(sigaltstack(&stack, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &act, &old), 0);
    for (int m = 0; m < 3; m++) {
        asc_ctx *ctx = test_ctx("cpu", modes[m]);
        double want[ROOM], got[ROOM];
        assert_ok(ctx, attribute(ctx, true, want));
        interrupted = ctx;
        int stops = 0;
        for (long delay = 50; delay < 2000000; delay += delay / 3) {
            const struct itimerval once = {.it_value = {.tv_sec = delay / 1000000,
                                                        .tv_usec = delay % 1000000}},
                                   none = {0};
            assert_int_equal(setitimer(ITIMER_REAL, &once, NULL), 0);
            asc_status st = attribute(ctx, true, got);
            assert_int_equal(setitimer(ITIMER_REAL, &none, NULL), 0);
            asc_cancel_reset(ctx);
            if (st == ASC_OK) {
                assert_memory_equal(got, want, sizeof got);
                break;
            }
            assert_int_equal(st, ASC_CANCELLED);
            stops++;
            assert_ok(ctx, attribute(ctx, true, got));
            assert_memory_equal(got, want, sizeof got);
        }
        assert_true(stops > 0);
        test_ctx_end(ctx);
    }
    assert_int_equal(sigaction(SIGALRM, &old, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stop_at_every_stage),
        cmocka_unit_test(a_signal_at_any_time),
    };
    return cmocka_run_group_tests_name("cancel", tests, NULL, NULL);
}
