/* test_blockwise.c - gradients block by block: the bytes of those from one program, for every family, answer,
 * contrast, site, mode and number of kept inputs; and every allocation on the way may fail. */
#include "blockwise.h"
#include "budget.h"
#include "harness.h"
#include "target.h"
#include "view.h"

#define ZOO "goldens/zoo_gguf/"
static const char *const zoo[] = {ZOO "llama-q4_1/model.gguf", ZOO "qwen3-q5_0/model.gguf",
                                  ZOO "gemma2-f16/model.gguf"};
static const int32_t ids[] = {54, 70, 21, 59, 28, 34, 77, 120, 3, 41, 66, 12}, answer[] = {193, 31, 8},
                     other[] = {7, 12};
enum { N = sizeof ids / sizeof *ids, MOST = 65536 };

typedef struct numbers {
    double f, g[MOST], act[MOST];
    size_t n;
} numbers;

/* keep_every 0: one program. */
static asc_status gradient(asc_job *j, size_t keep_every, numbers *out) {
    asc_ctx *ctx = j->ctx;
    asc_tensor *ts[3] = {NULL, NULL, NULL};
    asc_scope_begin(ctx);
    asc_tensor *x = asc_decoder_embed(&j->m->decoder, ids, 1, N);
    asc_status st = ASC_OK;
    if (keep_every > 0) {
        st = asc_blockwise_gradient(j, x, keep_every, &ts[0], &ts[1], &ts[2]);
    } else {
        ts[0] = asc_record_scalar(j, x, &ts[1], &ts[2]);
        st = asc_run(ctx, ts, 3);
    }
    if (st == ASC_OK) {
        out->n = (size_t)asc_tensor_elems(ts[1]);
        assert_true(out->n <= MOST);
        st = asc_read_f64(ctx, ts[0], &out->f, 1);
        if (st == ASC_OK) st = asc_read_f64(ctx, ts[1], out->g, out->n);
        if (st == ASC_OK) st = asc_read_f64(ctx, ts[2], out->act, out->n);
    }
    for (int i = 0; keep_every > 0 && i < 3; i++) asc_tensor_release(ts[i]);
    return asc_scope_close(ctx, st);
}

static void compare(asc_ctx *ctx, asc_model *m, const asc_request *q) {
    static numbers plain, blocks;
    asc_job j;
    assert_ok(ctx, asc_job_init(&j, m, q));
    assert_ok(ctx, gradient(&j, 0, &plain));
    bool any = false;
    for (size_t i = 0; i < plain.n; i++) any = any || plain.g[i] > 0.0;
    assert_true(any);
    for (size_t k = 1; k <= 3; k++) {
        assert_ok(ctx, gradient(&j, k, &blocks));
        assert_int_equal(blocks.n, plain.n);
        assert_memory_equal(&plain.f, &blocks.f, sizeof(double));
        assert_memory_equal(plain.g, blocks.g, plain.n * sizeof(double));
        assert_memory_equal(plain.act, blocks.act, plain.n * sizeof(double));
    }
    asc_job_deinit(&j);
}

static void same_bytes(void **state) {
    (void)state;
    static const char *const modes[] = {"deferred", "eager", "compiled"};
    for (size_t k = 0; k < 9; k++) {
        asc_ctx *ctx = test_ctx(k == 8 ? "reference" : "cpu", modes[k / 3]);
        asc_model *m = NULL;
        assert_ok(ctx, asc_model_open(ctx, test_data(zoo[k % 3]), NULL, &m));
        for (int variant = 0; variant < 8; variant++) {
            asc_request q = {.struct_size = sizeof q,
                             .method = "saliency",
                             .prompt_ids = ids,
                             .n_prompt_ids = N,
                             .target_ids = answer,
                             .n_target_ids = variant % 3 == 0 ? 1 : 3,
                             .features = ASC_FEATURES_TOKEN,
                             .output = variant == 2 ? ASC_OUTPUT_PROB : ASC_OUTPUT_LOGPROB};
            if (variant == 3 || variant == 1 || variant > 5) {
                q.versus_ids = other;
                q.n_versus_ids = variant == 3 ? 1 : 2;
            }
            if (variant == 4 || variant == 6) q.site = "blocks.1.mlp.in";
            if (variant == 5 || variant == 7) q.site = "blocks.0.attn.out";
            compare(ctx, m, &q);
        }
        asc_model_close(m);
        test_ctx_end(ctx);
    }
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static numbers out;
    long total = 0;
    for (long fail_at = 0; fail_at <= total; fail_at += fail_at < 40 ? 1 : 13) {
        test_alloc a = {0};
        asc_ctx_options o = {
            .struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &a, .n_threads = 1};
        asc_ctx *ctx = NULL;
        asc_model *m = NULL;
        asc_job j;
        assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
        assert_ok(ctx, asc_model_open(ctx, test_data(zoo[1]), NULL, &m));
        asc_request q = {.struct_size = sizeof q,
                         .method = "saliency",
                         .prompt_ids = ids,
                         .n_prompt_ids = N,
                         .target_ids = answer,
                         .n_target_ids = 2,
                         .versus_ids = other,
                         .n_versus_ids = 2,
                         .features = ASC_FEATURES_TOKEN};
        assert_ok(ctx, asc_job_init(&j, m, &q));
        a.count = 0;
        a.fail_at = fail_at;
        asc_status st = gradient(&j, 2, &out);
        asc_price p;
        if (st == ASC_OK) st = asc_blockwise_price(&j, 1, N, 2, &p);
        if (fail_at == 0) {
            assert_ok(ctx, st);
            total = a.count;
        } else {
            assert_true(st == ASC_RESOURCE_EXHAUSTED || st == ASC_OK); /* OK: tried again with less */
        }
        a.fail_at = 0;
        asc_job_deinit(&j);
        asc_model_close(m);
        test_ctx_end(ctx);
        assert_int_equal(a.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bytes),
                                       cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests_name("blockwise", tests, NULL, NULL);
}
