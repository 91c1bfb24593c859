/* test_api_explain.c - /v1/explain gives the bits of `ascribe explain --json`; streams, saved results, pages
 * and limits; and embeddings against transformers' numbers. */
#include "alloc.h"
#include "api_test.h"
#include <math.h>

#define MODEL "goldens/zoo_gguf/llama-q4_1/model.gguf"

/* What depends on the clock, on what else the process holds in memory, and what only the command line knows:
 * itself and its files. */
static void drop_times(json_t *v) {
    static const char *const names[] = {"seconds",    "predicted_seconds", "predicted_least_seconds",
                                        "peak_bytes", "command",           "predicted_peak_bytes",
                                        "input"};
    const char *key;
    json_t *e;
    size_t i;
    for (i = 0; i < sizeof names / sizeof *names; i++) json_object_del(v, names[i]);
    json_array_foreach(v, i, e) drop_times(e);
    json_object_foreach(v, key, e) if (json_is_array(e)) drop_times(e);
}

static json_t *by_program(const char *model, const char *options) {
    char command[9000];
    const char *build = getenv("ASC_BUILD_ROOT");
    snprintf(command, sizeof command, "unset ASC_MODE; '%s/ascribe' explain '%s' %s --quiet --json -",
             build != NULL ? build : "build", model, options);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    size_t len = 0;
    char *text = read_all(fileno(p), &len);
    assert_int_equal(pclose(p), 0);
    json_t *v = json_loads(text, 0, NULL);
    assert_non_null(v);
    free(text);
    drop_times(v);
    return v;
}

static void compare_documents(json_t *want, json_t *got, const char *what) {
    const char *key;
    json_t *v;
    drop_times(got);
    json_object_foreach(want, key, v) if (!json_equal(v, json_object_get(got, key)))
        fail_msg("%s, \"%s\": %s, expected %s", what, key,
                 json_dumps(json_object_get(got, key), JSON_ENCODE_ANY), json_dumps(v, JSON_ENCODE_ANY));
    assert_int_equal(json_object_size(want), json_object_size(got));
}

static void same_bits(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"--prompt 'some words here' --target ' and'",
         "{\"prompt\": \"some words here\", \"target\": \" and\"}"},
        {"--prompt 'some words here' --generate 3 --features token --per-token --method saliency",
         "{\"prompt\": \"some words here\", \"generate\": 3, \"features\": \"token\", \"per_token\": true,"
         "\"method\": \"saliency\"}"},
        {"--ids 5,9,20 --target-ids 7 --method integrated-gradients --rule gauss-legendre --steps 4 "
         "--baseline eos",
         "{\"ids\": [5, 9, 20], \"target_ids\": [7], \"method\": \"integrated-gradients\","
         "\"rule\": \"gauss-legendre\", \"steps\": 4, \"baseline\": \"eos\"}"},
        {"--prompt 'a b c d e' --method shapley-value-sampling --samples 6 --seed 4 --versus ' b' --target ' "
         "a'",
         "{\"prompt\": \"a b c d e\", \"method\": \"shapley-value-sampling\", \"samples\": 6, \"seed\": 4,"
         "\"versus\": \" b\", \"target\": \" a\", \"save\": null, \"stream\": false}"},
        {"--prompt 'a b' --dry-run", "{\"prompt\": \"a b\", \"dry_run\": true}"},
    };
    char model[4200];
    snprintf(model, sizeof model, "%s", test_data(MODEL));
    server *s = api_up(model, (serve_options){0});
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            json_t *want = by_program(model, rows[i][0]);
            reply r = api_call(s, "POST", "/v1/explain", rows[i][1]);
            if (r.status != 200) fail_msg("%s: %s", rows[i][1], r.body);
            assert_string_equal(reply_header(&r, "Content-Type"), "application/json");
            compare_documents(want, r.json, rows[i][0]);
            json_decref(want);
            reply_free(&r);
        }
    }
    api_down(s);
}

static char *base64(const unsigned char *p, size_t n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *out = calloc(1, (n + 2) / 3 * 4 + 1), *o = out;
    for (size_t i = 0; i < n; i += 3) {
        const uint32_t b =
            (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0u) | (i + 2 < n ? p[i + 2] : 0u);
        for (int k = 0; k < 4; k++) *o++ = i + (size_t)k > n ? '=' : digits[b >> (18 - 6 * k) & 63];
    }
    return out;
}

