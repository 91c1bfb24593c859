/* test_features.c - slots, frozen parts, skipped tokens, groups, paragraphs: which tokens make a feature, and
 * that its score is the change of value when exactly those tokens change, by logits of prompts made by hand.
 */
#include "coalitions.h"
#include "harness.h"
#include "method.h"
#include "view.h"
#include <math.h>
#include <string.h>

#define ZOO "goldens/zoo_gguf/llama-q4_1/model.gguf"
enum { N_VOCAB = 320, MOST = 128 };
static const int32_t target[] = {31};

typedef struct fixture {
    asc_ctx *ctx;
    asc_model *m;
} fixture;

static fixture begin(void) {
    fixture f = {.ctx = test_ctx("reference", NULL)};
    assert_ok(f.ctx, asc_model_open(f.ctx, test_data(ZOO), NULL, &f.m));
    return f;
}

static void end(fixture *f) {
    asc_model_close(f->m);
    test_ctx_end(f->ctx);
}

static double log_p(fixture *f, const int32_t *ids, size_t n) {
    static float z[N_VOCAB];
    double sum = 0.0;
    assert_ok(f->ctx, asc_model_logits(f->m, ids, n, 1, z));
    for (int v = 0; v < N_VOCAB; v++) sum += exp((double)z[v]);
    return (double)z[target[0]] - log(sum);
}

static asc_request request(const char *prompt) {
    return (asc_request){.struct_size = sizeof(asc_request),
                         .prompt = asc_view_of(prompt),
                         .target_ids = target,
                         .n_target_ids = 1};
}

/* Tokens of text in the middle of a prompt. */
static size_t tokens(fixture *f, asc_view text, int32_t *out) {
    asc_token *t = NULL;
    size_t n = 0;
    asc_tokenize_options o = {.struct_size = sizeof o, .continues = true};
    assert_ok(f->ctx, asc_tokenize(f->ctx, asc_model_tokenizer(f->m), text, &o, &t, &n));
    for (size_t i = 0; i < n; i++) out[i] = t[i].id;
    asc_tokens_free(f->ctx, t);
    return n;
}

/* The prompt's ids with the parts of feature g replaced. */
static size_t replaced(const asc_result *r, size_t g, const int32_t *fill, size_t n_fill, int32_t *out) {
    size_t n = 0, part = 0;
    for (size_t i = 0; i < r->n_prompt; i++) {
        while (part < r->n_parts && i >= r->parts[part].first_token + r->parts[part].n_tokens) part++;
        bool in = part < r->n_parts && i >= r->parts[part].first_token && r->parts[part].feature == g;
        if (!in) out[n++] = r->prompt_ids[i];
        if (in && i == r->parts[part].first_token)
            for (size_t k = 0; k < n_fill; k++) out[n++] = fill[k];
    }
    return n;
}

static void check_scores(fixture *f, const asc_result *r, const char *const *instead) {
    for (size_t g = 0; g < r->n_features; g++) {
        int32_t fill[MOST], ids[2 * MOST];
        size_t n_fill =
            instead != NULL && instead[g][0] != '\0' ? tokens(f, asc_view_of(instead[g]), fill) : 0;
        size_t n = replaced(r, g, fill, n_fill, ids);
        double want = log_p(f, r->prompt_ids, r->n_prompt) - log_p(f, ids, n);
        if (!(fabs(r->features[g].score - want) < 4e-5))
            fail_msg("feature %zu '%s': %.9g, by hand %.9g", g, r->features[g].text, r->features[g].score,
                     want);
    }
}

static void slots_of_own_baselines(void **state) {
    (void)state;
    fixture f = begin();
    const char *text = "Dear Anna, the capital of France is not in Rome";
    const asc_view john = asc_view_of("Johannes the Second"), none = asc_view_of("");
    const asc_prompt_slot slots[] = {
        {.start = 5,
         .end = 9,
         .feature = -1,
         .baselines = &john,
         .n_baselines = 1,
         .label = asc_view_of("who")},
        {.start = 26, .end = 32, .feature = -1, .baselines = &none, .n_baselines = 1},
        {.start = 43, .end = 47, .feature = -1}};
    static const char *const instead[] = {"Johannes the Second", "", ""};
    asc_request q = request(text);
    asc_result *r = NULL;
    q.features = ASC_FEATURES_SLOT;
    q.slots = slots;
    q.n_slots = 3;
    assert_ok(f.ctx, asc_explain(f.m, &q, &r));
    assert_int_equal(r->n_features, 3);
    assert_string_equal(r->features[0].text, "who");
    assert_string_equal(r->features[1].text, "France"); /* the blank is a token by itself here */
    check_scores(&f, r, instead);
    asc_result_destroy(f.ctx, r);
    end(&f);
}

