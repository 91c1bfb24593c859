/* test_model_run.c - inner values read and replaced in a run: against transformers in float64
 * (scripts/refs/model_run_fixtures.py), against runs without, refusals, memory running out. */
#include "harness.h"
#include "model.h"
#include <math.h>

enum { N = 9, MAX_NUMBERS = 2048 };
static const int32_t ids[N] = {5, 14, 11, 9, 18, 3, 7, 12, 10};
#define LLAMA "hf/llama-llama3"

/* Row-major numbers of an array, as doubles. */
static double *numbers(const asc_array *a, size_t *n) {
    *n = (size_t)asc_array_count(a);
    double *v = calloc(*n + 1, sizeof *v);
    asc_array_get(a, 0, (int64_t)*n, v);
    return v;
}

/* ---- transformers ---- */

typedef struct line {
    char model[64], kind[24], site[48];
    int token, n;
    double v[MAX_NUMBERS];
} line;

static bool read_line(FILE *f, line *l) {
    static char text[65536];
    int used;
    if (fgets(text, sizeof text, f) == NULL) return false;
    assert_int_equal(sscanf(text, "%63s %23s %47s %d%n", l->model, l->kind, l->site, &l->token, &used), 4);
    char *at = text + used, *end;
    for (l->n = 0; l->n < MAX_NUMBERS; l->n++, at = end) {
        l->v[l->n] = strtod(at, &end);
        if (end == at) break;
    }
    return l->n > 0;
}

/* The width that the site has in this model: from a reading of it. */
static int64_t width_of(asc_ctx *ctx, asc_model *m, const char *site) {
    asc_model_run_options o = {.struct_size = sizeof o, .ids = ids, .n = 2, .read = &site, .n_read = 1};
    asc_array a;
    assert_ok(ctx, asc_model_run(m, &o, &a, NULL));
    int64_t w = a.shape.dims[1];
    asc_array_free(ctx, &a);
    return w;
}

static void compare(asc_ctx *ctx, asc_model *m, const line *l, double tolerance) {
    static double put[N * 512];
    char last[48];
    snprintf(last, sizeof last, "blocks.%lld.out", (long long)asc_model_get_info(m).n_layers - 1);
    const bool encoder = asc_model_get_info(m).encoder, head = strcmp(l->kind, "head") == 0;
    const bool value = strcmp(l->kind, "value") == 0, follows = strcmp(l->kind, "follows") == 0;
    const char *read = value ? l->site : last;
    const size_t token = (size_t)(l->token < 0 ? 0 : l->token);
    asc_site_patch p = {.site = l->site, .values = {.elem = ASC_ELEM_F64, .data = put}};
    asc_model_run_options o = {.struct_size = sizeof o, .ids = ids, .n = N, .read = &read, .n_read = 1};
    o.head = value ? ASC_RUN_NOTHING : encoder ? ASC_RUN_CLASSES : ASC_RUN_LOGITS;
    if (!value && !head) {
        int64_t w = width_of(ctx, m, l->site), rows = l->token < 0 ? N : 1;
        assert_true(w <= 512);
        for (int64_t t = 0; t < rows; t++)
            for (int64_t k = 0; k < w; k++)
                put[t * w + k] = sin(0.7 * (double)(t + (int64_t)token) + 0.3 * (double)k);
        p.values.shape = ASC_SHAPE(rows, w);
        p.tokens = l->token < 0 ? NULL : &token;
        p.n_tokens = 1;
        o.patches = &p;
        o.n_patches = 1;
    }
    asc_array a, h;
    assert_ok(ctx, asc_model_run(m, &o, &a, &h));
    size_t n;
    double *have = numbers(value || follows ? &a : &h, &n), scale = 0.0;
    int64_t w = value || follows ? a.shape.dims[1] : 1;
    if (!follows) assert_int_equal(n, l->n);
    for (int i = 0; i < l->n; i++) scale = fmax(scale, fabs(l->v[i]));
    for (int i = 0; i < l->n; i++) {
        double x = follows ? have[(i / 8) * w + i % 8] : have[i];
        if (!(fabs(x - l->v[i]) <= tolerance * scale))
            fail_msg("%s %s %s token %d, number %d: %.10g, transformers %.10g", l->model, l->kind, l->site,
                     l->token, i, x, l->v[i]);
    }
    free(have);
    asc_array_free(ctx, &a);
    asc_array_free(ctx, &h);
}