/* A net gets a picture as base64, numbers as lists; the command line gets the same from files. */
static void nets(void **state) {
    (void)state;
    enum { N = 3 * 8 * 8 };
    char model[4200], picture[4200], npy[TEST_TMP], options[9000];
    float x[N];
    snprintf(model, sizeof model, "%s", test_data("encoders/deit"));
    snprintf(picture, sizeof picture, "%s", test_data("image/grey.png"));
    const int fd = mkstemps(test_tmp_name(npy, "asc-api-XXXXXX.npy"), 4);
    assert_true(fd >= 0);
    json_t *list = json_array();
    for (size_t i = 0; i < N; i++) {
        x[i] = (float)((int)(i * 37 % 64) - 32) / 16.0F; /* exact in both texts */
        if (i % 64 == 0) json_array_append_new(list, json_array());
        json_t *channel = json_array_get(list, i / 64);
        if (i % 8 == 0) json_array_append_new(channel, json_array());
        json_array_append_new(json_array_get(channel, i / 8 % 8), json_real((double)x[i]));
    }
    FILE *out = fdopen(fd, "wb");
    assert_non_null(out);
    fprintf(out, "\x93NUMPY%c%c%c%c%-117s\n", 1, 0, 118, 0,
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 8, 8), }");
    fwrite(x, sizeof *x, N, out);
    assert_int_equal(fclose(out), 0);
    FILE *in = fopen(picture, "rb");
    assert_non_null(in);
    size_t len;
    unsigned char *bytes = (unsigned char *)read_all(fileno(in), &len);
    fclose(in);
    char *b64 = base64(bytes, len);
    free(bytes);
    in = fopen(npy, "rb");
    assert_non_null(in);
    bytes = (unsigned char *)read_all(fileno(in), &len);
    fclose(in);
    char *npy64 = base64(bytes, len);
    server *s = api_up(model, (serve_options){0});
    json_t *q = json_pack("{s:s,s:s,s:i,s:i}", "image", b64, "method", "integrated-gradients", "steps", 4,
                          "target", 1);
    json_object_set_new(q, "rule", json_string("gauss-legendre"));
    json_t *p = json_pack("{s:[O],s:s,s:s}", "input", list, "method", "feature-ablation", "baseline", "zero");
    for (int k = 0; k < 3; k++) {
        if (k == 2) json_object_set_new(p, "input", json_pack("{s:s}", "npy_b64", npy64));
        char *body = json_dumps(k == 0 ? q : p, 0);
        if (k == 0)
            snprintf(options, sizeof options,
                     "--image '%s' --method integrated-gradients --rule gauss-legendre --steps 4 --target 1",
                     picture);
        else
            snprintf(options, sizeof options, "--input '%s' --method feature-ablation --baseline zero", npy);
        json_t *want = by_program(model, options);
        reply r = api_call(s, "POST", "/v1/explain", body);
        if (r.status != 200) fail_msg("%s", r.body);
        if (k == 1) json_object_set(r.json, "input_sha256", at(want, "input_sha256")); /* lists are f64 */
        compare_documents(want, r.json, options);
        json_decref(want);
        reply_free(&r);
        free(body);
    }
    static const char *const bad[][2] = {
        {"{\"prompt\": \"a\"}", "prompt"},
        {"{\"image\": \"AAAA\"}", NULL},
        {"{\"image\": \"%%%\"}", "image"},
        {"{\"input\": [1, \"a\"]}", "input"},
        /* damaged, which is the client's fault: a PNG's header, an array's */
        {"{\"image\": \"iVBORw0KGgoAAAANSUhEUgAAAAAAAAAACAIAAAAA\"}", "image"},
        {"{\"input\": {\"npy_b64\": \"k05VTVBZAQD//3s=\"}}", "input"},
        {"{}", NULL}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        reply r = api_call(s, "POST", "/v1/explain", bad[i][0]);
        if (r.status != 400 || (bad[i][1] != NULL && strstr(r.body, bad[i][1]) == NULL))
            fail_msg("%s: %s", bad[i][0], r.body);
        reply_free(&r);
    }
    json_decref(p);
    json_decref(q);
    json_decref(list);
    free(b64);
    free(npy64);
    free(bytes);
    unlink(npy);
    api_down(s);
}

typedef struct events {
    char names[512], id[32], command[512];
    json_t *result;
} events;

static void hear(void *self, const char *name, const char *data) {
    events *e = self;
    json_t *v = json_loads(data, 0, NULL);
    assert_non_null(v);
    if (strcmp(name, "progress") != 0) {
        strcat(e->names, name);
        strcat(e->names, " ");
    }
    if (strcmp(name, "saved") == 0) snprintf(e->id, sizeof e->id, "%s", text_at(v, "id"));
    if (strcmp(name, "command") == 0) snprintf(e->command, sizeof e->command, "%s", text_at(v, "command"));
    if (strcmp(name, "result") == 0) e->result = json_incref(v);
    json_decref(v);
}