/* One feature in two places; the tokens between stay. */
static void groups_come_and_go_together(void **state) {
    (void)state;
    fixture f = begin();
    const asc_prompt_slot slots[] = {{.start = 0, .end = 4, .feature = 7},
                                     {.start = 11, .end = 16, .feature = -1},
                                     {.start = 22, .end = 27, .feature = 7}};
    asc_request q = request("Anna likes water, and Maria");
    asc_result *r = NULL;
    q.features = ASC_FEATURES_SLOT;
    q.slots = slots;
    q.n_slots = 3;
    for (int method = 0; method < 2; method++) {
        q.method = method == 0 ? "feature-ablation" : "input-x-gradient";
        assert_ok(f.ctx, asc_explain(f.m, &q, &r));
        assert_int_equal(r->n_features, 2);
        assert_int_equal(r->n_parts, 3);
        assert_int_equal(r->parts[2].feature, 0);
        assert_non_null(strstr(r->features[0].text, "\xe2\x80\xa6"));
        if (method == 0) check_scores(&f, r, NULL);
        if (method == 1) { /* a sum over the tokens of both parts */
            double s = 0.0;
            for (size_t i = 0; i < 3; i++)
                for (size_t k = 0; r->parts[i].feature == 0 && k < r->parts[i].n_tokens; k++)
                    s += r->scores[r->parts[i].first_token + k];
            assert_true(fabs(r->features[0].score - s) < 1e-12);
        }
        asc_result_destroy(f.ctx, r);
        r = NULL;
    }
    end(&f);
}

static void frozen_and_skipped_tokens_are_no_features(void **state) {
    (void)state;
    fixture f = begin();
    const char *text = "one two three four five";
    const asc_span frozen[] = {{4, 7}, {14, 15}}; /* "two", and one byte of "four" */
    asc_request q = request(text);
    asc_result *all = NULL, *r = NULL;
    q.features = ASC_FEATURES_TOKEN;
    assert_ok(f.ctx, asc_explain(f.m, &q, &all));
    q.frozen = frozen;
    q.n_frozen = 2;
    int32_t skip[] = {all->prompt_ids[all->n_prompt - 1]};
    q.skip_tokens = skip;
    q.n_skip_tokens = 1;
    assert_ok(f.ctx, asc_explain(f.m, &q, &r));
    size_t left = 0;
    for (size_t i = 0; i < all->n_prompt; i++) {
        bool off = asc_token_reaches(all, i, 4, 7) || asc_token_reaches(all, i, 14, 15) ||
                   all->prompt_ids[i] == skip[0];
        if (off) continue;
        assert_int_equal(r->features[left].first_token, i);
        assert_true(fabs(r->features[left++].score - all->features[i].score) < 1e-12);
    }
    assert_int_equal(left, r->n_features);
    assert_true(left < all->n_features);
    asc_result_destroy(f.ctx, all);
    asc_result_destroy(f.ctx, r);
    end(&f);
}

static void paragraphs_end_at_empty_lines(void **state) {
    (void)state;
    fixture f = begin();
    asc_request q = request("\n\nA b.\nC d.\n \n\nE f\n\n\n  G");
    asc_result *r = NULL;
    q.features = ASC_FEATURES_PARAGRAPH;
    assert_ok(f.ctx, asc_explain(f.m, &q, &r));
    assert_int_equal(r->n_features, 3);
    assert_non_null(strstr(r->features[0].text, "C d."));
    assert_null(strstr(r->features[0].text, "E"));
    assert_non_null(strstr(r->features[2].text, "G"));
    check_scores(&f, r, NULL);
    asc_result_destroy(f.ctx, r);
    end(&f);
}