/* Relative to the largest number. transformers keeps rotary tables in f32: 6e-8 of an angle of up to 9. On
 * the processor f32 through up to four blocks: 64 eps L. */
static void against_transformers(void **state) {
    (void)state;
    static const struct {
        const char *device, *mode;
        double tolerance;
    } places[] = {{"reference", NULL, 4e-6},
                  {"cpu", "deferred", 3e-5},
                  {"cpu", "eager", 3e-5},
                  {"cpu", "compiled", 3e-5}};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        FILE *f = fopen(test_data("models/model_run.txt"), "r");
        asc_ctx *ctx = test_ctx(places[p].device, places[p].mode);
        asc_model *m = NULL;
        char open[64] = "";
        size_t n = 0;
        assert_non_null(f);
        static line l;
        for (; read_line(f, &l); n++) {
            if (strcmp(open, l.model) != 0) {
                asc_model_close(m);
                m = NULL;
                assert_ok(ctx, asc_model_open(ctx, test_data(l.model), NULL, &m));
                strcpy(open, l.model);
            }
            compare(ctx, m, &l, places[p].tolerance);
        }
        assert_int_equal(n, 4 * (1 + 3 * 7 + 4) + 2 * 2);
        asc_model_close(m);
        test_ctx_end(ctx);
        fclose(f);
    }
}

/* ---- what must hold ---- */

static asc_model *open_model(asc_ctx *ctx, const char *name) {
    asc_model *m;
    assert_ok(ctx, asc_model_open(ctx, test_data(name), NULL, &m));
    return m;
}

/* Reading every site at once changes nothing, and putting back what was read gives the same bits. */
static void every_site_put_back(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_model *m = open_model(ctx, LLAMA);
    size_t v = (size_t)asc_model_get_info(m).n_vocab, n_sites = 0;
    static char names[64][64];
    const char *read[64];
    asc_array got[64], head, again;
    float *plain = calloc(3 * v, sizeof *plain);
    assert_ok(ctx, asc_model_logits(m, ids, N, 3, plain));
    while (n_sites < 64 && asc_model_site(m, n_sites, names[n_sites], sizeof names[0])) {
        read[n_sites] = names[n_sites];
        n_sites++;
    }
    asc_model_run_options o = {.struct_size = sizeof o, .ids = ids, .n = N, .read = read, .n_read = n_sites};
    o.head = ASC_RUN_LOGITS;
    o.n_rows = 3;
    assert_ok(ctx, asc_model_run(m, &o, got, &head));
    assert_int_equal(head.shape.dims[0], 3);
    for (size_t i = 0; i < 3 * v; i++) assert_true(fabsf(((const float *)head.data)[i] - plain[i]) <= 1e-4f);
    o.n_read = 0;
    for (size_t i = 0; i < n_sites; i++) {
        assert_int_equal(got[i].shape.dims[0], N);
        asc_site_patch p = {.site = read[i], .values = got[i]};
        o.patches = &p;
        o.n_patches = 1;
        assert_ok(ctx, asc_model_run(m, &o, NULL, &again));
        for (size_t k = 0; k < 3 * v; k++) {
            double d = fabs((double)((const float *)again.data)[k] - (double)((const float *)head.data)[k]);
            if (d > 1e-5) fail_msg("%s put back: logit %zu is off by %g", read[i], k, d);
        }
        asc_array_free(ctx, &again);
    }
    for (size_t i = 0; i < n_sites; i++) asc_array_free(ctx, &got[i]);
    asc_array_free(ctx, &head);
    free(plain);
    asc_model_close(m);
    test_ctx_end(ctx);
}

