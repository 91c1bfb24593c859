/* test_threads.c - the thread rules of docs/threads.md: eight contexts on eight threads at once, in every
 * mode, give the bits that they give one after the other; a stop reaches the context it is meant for and no
 * other. Run under ThreadSanitizer by `scripts/check-full.sh tsan`. */
#include "ascribe/attr.h"
#include "ascribe/attribute.h"
#include "ascribe/model.h"
#include "exec.h"
#include "harness.h"
#include "ops.h"
#include <pthread.h>

#define MODEL "goldens/zoo_gguf/qwen3-q5_0/model.gguf"

enum { N_THREADS = 8, WIDTH = 6, HIDDEN = 10, CLASSES = 3, ROUNDS = 2, ROOM = 256 };

typedef struct worker {
    const char *mode, *device, *method, *path;
    int n_threads;
    asc_status st;
    char message[256];
    double out[ROOM]; /* all numbers of all rounds */
    size_t n;
} worker;

static float number(int i) { return (float)((i * 7919 + 13) % 101) / 50.0f - 1.0f; }

static void mlp(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    asc_ctx *ctx = asc_frame_ctx(f);
    float w[HIDDEN * WIDTH], b[HIDDEN], v[CLASSES * HIDDEN];
    (void)self;
    for (int i = 0; i < HIDDEN * WIDTH; i++) w[i] = number(i);
    for (int i = 0; i < HIDDEN; i++) b[i] = number(i + 100);
    for (int i = 0; i < CLASSES * HIDDEN; i++) v[i] = number(i + 200);
    asc_tensor *h = asc_matmul(ctx, in[0], asc_from_f32(ctx, ASC_SHAPE(HIDDEN, WIDTH), w), false, true);
    h = asc_site(f, "hidden", asc_tanh(ctx, asc_add(ctx, h, asc_from_f32(ctx, ASC_SHAPE(HIDDEN), b))));
    out[0] = asc_matmul(ctx, h, asc_from_f32(ctx, ASC_SHAPE(CLASSES, HIDDEN), v), false, true);
}

static asc_status on_net(asc_ctx *ctx, worker *w) {
    static const int64_t target[] = {0, 2};
    static const char *const names[] = {"y"};
    float x[2 * WIDTH];
    for (int i = 0; i < 2 * WIDTH; i++) x[i] = number(i + 300);
    const asc_port port = {"x", ASC_ELEM_F32, {2, {-1, WIDTH}}, true};
    const asc_net_def d = {.struct_size = sizeof d,
                           .inputs = &port,
                           .n_inputs = 1,
                           .outputs = names,
                           .n_outputs = 1,
                           .forward = mlp};
    const asc_array in = {.elem = ASC_ELEM_F32, .shape = ASC_SHAPE(2, WIDTH), .data = x};
    const asc_attr_request q = {.struct_size = sizeof q,
                                .method = w->method,
                                .inputs = &in,
                                .n_inputs = 1,
                                .target = {.n_rows = 2, .rank = 1, .index = target},
                                .steps = strcmp(w->method, "saliency") == 0 ? 0 : 7};
    asc_net *net = NULL;
    asc_attribution *r = NULL;
    asc_status st = asc_net_create(ctx, &d, &net);
    if (st == ASC_OK) st = asc_attribute(net, &q, &r);
    for (size_t i = 0; st == ASC_OK && i < 2 * WIDTH; i++) w->out[w->n++] = r->scores[0].data[i];
    asc_attribution_destroy(ctx, r);
    asc_net_close(net);
    return st;
}

static asc_status on_model(asc_ctx *ctx, worker *w) {
    static const int32_t ids[] = {54, 70, 21, 59, 28, 34}, target[] = {193, 31};
    asc_model *m = NULL;
    asc_result *r = NULL;
    const bool path = strcmp(w->method, "saliency") != 0;
    const asc_request q = {.struct_size = sizeof q,
                           .method = w->method,
                           .rule = path ? "gauss-legendre" : NULL,
                           .steps = path ? 3 : 0,
                           .prompt_ids = ids,
                           .n_prompt_ids = 6,
                           .target_ids = target,
                           .n_target_ids = 2,
                           .features = ASC_FEATURES_TOKEN};
    asc_status st = asc_model_open(ctx, w->path, NULL, &m);
    if (st == ASC_OK) st = asc_explain(m, &q, &r);
    for (size_t i = 0; st == ASC_OK && i < r->n_features; i++) w->out[w->n++] = r->features[i].score;
    asc_result_destroy(ctx, r);
    asc_model_close(m);
    return st;
}