/* Two baselines: with many trials the mean over both; one trial is one of them, by the seed. */
static void random_baselines_are_averaged(void **state) {
    (void)state;
    fixture f = begin();
    const asc_view names[] = {asc_view_of("Sarah"), asc_view_of("Johannes the Second")};
    const asc_prompt_slot slot = {.start = 5, .end = 9, .feature = -1, .baselines = names, .n_baselines = 2};
    asc_request q = request("Dear Anna, the capital of");
    asc_result *r = NULL;
    double with[2], mean = 0.0;
    int seen[2] = {0, 0};
    q.features = ASC_FEATURES_SLOT;
    q.slots = &slot;
    q.n_slots = 1;
    for (int seed = 0; seed < 24; seed++) {
        q.seed = (uint64_t)seed;
        assert_ok(f.ctx, asc_explain(f.m, &q, &r));
        assert_true(r->n_warnings > 0); /* says that it was one draw */
        for (int k = 0; k < 2; k++) {
            int32_t fill[MOST], ids[2 * MOST];
            char text[64];
            snprintf(text, sizeof text, "%s", names[k].ptr);
            size_t n = replaced(r, 0, fill, tokens(&f, asc_view_of(text), fill), ids);
            with[k] = log_p(&f, r->prompt_ids, r->n_prompt) - log_p(&f, ids, n);
            seen[k] += fabs(r->features[0].score - with[k]) < 4e-5;
        }
        asc_result_destroy(f.ctx, r);
        r = NULL;
    }
    assert_int_equal(seen[0] + seen[1], 24);
    assert_true(seen[0] > 3 && seen[1] > 3);
    q.trials = 400;
    assert_ok(f.ctx, asc_explain(f.m, &q, &r));
    mean = (with[0] + with[1]) / 2;
    /* four standard errors of a fair draw */
    assert_true(fabs(r->features[0].score - mean) < 4.0 * fabs(with[0] - with[1]) / 2.0 / 20.0);
    asc_result_destroy(f.ctx, r);
    end(&f);
}

static void a_slot_inside_a_token_keeps_the_rest(void **state) {
    (void)state;
    fixture f = begin();
    const char *text = "The capital of France";
    asc_request q = request(text);
    asc_result *r = NULL;
    asc_prompt_slot slot = {.feature = -1};
    q.features = ASC_FEATURES_TOKEN;
    assert_ok(f.ctx, asc_explain(f.m, &q, &r));
    size_t long_one = 0;
    while (long_one < r->n_prompt && r->token_end[long_one] - r->token_start[long_one] < 3) long_one++;
    assert_true(long_one < r->n_prompt);
    size_t last = r->token_end[long_one] - 1;
    char kept[2] = {text[last], '\0'};
    slot.start = r->token_start[long_one];
    slot.end = last;
    asc_result_destroy(f.ctx, r);
    r = NULL;
    q.features = ASC_FEATURES_SLOT;
    q.slots = &slot;
    q.n_slots = 1;
    assert_ok(f.ctx, asc_explain(f.m, &q, &r));
    assert_true(r->n_warnings > 0);
    assert_non_null(strstr(r->warnings[0], "widened"));
    const char *instead[] = {kept};
    if (long_one > 0) check_scores(&f, r, instead);
    asc_result_destroy(f.ctx, r);
    end(&f);
}