/* A patch of the entry is what other ids would have put there; later patches win over earlier ones. */
static void embeddings_of_other_ids(void **state) {
    (void)state;
    static const int32_t others[N] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    asc_ctx *ctx = test_ctx("reference", NULL);
    asc_model *m = open_model(ctx, LLAMA);
    const char *embed = "embed", *out = "blocks.1.mlp.out";
    asc_array e, want, have, v;
    asc_model_run_options o = {.struct_size = sizeof o, .ids = others, .n = N, .read = &embed, .n_read = 1};
    o.head = ASC_RUN_LOGITS;
    assert_ok(ctx, asc_model_run(m, &o, &e, &want));
    asc_site_patch p[2] = {{.site = embed, .values = e}};
    o.ids = ids;
    o.patches = p;
    o.n_patches = 1;
    o.n_read = 0;
    assert_ok(ctx, asc_model_run(m, &o, NULL, &have));
    for (int64_t i = 0; i < asc_array_count(&want); i++)
        assert_true(fabs(((const double *)want.data)[i] - ((const double *)have.data)[i]) < 1e-12);
    asc_array_free(ctx, &have);
    double *rows = calloc((size_t)e.shape.dims[1] * 2, sizeof *rows);
    const size_t tokens[2] = {1, 8}, one[1] = {8};
    for (int64_t k = 0; k < e.shape.dims[1]; k++) rows[k] = 7.0;
    p[0] = (asc_site_patch){.site = out, .tokens = tokens, .n_tokens = 2};
    p[0].values = (asc_array){.elem = ASC_ELEM_F64, .shape = ASC_SHAPE(2, e.shape.dims[1]), .data = rows};
    p[1] = p[0];
    p[1].tokens = one;
    p[1].n_tokens = 1;
    p[1].values.shape.dims[0] = 1;
    o.n_patches = 2;
    o.read = &out;
    o.n_read = 1;
    assert_ok(ctx, asc_model_run(m, &o, &v, &have));
    assert_true(((const double *)v.data)[1 * v.shape.dims[1]] == 7.0);
    assert_true(((const double *)v.data)[8 * v.shape.dims[1]] == 7.0);
    assert_true(((const double *)v.data)[0] != 7.0);
    free(rows);
    asc_array_free(ctx, &e);
    asc_array_free(ctx, &want);
    asc_array_free(ctx, &have);
    asc_array_free(ctx, &v);
    asc_model_close(m);
    test_ctx_end(ctx);
}

/* ---- refusals ---- */

static void refused(asc_ctx *ctx, asc_model *m, const asc_model_run_options *o, asc_status code,
                    const char *part) {
    asc_array a[2], h;
    assert_int_equal(asc_model_run(m, o, a, &h), code);
    if (strstr(asc_error_message(ctx), part) == NULL)
        fail_msg("'%s' lacks '%s'", asc_error_message(ctx), part);
    assert_null(h.data);
}