/* No cmocka in here: its assertions jump, and only in their own thread. */
static void *work(void *self) {
    worker *w = self;
    const asc_ctx_options o = {
        .struct_size = sizeof o, .mode = w->mode, .device = w->device, .n_threads = w->n_threads, .seed = 3};
    asc_ctx *ctx = NULL;
    w->n = 0;
    w->st = asc_ctx_create(&o, &ctx);
    for (int round = 0; w->st == ASC_OK && round < ROUNDS; round++) {
        w->st = on_net(ctx, w);
        if (w->st == ASC_OK) w->st = on_model(ctx, w);
    }
    if (ctx != NULL) snprintf(w->message, sizeof w->message, "%s", asc_error_message(ctx));
    asc_ctx_destroy(ctx);
    return NULL;
}

static void fill(worker *w) {
    static const char *const modes[] = {"deferred", "eager", "compiled"};
    for (int i = 0; i < N_THREADS; i++) {
        w[i] = (worker){.mode = modes[i % 3],
                        .device = i == 7 ? "reference" : "cpu",
                        .method = i % 2 == 0 ? "integrated-gradients" : "saliency",
                        .path = test_data(MODEL),
                        .n_threads = 1 + i % 2};
    }
}

static void contexts_are_independent(void **state) {
    (void)state;
    static worker alone[N_THREADS], together[N_THREADS];
    pthread_t threads[N_THREADS];
    fill(alone);
    fill(together);
    for (int i = 0; i < N_THREADS; i++) work(&alone[i]);
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &together[i]), 0);
    for (int i = 0; i < N_THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < N_THREADS; i++) {
        if (alone[i].st != ASC_OK) fail_msg("%d alone: %s", i, alone[i].message);
        if (together[i].st != ASC_OK) fail_msg("%d among others: %s", i, together[i].message);
        assert_true(alone[i].n >= (size_t)ROUNDS * (2 * WIDTH + 6));
        assert_int_equal(alone[i].n, together[i].n);
        assert_memory_equal(alone[i].out, together[i].out, alone[i].n * sizeof(double));
    }
    /* and those that differ only in mode and threads agree with each other */
    for (int i = 0; i < 7; i++)
        assert_memory_equal(alone[i].out, alone[i % 2].out, alone[i].n * sizeof(double));
}

/* A context may pass from thread to thread, as long as it is used by one at a time. */
static void *next_part(void *self) {
    void **part = self;
    asc_ctx *ctx = part[0];
    asc_tensor *y = part[1];
    for (int i = 0; i < 10; i++) y = asc_sin(ctx, asc_shift(ctx, y, 0.1 * i));
    part[1] = y;
    return NULL;
}

static void a_context_may_change_threads(void **state) {
    (void)state;
    float x[4] = {0.1f, 0.2f, 0.3f, 0.4f}, got[2][4];
    for (int moving = 0; moving < 2; moving++) {
        asc_ctx *ctx = test_ctx("cpu", "deferred");
        asc_scope_begin(ctx);
        void *part[2] = {ctx, asc_from_f32(ctx, ASC_SHAPE(4), x)};
        for (int i = 0; i < 3; i++) {
            pthread_t t;
            if (moving != 0) {
                assert_int_equal(pthread_create(&t, NULL, next_part, part), 0);
                assert_int_equal(pthread_join(t, NULL), 0);
            } else {
                next_part(part);
            }
        }
        assert_ok(ctx, asc_read_f32(ctx, part[1], got[moving], 4));
        assert_ok(ctx, asc_scope_end(ctx));
        test_ctx_end(ctx);
    }
    assert_memory_equal(got[0], got[1], sizeof got[0]);
}

/* asc_cancel is the one call that may come from another thread. */
static void *stop(void *self) {
    asc_cancel(self);
    return NULL;
}

static void a_stop_from_another_thread(void **state) {
    (void)state;
    asc_ctx *a = test_ctx("cpu", "deferred"), *b = test_ctx("cpu", "deferred");
    worker w = {.method = "integrated-gradients", .path = test_data(MODEL)};
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, stop, a), 0);
    assert_int_equal(pthread_join(t, NULL), 0);
    assert_int_equal(on_model(a, &w), ASC_CANCELLED);
    w.n = 0;
    assert_ok(b, on_model(b, &w));
    asc_cancel_reset(a);
    w.n = 0;
    assert_ok(a, on_model(a, &w));
    test_ctx_end(a);
    test_ctx_end(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts_are_independent),
        cmocka_unit_test(a_context_may_change_threads),
        cmocka_unit_test(a_stop_from_another_thread),
    };
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