static void odd_features_are_refused(void **state) {
    (void)state;
    static const asc_prompt_slot overlap[] = {{.start = 0, .end = 7, .feature = -1},
                                              {.start = 4, .end = 11, .feature = -1}},
                                 outside[] = {{.start = 3, .end = 99, .feature = -1}},
                                 backwards[] = {{.start = 5, .end = 3, .feature = -1}},
                                 empty[] = {{.start = 4, .end = 4, .feature = -1}},
                                 shared[] = {{.start = 8, .end = 9, .feature = -1}, /* " th" is one token */
                                             {.start = 9, .end = 11, .feature = -1}};
    static const asc_view text = {"a longer text", 13};
    static const asc_prompt_slot instead[] = {
        {.start = 0, .end = 3, .feature = -1, .baselines = &text, .n_baselines = 1}};
    static const asc_span all = {0, 17}, far = {0, 99};
    static const int32_t no_token[] = {N_VOCAB + 5};
    static const struct {
        const asc_prompt_slot *slots;
        size_t n;
        const char *method;
        asc_features features;
        const asc_span *frozen;
        const int32_t *skip;
        const char *message;
    } cases[] = {{overlap, 2, NULL, ASC_FEATURES_SLOT, NULL, NULL, "overlap"},
                 {outside, 1, NULL, ASC_FEATURES_SLOT, NULL, NULL, "slot 0: bytes 3 to 99"},
                 {backwards, 1, NULL, ASC_FEATURES_SLOT, NULL, NULL, "slot 0: bytes 5 to 3"},
                 {empty, 1, NULL, ASC_FEATURES_SLOT, NULL, NULL, "slot 0 is empty"},
                 {shared, 2, NULL, ASC_FEATURES_SLOT, NULL, NULL, "share the token"},
                 {instead, 1, "saliency", ASC_FEATURES_SLOT, NULL, NULL, "another length"},
                 {instead, 1, NULL, ASC_FEATURES_SLOT, &all, NULL, "frozen or skipped"},
                 {instead, 1, NULL, ASC_FEATURES_WORD, NULL, NULL, "slots, and features by word"},
                 {NULL, 0, NULL, ASC_FEATURES_SLOT, NULL, NULL, "there are none"},
                 {NULL, 0, NULL, ASC_FEATURES_WORD, &all, NULL, "no features are left"},
                 {NULL, 0, NULL, ASC_FEATURES_WORD, &far, NULL, "frozen part 0"},
                 {NULL, 0, NULL, ASC_FEATURES_WORD, NULL, no_token, "not in the vocabulary"}};
    fixture f = begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asc_request q = request("one two three four");
        asc_result *r = NULL;
        q.prompt.len = 17;
        q.method = cases[i].method;
        q.features = cases[i].features;
        q.slots = cases[i].slots;
        q.n_slots = cases[i].n;
        q.frozen = cases[i].frozen;
        q.n_frozen = cases[i].frozen != NULL;
        q.skip_tokens = cases[i].skip;
        q.n_skip_tokens = cases[i].skip != NULL;
        asc_status st = asc_explain(f.m, &q, &r);
        if (st == ASC_OK || strstr(asc_error_message(f.ctx), cases[i].message) == NULL)
            fail_msg("case %zu: status %d, %s", i, (int)st, asc_error_message(f.ctx));
        assert_true(asc_error_hint(f.ctx)[0] != '\0');
        assert_null(r);
    }
    end(&f);
}

/* A model without tokenizer has no words: its features are tokens, and that is said; sentences are refused.
 */
static void ids_without_text(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_model *m = NULL;
    const int32_t ids[] = {5, 9, 12, 7};
    assert_ok(ctx, asc_model_open(ctx, test_data("hf/granite"), NULL, &m));
    for (int k = 0; k < 5; k++) {
        static const asc_features kinds[] = {ASC_FEATURES_WORD, ASC_FEATURES_TOKEN, ASC_FEATURES_SENTENCE,
                                             ASC_FEATURES_PARAGRAPH, ASC_FEATURES_WORD};
        static const int32_t next[] = {3};
        asc_result *r = NULL;
        const asc_request q = {.struct_size = sizeof q,
                               .prompt_ids = ids,
                               .n_prompt_ids = 4,
                               .target_ids = next,
                               .n_target_ids = 1,
                               .method = k == 4 ? "hierarchical" : "lrp",
                               .features = kinds[k]};
        if (k == 2 || k == 3) {
            assert_int_equal(asc_explain(m, &q, &r), ASC_INVALID_ARGUMENT);
            assert_non_null(strstr(asc_error_message(ctx), "no tokenizer"));
            asc_error_clear(ctx);
            continue;
        }
        assert_ok(ctx, asc_explain(m, &q, &r));
        assert_int_equal(r->feature_kind, ASC_FEATURES_TOKEN);
        if (k < 4) assert_int_equal(r->n_features, 4);
        if (k < 4) assert_int_equal(r->n_warnings, k == 0 ? 1 : 0);
        asc_result_destroy(ctx, r);
    }
    asc_model_close(m);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(slots_of_own_baselines),
                                       cmocka_unit_test(groups_come_and_go_together),
                                       cmocka_unit_test(frozen_and_skipped_tokens_are_no_features),
                                       cmocka_unit_test(paragraphs_end_at_empty_lines),
                                       cmocka_unit_test(random_baselines_are_averaged),
                                       cmocka_unit_test(a_slot_inside_a_token_keeps_the_rest),
                                       cmocka_unit_test(odd_features_are_refused),
                                       cmocka_unit_test(ids_without_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
