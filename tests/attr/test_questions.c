/* test_questions.c - spans, scores of each answer token, divergence: against numbers made by hand from
 * logits, and matrices against a request for each token alone. */
#include "harness.h"
#include "method.h"
#include "view.h"
#include <math.h>
#include <string.h>

#define ZOO "goldens/zoo_gguf/"
static const char *const zoo[] = {ZOO "llama-q4_1/model.gguf", ZOO "qwen3-q5_0/model.gguf",
                                  ZOO "gemma2-f16/model.gguf"};
enum { N_VOCAB = 320, MOST = 32, N = 9, M = 4 };
static const int32_t ids[N] = {54, 70, 21, 59, 28, 34, 77, 12, 90}, target[M] = {193, 31, 8, 44};

static asc_request request(void) {
    return (asc_request){.struct_size = sizeof(asc_request),
                         .prompt_ids = ids,
                         .n_prompt_ids = N,
                         .target_ids = target,
                         .n_target_ids = M,
                         .features = ASC_FEATURES_TOKEN};
}

/* log p of each target token behind a prompt, from the logits of one pass. */
static void by_hand(asc_ctx *ctx, asc_model *m, const int32_t *prompt, size_t n, double out[M]) {
    static float z[MOST * N_VOCAB];
    int32_t all[MOST];
    memcpy(all, prompt, n * sizeof *all);
    memcpy(all + n, target, M * sizeof *all);
    assert_ok(ctx, asc_model_logits(m, all, n + M - 1, M, z));
    for (size_t k = 0; k < M; k++) {
        double sum = 0.0;
        for (int v = 0; v < N_VOCAB; v++) sum += exp((double)z[k * N_VOCAB + (size_t)v]);
        out[k] = (double)z[k * N_VOCAB + (size_t)target[k]] - log(sum);
    }
}

static size_t without(size_t which, int32_t out[N]) {
    size_t n = 0;
    for (size_t i = 0; i < N; i++)
        if (i != which) out[n++] = ids[i];
    return n;
}

static void ablation_of_each_answer_token(void **state) {
    (void)state;
    for (size_t z = 0; z < 3; z++) {
        asc_ctx *ctx = test_ctx("reference", NULL);
        asc_model *m = NULL;
        assert_ok(ctx, asc_model_open(ctx, test_data(zoo[z]), NULL, &m));
        for (int prob = 0; prob < 2; prob++) {
            asc_request q = request();
            asc_result *r = NULL;
            double whole[M];
            q.per_token = true;
            q.output = prob ? ASC_OUTPUT_PROB : ASC_OUTPUT_LOGPROB;
            assert_ok(ctx, asc_explain(m, &q, &r));
            assert_int_equal(r->n_matrix, M);
            by_hand(ctx, m, ids, N, whole);
            for (size_t i = 0; i < N; i++) {
                int32_t rest[N];
                double less[M], sum = 0.0, before = 0.0, after = 0.0;
                by_hand(ctx, m, rest, without(i, rest), less);
                for (size_t k = 0; k < M; k++) {
                    double want = prob ? exp(whole[k]) - exp(less[k]) : whole[k] - less[k];
                    double got = r->matrix[k * N + i];
                    if (!(fabs(got - want) < 4e-5)) /* logits are handed out in f32 */
                        fail_msg("model %zu prob %d token %zu, answer token %zu: %.9g, by hand %.9g", z, prob,
                                 i, k, got, want);
                    sum += got;
                    before += whole[k];
                    after += less[k];
                    assert_true(fabs(r->token_values[k] - (prob ? exp(whole[k]) : whole[k])) < 4e-5);
                }
                double all = prob ? exp(before) - exp(after) : sum; /* rows of logarithms add up */
                assert_true(fabs(r->features[i].score - all) < (prob ? 4e-5 : 1e-12));
            }
            asc_result_destroy(ctx, r);
        }
        asc_model_close(m);
        test_ctx_end(ctx);
    }
}

static double largest_of(const asc_result *r) {
    double largest = 0.0;
    for (size_t i = 0; i < r->n_features; i++) largest = fmax(largest, fabs(r->features[i].score));
    return largest;
}

static double relative_gap(const double *a, const asc_result *b) {
    double gap = 0.0;
    for (size_t i = 0; i < b->n_features; i++) gap = fmax(gap, fabs(a[i] - b->features[i].score));
    return largest_of(b) > 0.0 ? gap / largest_of(b)
                               : gap; /* the last block: later rows do not reach the prompt */
}

