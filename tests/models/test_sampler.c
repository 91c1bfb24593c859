/* test_sampler.c - which tokens bias, penalties and filters leave, against Hugging Face's logits processors
 * (tests/data/sampler.json, made by scripts/refs/sampler_fixtures.py), and options that make no sense. */
#include "file.h"
#include "harness.h"
#include "json.h"
#include "sampler.h"
#include <math.h>

enum { V = 64 };

static double num(const asc_json *c, const char *key) { return asc_json_num(asc_json_get(c, key), 0.0); }

static size_t read_ids(const asc_json *list, int32_t *out) {
    for (size_t i = 0; i < asc_json_len(list); i++) out[i] = (int32_t)asc_json_int(asc_json_at(list, i), -1);
    return asc_json_len(list);
}

/* Weights are exp of f32 logits over the temperature, in f64; the fixture's processors round penalties to f32
 * (2^-24 of logits up to 100, over a temperature of 0.3). */
static void one_case(asc_ctx *ctx, size_t number, const asc_json *c) {
    float x[V];
    int32_t prompt[V], answer[V];
    asc_logit_bias bias[4];
    const asc_json *logits = asc_json_get(c, "logits"), *probs = asc_json_get(c, "probs");
    const size_t v = asc_json_len(logits), n = read_ids(asc_json_get(c, "prompt"), prompt),
                 n_answer = read_ids(asc_json_get(c, "answer"), answer);
    for (size_t i = 0; i < v; i++) x[i] = (float)asc_json_num(asc_json_at(logits, i), NAN);
    asc_generate_options o = {.struct_size = sizeof o,
                              .temperature = num(c, "temperature"),
                              .top_k = (int)num(c, "top_k"),
                              .top_p = num(c, "top_p"),
                              .min_p = num(c, "min_p"),
                              .repetition_penalty = num(c, "repetition_penalty"),
                              .presence_penalty = num(c, "presence_penalty"),
                              .frequency_penalty = num(c, "frequency_penalty"),
                              .bias = bias};
    const asc_json *b = asc_json_get(c, "bias");
    for (o.n_bias = 0; o.n_bias < asc_json_len(b); o.n_bias++) {
        const asc_json *pair = asc_json_at(b, o.n_bias);
        bias[o.n_bias] = (asc_logit_bias){.id = (int32_t)asc_json_int(asc_json_at(pair, 0), -1),
                                          .add = asc_json_num(asc_json_at(pair, 1), NAN)};
    }
    for (int hot = 0; hot <= 1; hot++) {
        asc_sampler s;
        if (!hot) o.temperature = 0.0;
        if (hot) o.temperature = num(c, "temperature");
        assert_ok(ctx, asc_sampler_init(ctx, &o, (int64_t)v, prompt, n, &s));
        for (size_t i = 0; i < n_answer; i++) {
            if (s.count != NULL) s.count[answer[i]]++;
            if (s.before != NULL) s.before[answer[i]] = 1;
        }
        const int32_t id = asc_sampler_next(&s, x, number);
        if (!hot) assert_int_equal(id, asc_json_int(asc_json_get(c, "greedy"), -1));
        double sum = 0.0;
        for (size_t i = 0; hot && i < v; i++) sum += s.weights[i];
        for (size_t i = 0; hot && i < v; i++) {
            const double want = asc_json_num(asc_json_at(probs, i), NAN), got = s.weights[i] / sum;
            if ((want == 0.0) != (got == 0.0) || !(fabs(want - got) <= 4e-5 * want))
                fail_msg("case %zu, token %zu: %.9g, expected %.9g", number, i, got, want);
        }
        if (hot) assert_true(s.weights[id] > 0.0);
        asc_sampler_deinit(&s);
    }
}

static void as_transformers(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    char *text;
    size_t n;
    asc_json *root;
    assert_ok(ctx, asc_file_read(ctx, test_data("sampler.json"), 1 << 24, &text, &n));
    assert_ok(ctx, asc_json_parse(ctx, text, n, &root));
    const asc_json *cases = asc_json_get(root, "cases");
    assert_int_equal(asc_json_len(cases), 60);
    for (size_t i = 0; i < asc_json_len(cases); i++) one_case(ctx, i, asc_json_at(cases, i));
    asc_json_free(root);
    asc_free(ctx, text);
    test_ctx_end(ctx);
}

/* Shares of 20000 draws: four standard deviations of a count are 4*sqrt(20000*p*(1-p)) <= 283. */
static void shares(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    const float x[] = {1.0F, 0.0F, -1.0F, 2.0F, -8.0F};
    const asc_generate_options o = {.struct_size = sizeof o, .temperature = 1.0, .top_p = 0.97, .seed = 5};
    asc_sampler s;
    int count[5] = {0};
    assert_ok(ctx, asc_sampler_init(ctx, &o, 5, NULL, 0, &s));
    for (uint64_t i = 0; i < 20000; i++) count[asc_sampler_next(&s, x, i)]++;
    /* e^2, e^1, e^0, e^-1 hold 1 - 4e-5; without the fourth 0.968 < 0.97, so it stays and the fifth goes */
    const double sum = exp(1) + 1 + exp(-1) + exp(2),
                 want[] = {exp(1) / sum, 1 / sum, exp(-1) / sum, exp(2) / sum};
    for (int i = 0; i < 4; i++) assert_true(fabs(count[i] - 20000 * want[i]) <= 283);
    assert_int_equal(count[4], 0);
    asc_sampler_deinit(&s);
    test_ctx_end(ctx);
}

static void tops(void **state) {
    (void)state;
    const float x[] = {0.5F, 3.0F, 3.0F, -1.0F, 2.0F};
    asc_token_logprob t[5];
    asc_top_logprobs(x, 5, t, 5);
    const int32_t want[] = {1, 2, 4, 0, 3};
    double sum = 0.0;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(t[i].id, want[i]);
        sum += exp(t[i].logprob);
    }
    assert_true(fabs(sum - 1.0) < 1e-14);
    asc_top_logprobs(x, 5, t, 2);
    assert_int_equal(t[0].id, 1);
    assert_int_equal(t[1].id, 2);
}

static void refused(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    const asc_logit_bias far = {.id = 5, .add = 1}, nan_bias = {.id = 1, .add = NAN};
    const struct {
        asc_generate_options o;
        const char *says;
    } rows[] = {
        {{.temperature = -1}, "temperature"},
        {{.temperature = NAN}, "temperature"},
        {{.top_k = -1}, "top_k"},
        {{.top_p = 1.5}, "top_p"},
        {{.top_p = NAN}, "top_p"},
        {{.min_p = -0.1}, "min_p"},
        {{.repetition_penalty = -2}, "repetition"},
        {{.presence_penalty = INFINITY}, "presence"},
        {{.frequency_penalty = NAN}, "frequency"},
        {{.bias = &far, .n_bias = 1}, "token 5"},
        {{.bias = &nan_bias, .n_bias = 1}, "bias"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        asc_sampler s;
        assert_int_not_equal(asc_sampler_init(ctx, &rows[i].o, 5, NULL, 0, &s), ASC_OK);
        if (strstr(asc_error_message(ctx), rows[i].says) == NULL) fail_msg("%s", asc_error_message(ctx));
        asc_sampler_deinit(&s);
    }
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_transformers), cmocka_unit_test(shares),
                                       cmocka_unit_test(tops), cmocka_unit_test(refused)};
    return cmocka_run_group_tests_name("sampler", tests, NULL, NULL);
}