static void streams_and_links(void **state) {
    (void)state;
    server *s = api_up(test_data(MODEL), (serve_options){0});
    events e = {.result = NULL};
    char path[64];
    reply r = api_call(s, "POST", "/v1/explain",
                       "{\"prompt\": \"some words\", \"target\": \" here\", \"stream\": true, \"save\": true,"
                       "\"method\": \"integrated-gradients\"}");
    assert_int_equal(r.status, 200);
    each_event(&r, hear, &e);
    assert_string_equal(e.names, "saved result command ");
    assert_int_equal(strlen(e.id), 16);
    assert_non_null(strstr(e.command, "--method integrated-gradients"));
    reply_free(&r);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "/v1/results/%s%s", e.id, i == 0 ? "" : ".json");
        r = api_call(s, "GET", path, NULL);
        assert_int_equal(r.status, 200);
        assert_true(json_equal(r.json, e.result));
        reply_free(&r);
    }
    snprintf(path, sizeof path, "/v1/results/%s.html", e.id);
    r = api_call(s, "GET", path, NULL);
    assert_int_equal(r.status, 200);
    assert_non_null(strstr(r.body, "<html"));
    assert_non_null(strstr(r.head, "sandbox"));
    reply_free(&r);
    r = api_call(s, "GET", "/v1/results/0123456789abcdef", NULL);
    assert_int_equal(r.status, 404);
    reply_free(&r);
    r = api_call(s, "POST", "/v1/explain", "{\"prompt\": \"some words\", \"save\": true}");
    assert_int_equal(strlen(reply_header(&r, "X-Result-Id")), 16);
    reply_free(&r);
    r = api_call(s, "POST", "/v1/explain", "{\"prompt\": \"some words\", \"format\": \"html\"}");
    assert_int_equal(r.status, 200);
    assert_non_null(strstr(reply_header(&r, "Content-Type"), "text/html"));
    assert_non_null(strstr(r.body, "<html"));
    reply_free(&r);
    json_decref(e.result);
    api_down(s);
}

/* What would be too much is refused before it runs. A generation counts 1 MiB besides what it holds
 * (asc_generate_bytes): so little allows none, 4 MiB a short one. */
static void limits(void **state) {
    (void)state;
    server *s = api_up(test_data(MODEL), (serve_options){.max_tokens = 8, .max_memory_bytes = 1 << 20});
    static const char small[] = "{\"prompt\": \"a\", \"max_tokens\": 2}";
    reply r = api_call(s, "POST", "/v1/completions", small);
    assert_int_equal(r.status, 413);
    assert_non_null(strstr(r.body, "too_much_memory"));
    reply_free(&r);
    api_down(s);
    s = api_up(test_data(MODEL), (serve_options){.max_tokens = 8, .max_memory_bytes = 4 << 20});
    static const char *const rows[][2] = {
        {"/v1/explain", "{\"prompt\": \"a b c d e f g h i j k l m n o p\", \"target\": \" q\"}"},
        {"/v1/completions", "{\"prompt\": \"a b c d\", \"max_tokens\": 9}"},
    };
    for (size_t i = 0; i < 2; i++) {
        r = api_call(s, "POST", rows[i][0], rows[i][1]);
        if (r.status != 413) fail_msg("%s: %d %s", rows[i][1], r.status, r.body);
        reply_free(&r);
    }
    r = api_call(s, "POST", "/v1/completions", small);
    assert_int_equal(r.status, 200);
    reply_free(&r);
    api_down(s);
}

static double peak_priced(server *s, const char *body) {
    reply r = api_call(s, "POST", "/v1/explain", body);
    if (r.status != 200) fail_msg("%s: %d %s", body, r.status, r.body);
    const double bytes = json_number_value(at(r.json, "predicted_peak_bytes"));
    reply_free(&r);
    return bytes;
}

/* The bench that questions are priced on is one for all: what one of them took must not be in the next one's
 * price, or a single large question would have all later ones refused. */