/* A row is what a request for that token alone says, which other tests hold against differences of values. */
static void rows_are_spans_of_one_token(void **state) {
    (void)state;
    static const struct {
        const char *device, *mode;
        double
            tolerance; /* the f64 device: sums in another order; f32: 2 L eps over two passes of 2 blocks */
    } places[] = {{"reference", NULL, 1e-9}, {"cpu", "deferred", 2e-4}, {"cpu", "eager", 2e-4}};
    static const struct {
        const char *method, *norm, *site;
        asc_output output;
        size_t memory;
    } cases[] = {{"input-x-gradient", NULL, NULL, ASC_OUTPUT_LOGPROB, 0},
                 {"input-x-gradient", NULL, "blocks.1.mlp.out", ASC_OUTPUT_LOGPROB, 0},
                 {"input-x-gradient", NULL, NULL, ASC_OUTPUT_PROB, 0},
                 {"input-x-gradient", NULL, NULL, ASC_OUTPUT_LOGIT, 0},
                 {"saliency", NULL, NULL, ASC_OUTPUT_LOGPROB, 0},
                 {"saliency", "abs", NULL, ASC_OUTPUT_PROB, 0},
                 {"saliency", "signed", "blocks.0.out", ASC_OUTPUT_LOGPROB, 0},
                 {"integrated-gradients", NULL, NULL, ASC_OUTPUT_LOGPROB, 0},
                 {"lrp", NULL, NULL, ASC_OUTPUT_LOGPROB, 0},
                 {"deep-lift", NULL, NULL, ASC_OUTPUT_LOGIT, 0},
                 {"deep-lift-shap", NULL, NULL, ASC_OUTPUT_LOGPROB, 0},
                 {"gradient-shap", NULL, NULL, ASC_OUTPUT_LOGPROB, 0},
                 {"noise-tunnel", NULL, NULL, ASC_OUTPUT_LOGPROB, 0}};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        for (size_t z = 0; z < 3; z++) {
            asc_ctx *ctx = test_ctx(places[p].device, places[p].mode);
            asc_model *m = NULL;
            assert_ok(ctx, asc_model_open(ctx, test_data(zoo[z]), NULL, &m));
            for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
                asc_request q = request();
                asc_result *all = NULL, *one = NULL;
                q.method = cases[c].method;
                /* relevance: 1e-9 in denominators down to 1e-3; in f32 sums in which terms cancel */
                const double allowed = strcmp(q.method, "lrp") != 0 ? places[p].tolerance
                                       : p == 0                     ? 2e-6
                                                                    : 0.02;
                q.norm = cases[c].norm;
                q.site = cases[c].site;
                if (strncmp(q.method, "integrated", 10) == 0) {
                    q.rule = "gauss-legendre";
                    q.steps = 3;
                }
                q.samples = 3; /* of those that draw */
                q.output = cases[c].output;
                q.memory_bytes = cases[c].memory;
                q.per_token = true;
                assert_ok(ctx, asc_explain(m, &q, &all));
                q.per_token = false;
                assert_ok(ctx, asc_explain(m, &q, &one));
                for (size_t i = 0; i < one->n_features; i++) {
                    double off = fabs(one->features[i].score - all->features[i].score) / largest_of(one);
                    if (!(off <= allowed))
                        fail_msg("%s model %zu %s: the whole is off by %.3g", places[p].device, z, q.method,
                                 off);
                }
                asc_result_destroy(ctx, one);
                for (size_t k = 0; k < M; k++) {
                    one = NULL;
                    q.span_start = k;
                    q.span_end = k + 1;
                    assert_ok(ctx, asc_explain(m, &q, &one));
                    assert_true(fabs(one->value - all->token_values[k]) < 1e-4);
                    double gap = relative_gap(all->matrix + k * N, one);
                    if (!(gap <= allowed))
                        fail_msg("%s %s model %zu case %zu answer token %zu: off by %.3g", places[p].device,
                                 places[p].mode != NULL ? places[p].mode : "", z, c, k, gap);
                    asc_result_destroy(ctx, one);
                }
                asc_result_destroy(ctx, all);
            }
            asc_model_close(m);
            test_ctx_end(ctx);
        }
    }
}