static void refusals(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_model *m = open_model(ctx, LLAMA), *e = open_model(ctx, "encoders/xlm-roberta");
    const char *nowhere = "blocks.99.out", *site = "embed", *pooled = "pooled";
    float values[2] = {1.0f, NAN};
    const size_t far = N;
    const asc_model_run_options plain = {.struct_size = sizeof plain, .ids = ids, .n = N};
    asc_model_run_options o = plain;
    o.read = &nowhere;
    o.n_read = 1;
    refused(ctx, m, &o, ASC_NOT_FOUND, "blocks.99.out");
    o = plain;
    o.head = ASC_RUN_CLASSES;
    refused(ctx, m, &o, ASC_FAILED_PRECONDITION, "no text encoder");
    o.head = ASC_RUN_LOGITS;
    refused(ctx, e, &o, ASC_FAILED_PRECONDITION, "text encoder");
    o.n_rows = N + 1;
    refused(ctx, m, &o, ASC_INVALID_ARGUMENT, "10 rows");
    o = plain;
    o.n = 0;
    refused(ctx, m, &o, ASC_INVALID_ARGUMENT, "no tokens");
    asc_site_patch p = {.site = site, .values = {ASC_ELEM_F32, ASC_SHAPE(2, 2), values}};
    o = plain;
    o.patches = &p;
    o.n_patches = 1;
    refused(ctx, m, &o, ASC_INVALID_ARGUMENT, "a row for each of 9 tokens");
    p.values.shape.dims[0] = 1;
    p.tokens = &far;
    p.n_tokens = 1;
    refused(ctx, m, &o, ASC_OUT_OF_RANGE, "token 9 of 9");
    const size_t near = 3;
    p.tokens = &near;
    refused(ctx, m, &o, ASC_INVALID_ARGUMENT, "not finite, at place 1");
    values[1] = 2.0f;
    refused(ctx, m, &o, ASC_INVALID_ARGUMENT, "the values for it are 2");
    p.values.elem = ASC_ELEM_I32;
    refused(ctx, m, &o, ASC_INVALID_ARGUMENT, "must be floats");
    p.site = pooled;
    refused(ctx, e, &o, ASC_FAILED_PRECONDITION, "cannot be replaced");
    const int32_t types[N] = {9};
    o = plain;
    o.types = types;
    refused(ctx, e, &o, ASC_OUT_OF_RANGE, "token type 9");
    o = plain;
    o.struct_size = 8;
    refused(ctx, m, &o, ASC_INVALID_ARGUMENT, "options are missing");
    asc_model_close(m);
    asc_model_close(e);
    test_ctx_end(ctx);
}

static void memory_runs_out(void **state) {
    (void)state;
    test_alloc a = {0};
    for (long k = 0, failed = 1; failed != 0; k++) {
        asc_ctx_options o = {
            .struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &a, .n_threads = 1};
        asc_ctx *ctx = NULL;
        asc_model *m;
        a = (test_alloc){0};
        assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
        assert_ok(ctx, asc_model_open(ctx, test_data(LLAMA), NULL, &m));
        const char *read[2] = {"embed", "blocks.0.mlp.act"};
        static float row[4096];
        const size_t token = 2;
        asc_site_patch p = {.site = "blocks.0.out", .tokens = &token, .n_tokens = 1};
        p.values = (asc_array){ASC_ELEM_F32, ASC_SHAPE(1, asc_model_get_info(m).d_model), row};
        asc_model_run_options r = {.struct_size = sizeof r,
                                   .ids = ids,
                                   .n = N,
                                   .read = read,
                                   .n_read = 2,
                                   .patches = &p,
                                   .n_patches = 1,
                                   .head = ASC_RUN_LOGITS};
        asc_array v[2], h;
        a.fail_at = a.count + 1 + 7 * k; /* every seventh: hundreds are the graph's */
        asc_status st = asc_model_run(m, &r, v, &h);
        failed = a.fail_at <= a.count;
        a.fail_at = 0;
        assert_true(st == ASC_OK ? v[0].data != NULL && h.data != NULL : v[0].data == NULL && h.data == NULL);
        if (st != ASC_OK) assert_int_equal(st, ASC_RESOURCE_EXHAUSTED);
        for (int i = 0; i < 2; i++) asc_array_free(ctx, &v[i]);
        asc_array_free(ctx, &h);
        asc_model_close(m);
        asc_ctx_destroy(ctx);
        assert_int_equal(a.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_transformers),    cmocka_unit_test(every_site_put_back),
        cmocka_unit_test(embeddings_of_other_ids), cmocka_unit_test(refusals),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