static void large_prices_are_forgotten(void **state) {
    (void)state;
    static const char small[] = "{\"prompt\": \"a b\", \"target\": \" c\", \"dry_run\": true}";
    server *s = api_up(test_data(MODEL), (serve_options){0});
    (void)peak_priced(s, small); /* its programs stay */
    const double before = peak_priced(s, small);
    serve_bench *b = server_lock_bench(s);
    void *p = asc_alloc(b->ctx, ASC_MEM_GENERAL, (size_t)64 << 20);
    assert_non_null(p);
    asc_free(b->ctx, p);
    server_unlock_bench(s);
    const double after = peak_priced(s, small);
    if (fabs(after - before) > 1e5) fail_msg("%.0f bytes, then %.0f", before, after);
    api_down(s);
}

static double f32_at(const char *base64, size_t i) {
    unsigned char raw[4];
    for (size_t k = 0; k < 4; k++) { /* byte 4i + k of the decoded text */
        const size_t byte = 4 * i + k, group = byte / 3 * 4, in = byte % 3;
        uint32_t bits = 0;
        for (size_t c = 0; c < 4; c++) {
            static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
            const char *at_digit = strchr(digits, base64[group + c]);
            bits = bits << 6 | (base64[group + c] == '=' ? 0u : (uint32_t)(at_digit - digits));
        }
        raw[k] = (unsigned char)(bits >> (16 - 8 * in));
    }
    float f;
    memcpy(&f, raw, sizeof f);
    return (double)f;
}

/* Against float64 numbers of transformers; f32 layers of width 12 lose some 2e-5 (test_encoder.c). */
static void embeddings(void **state) {
    (void)state;
    char folder[4200], file[4300], body[1200];
    snprintf(folder, sizeof folder, "%s", test_data("encoders/mpnet"));
    snprintf(file, sizeof file, "%s/case.json", folder);
    json_t *c = json_load_file(file, 0, NULL), *want = at(c, "cases.0.embedding"),
           *ids = at(c, "cases.0.input_ids");
    if (want == NULL) want = at(c, "embedding"), ids = at(c, "input_ids");
    assert_non_null(want);
    char *list = json_dumps(ids, JSON_COMPACT);
    server *s = api_up(folder, (serve_options){0});
    for (int kind = 0; kind < 3; kind++) {
        snprintf(body, sizeof body,
                 kind == 0   ? "{\"input\": %s, \"model\": \"mpnet\"}"
                 : kind == 1 ? "{\"input\": [%s, [3, 4]], \"encoding_format\": \"float\"}"
                             : "{\"input\": [%s], \"encoding_format\": \"base64\"}",
                 list);
        reply r = api_call(s, "POST", "/v1/embeddings", body);
        if (r.status != 200) fail_msg("%s: %s", body, r.body);
        assert_int_equal(json_array_size(at(r.json, "data")), kind == 1 ? 2 : 1);
        json_t *e = at(r.json, "data.0.embedding");
        if (kind < 2) assert_int_equal(json_array_size(e), json_array_size(want));
        for (size_t i = 0; i < json_array_size(want); i++) {
            const double got =
                kind < 2 ? json_real_value(json_array_get(e, i)) : f32_at(json_string_value(e), i);
            assert_true(fabs(got - json_real_value(json_array_get(want, i))) <= 2e-5);
        }
        assert_int_equal(json_integer_value(at(r.json, "usage.prompt_tokens")),
                         json_array_size(ids) + (kind == 1 ? 2 : 0));
        reply_free(&r);
    }
    static const char *const bad[] = {"{\"input\": []}",
                                      "{\"input\": [[]]}",
                                      "{\"input\": [\"a\", 3]}",
                                      "{\"input\": 3}",
                                      "{\"input\": [99999999]}",
                                      "{\"input\": [1], \"dimensions\": 2}",
                                      "{\"input\": [1], \"encoding_format\": \"hex\"}",
                                      "{}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        reply r = api_call(s, "POST", "/v1/embeddings", bad[i]);
        if (r.status != 400 || text_at(r.json, "error.param") == NULL) fail_msg("%s: %s", bad[i], r.body);
        reply_free(&r);
    }
    reply r = api_call(s, "POST", "/v1/completions", "{\"prompt\": \"a\"}");
    assert_int_equal(r.status, 400);
    assert_string_equal(text_at(r.json, "error.code"), "model_cannot_generate");
    reply_free(&r);
    free(list);
    json_decref(c);
    api_down(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits),
                                       cmocka_unit_test(nets),
                                       cmocka_unit_test(streams_and_links),
                                       cmocka_unit_test(limits),
                                       cmocka_unit_test(large_prices_are_forgotten),
                                       cmocka_unit_test(embeddings)};
    return cmocka_run_group_tests_name("explain over HTTP", tests, NULL, NULL);
}