/* Gradients of a difference are the difference of gradients; the answers have one, two and four tokens. */
static void contrasts_at_sites(void **state) {
    (void)state;
    static const char *const sites[] = {NULL, "blocks.0.attn.in", "blocks.0.out", "blocks.1.mlp.out"};
    static const int32_t versus[] = {7, 12};
    for (size_t z = 0; z < 3; z++) {
        asc_ctx *ctx = test_ctx("reference", NULL);
        asc_model *m = NULL;
        assert_ok(ctx, asc_model_open(ctx, test_data(zoo[z]), NULL, &m));
        for (size_t s = 0; s < 8; s++) {
            asc_request q = request();
            asc_result *both = NULL, *one = NULL, *other = NULL;
            q.method = "input-x-gradient";
            q.site = sites[s / 2];
            q.versus_ids = versus;
            q.n_versus_ids = 1 + s % 2;
            assert_ok(ctx, asc_explain(m, &q, &both));
            q.versus_ids = NULL;
            q.n_versus_ids = 0;
            assert_ok(ctx, asc_explain(m, &q, &one));
            q.target_ids = versus;
            q.n_target_ids = 1 + s % 2;
            assert_ok(ctx, asc_explain(m, &q, &other));
            assert_true(fabs(both->value - (one->value - other->value)) < 1e-9);
            for (size_t i = 0; i < N; i++)
                assert_true(
                    fabs(both->features[i].score - (one->features[i].score - other->features[i].score)) <
                    1e-9 * (largest_of(one) + largest_of(other)));
            asc_result_destroy(ctx, both);
            asc_result_destroy(ctx, one);
            asc_result_destroy(ctx, other);
        }
        asc_model_close(m);
        test_ctx_end(ctx);
    }
}

static void spans_leave_the_rest_out(void **state) {
    (void)state;
    for (size_t z = 0; z < 3; z++) {
        asc_ctx *ctx = test_ctx("reference", NULL);
        asc_model *m = NULL;
        double whole[M], less[M];
        int32_t rest[N];
        assert_ok(ctx, asc_model_open(ctx, test_data(zoo[z]), NULL, &m));
        by_hand(ctx, m, ids, N, whole);
        for (size_t first = 0; first < M; first++) {
            for (size_t end = first + 1; end <= M; end++) {
                asc_request q = request();
                asc_result *r = NULL;
                double want = 0.0, gone = 0.0, all = 0.0;
                q.span_start = first;
                q.span_end = end;
                assert_ok(ctx, asc_explain(m, &q, &r));
                by_hand(ctx, m, rest, without(3, rest), less);
                for (size_t k = first; k < end; k++) {
                    want += whole[k];
                    gone += less[k];
                }
                for (size_t k = 0; k < M; k++) all += whole[k];
                assert_true(fabs(r->value - want) < 2e-5);
                assert_true(fabs(r->features[3].score - (want - gone)) < 4e-5);
                assert_true(fabs(r->target_prob / exp(all) - 1.0) < 1e-4); /* of the whole target */
                asc_result_destroy(ctx, r);
            }
        }
        asc_model_close(m);
        test_ctx_end(ctx);
    }
}

/* KL(p || q) in its plain form, from two passes' logits. */
static double divergence_by_hand(asc_ctx *ctx, asc_model *m, const int32_t *rest, size_t n) {
    float p[N_VOCAB], q[N_VOCAB];
    double sp = 0.0, sq = 0.0, kl = 0.0;
    assert_ok(ctx, asc_model_logits(m, ids, N, 1, p));
    assert_ok(ctx, asc_model_logits(m, rest, n, 1, q));
    for (int v = 0; v < N_VOCAB; v++) {
        sp += exp((double)p[v]);
        sq += exp((double)q[v]);
    }
    for (int v = 0; v < N_VOCAB; v++)
        kl += exp((double)p[v]) / sp * ((double)p[v] - log(sp) - (double)q[v] + log(sq));
    return kl;
}

static void divergence_of_the_next_token(void **state) {
    (void)state;
    static const char *const modes[] = {"eager", "deferred", "compiled"};
    for (size_t z = 0; z < 3; z++) {
        for (size_t k = 0; k < 3; k++) {
            asc_ctx *ctx = test_ctx("cpu", modes[k]);
            asc_model *m = NULL;
            asc_result *r = NULL;
            asc_request q = request();
            q.target_ids = NULL;
            q.n_target_ids = 0;
            q.output = ASC_OUTPUT_KL;
            assert_ok(ctx, asc_model_open(ctx, test_data(zoo[z]), NULL, &m));
            assert_ok(ctx, asc_explain(m, &q, &r));
            assert_true(fabs(r->value) < 1e-5);
            for (size_t i = 0; i < N; i++) {
                int32_t rest[N];
                double want = divergence_by_hand(ctx, m, rest, without(i, rest));
                assert_true(want >= 0.0);
                assert_true(fabs(r->features[i].score - want) < 1e-5 + 1e-4 * want);
            }
            asc_result_destroy(ctx, r);
            asc_model_close(m);
            test_ctx_end(ctx);
        }
    }
}

static void odd_questions_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *method;
        asc_output output;
        size_t start, end;
        const char *text, *versus;
        bool per_token, target;
        asc_status status;
        const char *message;
    } cases[] = {
        {NULL, ASC_OUTPUT_LOGPROB, 0, 5, NULL, NULL, false, true, ASC_OUT_OF_RANGE, "has 4 tokens"},
        {NULL, ASC_OUTPUT_LOGPROB, 2, 2, NULL, NULL, false, true, ASC_INVALID_ARGUMENT, "is empty"},
        {NULL, ASC_OUTPUT_LOGPROB, 1, 0, NULL, NULL, false, true, ASC_INVALID_ARGUMENT, "has no end"},
        {NULL, ASC_OUTPUT_LOGPROB, 0, 2, "a", NULL, false, true, ASC_INVALID_ARGUMENT,
         "as text and as tokens"},
        {NULL, ASC_OUTPUT_LOGPROB, 0, 0, "\x01\x02nowhere", NULL, false, true, ASC_NOT_FOUND,
         "no part that reads"},
        {NULL, ASC_OUTPUT_LOGPROB, 0, 0, NULL, "x", true, true, ASC_INVALID_ARGUMENT, "no pairs"},
        {"integrated-gradients", ASC_OUTPUT_LOGPROB, 0, 0, NULL, NULL, true, true, ASC_UNIMPLEMENTED, ""},
        {"deep-lift", ASC_OUTPUT_PROB, 0, 0, NULL, NULL, true, true, ASC_UNIMPLEMENTED, "log-probabilities"},
        {"attention-rollout", ASC_OUTPUT_LOGPROB, 0, 0, NULL, NULL, true, true, ASC_UNIMPLEMENTED,
         "attention"},
        {"saliency", ASC_OUTPUT_KL, 0, 0, NULL, NULL, false, false, ASC_INVALID_ARGUMENT, "gradient of 0"},
        {NULL, ASC_OUTPUT_KL, 0, 0, NULL, NULL, false, true, ASC_INVALID_ARGUMENT, "no target"},
        {NULL, ASC_OUTPUT_KL, 0, 0, NULL, "x", false, false, ASC_INVALID_ARGUMENT, "no contrast"},
        {NULL, ASC_OUTPUT_KL, 0, 0, NULL, NULL, true, false, ASC_INVALID_ARGUMENT, "no spans"},
    };
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_model *m = NULL;
    assert_ok(ctx, asc_model_open(ctx, test_data(zoo[0]), NULL, &m));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asc_request q = request();
        asc_result *r = NULL;
        q.method = cases[i].method;
        q.output = cases[i].output;
        q.span_start = cases[i].start;
        q.span_end = cases[i].end;
        q.per_token = cases[i].per_token;
        if (cases[i].text != NULL) q.span = asc_view_of(cases[i].text);
        if (cases[i].versus != NULL) q.versus = asc_view_of(cases[i].versus);
        if (!cases[i].target) q.target_ids = NULL;
        asc_status st = asc_explain(m, &q, &r);
        const char *message = asc_error_message(ctx);
        if (st != cases[i].status || strstr(message, cases[i].message) == NULL)
            fail_msg("case %zu: status %d, %s", i, (int)st, message);
        assert_true(asc_error_hint(ctx)[0] != 0);
        assert_null(r);
    }
    asc_model_close(m);
    test_ctx_end(ctx);
}

static void a_span_of_text_is_widened_to_tokens(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_model *m = NULL;
    assert_ok(ctx, asc_model_open(ctx, test_data(zoo[0]), NULL, &m));
    asc_request q = request();
    asc_result *r = NULL;
    size_t start = 0;
    char text[256] = "";
    for (size_t k = 0; k < M; k++) {
        asc_view p = asc_token_piece(asc_model_tokenizer(m), target[k]);
        memcpy(text + start, p.ptr, p.len);
        if (k == 1) { /* from the last byte of token 1 on, into token 2 */
            asc_view next = asc_token_piece(asc_model_tokenizer(m), target[2]);
            memcpy(text + start + p.len, next.ptr, next.len);
            q.span = asc_view_make(text + start + p.len - 1, 2);
            break;
        }
        start += p.len;
    }
    assert_ok(ctx, asc_explain(m, &q, &r));
    assert_true(r->span_start <= 1 && r->span_end <= 3 && r->span_end > r->span_start);
    asc_result_destroy(ctx, r);
    asc_model_close(m);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ablation_of_each_answer_token),
                                       cmocka_unit_test(rows_are_spans_of_one_token),
                                       cmocka_unit_test(contrasts_at_sites),
                                       cmocka_unit_test(spans_leave_the_rest_out),
                                       cmocka_unit_test(divergence_of_the_next_token),
                                       cmocka_unit_test(odd_questions_are_refused),
                                       cmocka_unit_test(a_span_of_text_is_widened_to_tokens)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
