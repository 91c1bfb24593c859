/* test_decoder_families.c - a tiny random model of every family (tests/data/decoders, made by
 * scripts/refs/decoder_fixtures.py with transformers in float64): logits, the log-probability of a token and
 * its gradient by the embeddings, on the reference and the cpu, and cached against recomputed generation. */
#include "exec.h"
#include "file.h"
#include "harness.h"
#include "json.h"
#include "model.h"
#include <dirent.h>
#include <math.h>

enum { MAX_FAMILIES = 128, MAX_IDS = 600 };
static char families[MAX_FAMILIES][64]; /* every fixture that the folder has, sorted */
static size_t n_families;

static int by_text(const void *a, const void *b) { return strcmp(a, b); }

static int find_fixtures(void **state) {
    (void)state;
    char path[4096];
    snprintf(path, sizeof path, "%s", test_data("decoders"));
    DIR *d = opendir(path);
    struct dirent *e;
    while (d != NULL && (e = readdir(d)) != NULL) {
        const size_t n = strlen(e->d_name);
        if (n < 6 || n >= 64 || strcmp(e->d_name + n - 5, ".gguf") != 0 || n_families == MAX_FAMILIES)
            continue;
        snprintf(families[n_families++], 64, "%.*s", (int)(n - 5), e->d_name);
    }
    if (d != NULL) closedir(d);
    qsort(families, n_families, sizeof families[0], by_text);
    return n_families >= 52 ? 0 : -1; /* one that is lost is not noticed otherwise */
}

typedef struct fixture {
    asc_ctx *ctx;
    asc_model *m;
    asc_json *root;
    char *text;
} fixture;

static fixture open_fixture(const char *name, const char *device, const char *mode) {
    fixture f = {.ctx = test_ctx(device, mode)};
    char file[128];
    size_t n;
    snprintf(file, sizeof file, "decoders/%s.gguf", name);
    assert_ok(f.ctx, asc_model_open(f.ctx, test_data(file), NULL, &f.m));
    snprintf(file, sizeof file, "decoders/%s.json", name);
    assert_ok(f.ctx, asc_file_read(f.ctx, test_data(file), 1 << 24, &f.text, &n));
    assert_ok(f.ctx, asc_json_parse(f.ctx, f.text, n, &f.root));
    return f;
}

static void close_fixture(fixture *f) {
    asc_json_free(f->root);
    asc_free(f->ctx, f->text);
    asc_model_close(f->m);
    test_ctx_end(f->ctx);
}

static size_t ids_of(const asc_json *list, int32_t *out) {
    size_t n = asc_json_len(list);
    assert_true(n > 0 && n <= MAX_IDS);
    for (size_t i = 0; i < n; i++) out[i] = (int32_t)asc_json_int(asc_json_at(list, i), -1);
    return n;
}

/* Every value within `rel` of the largest one expected. */
static void compare(const char *name, const char *what, const asc_json *want, const double *got, size_t n,
                    double rel) {
    double big = 1.0;
    assert_int_equal(asc_json_len(want), n);
    for (size_t i = 0; i < n; i++) big = fmax(big, fabs(asc_json_num(asc_json_at(want, i), NAN)));
    for (size_t i = 0; i < n; i++) {
        double w = asc_json_num(asc_json_at(want, i), NAN);
        if (!(fabs(w - got[i]) <= rel * big))
            fail_msg("%s: %s %zu: %.12g, expected %.12g", name, what, i, got[i], w);
    }
}

static void check_case(fixture *f, const char *name, const asc_json *k, double rel) {
    asc_ctx *ctx = f->ctx;
    asc_decoder *d = &f->m->decoder;
    int32_t ids[MAX_IDS];
    size_t n = ids_of(asc_json_get(k, "input_ids"), ids);
    int64_t rows = asc_json_int(asc_json_get(k, "rows"), 0);
    int32_t target = (int32_t)asc_json_int(asc_json_get(k, "target"), -1);
    size_t v = (size_t)d->cfg.n_vocab, n_grad = n * (size_t)d->cfg.d_model;
    double *logits = calloc((size_t)rows * v, sizeof *logits), *grad = calloc(n_grad, sizeof *grad), score;
    asc_scope_begin(ctx);
    asc_tensor *x = asc_decoder_embed(d, ids, 1, (int64_t)n), *g;
    asc_decoder_run run = {.x = x, .tail = rows};
    asc_tensor *y = asc_decoder_logits(d, asc_decoder_hidden(d, &run), NULL, NULL);
    asc_tensor *last = asc_log_softmax(ctx, asc_slice(ctx, y, 1, rows - 1, 1));
    asc_tensor *s = asc_take_last(ctx, last, asc_from_i32(ctx, ASC_SHAPE(1, 1), &target));
    asc_grad(ctx, s, NULL, &x, 1, &g);
    assert_ok(ctx, asc_read_f64(ctx, y, logits, (size_t)rows * v));
    assert_ok(ctx, asc_read_f64(ctx, s, &score, 1));
    assert_ok(ctx, asc_read_f64(ctx, g, grad, n_grad));
    assert_ok(ctx, asc_scope_end(ctx));
    compare(name, "logit", asc_json_get(k, "logits"), logits, (size_t)rows * v, rel);
    assert_true(fabs(score - asc_json_num(asc_json_get(k, "score"), NAN)) <= rel * 10.0);
    const asc_json *want = asc_json_get(k, "gradient");
    if (asc_json_len(want) > 0) compare(name, "gradient", want, grad, n_grad, rel);
    free(logits);
    free(grad);
}

static void check_all(const char *device, const char *mode, double rel) {
    for (size_t i = 0; i < n_families; i++) {
        fixture f = open_fixture(families[i], device, mode);
        const asc_json *cases = asc_json_get(f.root, "cases");
        assert_true(asc_json_len(cases) > 0);
        for (size_t c = 0; c < asc_json_len(cases); c++)
            check_case(&f, families[i], asc_json_at(cases, c), rel);
        close_fixture(&f);
    }
}

/* f64 against f64. Metadata holds numbers as f32 (2^-25 of an epsilon of 1e-6 or a scale of 0.3, through a
 * few layers) and the fixtures have 12 digits. */
static void numbers_reference(void **state) {
    (void)state;
    check_all("reference", "deferred", 1e-10);
}

/* f32: sums of 16 to 64 products in up to 7 layers, each layer adding a few 2^-24 of the largest value;
 * gradients pass the layers twice. */
static void numbers_cpu(void **state) {
    (void)state;
    check_all("cpu", "deferred", 2e-5);
    check_all("cpu", "eager", 2e-5);
}

/* Keys kept or recomputed: the same tokens and, but for the rounding of other shapes, the same logits. phi3
 * crosses the length at which longrope takes other frequencies. */
static void kept_keys_change_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < n_families; i++) {
        fixture f = open_fixture(families[i], "reference", "deferred");
        int32_t ids[MAX_IDS] = {5, 17, 30, 4, 8, 9, 21, 5, 6, 11, 29, 3, 7}, out[8];
        size_t n = 13, n_out, v = (size_t)f.m->decoder.cfg.n_vocab;
        float logits[256];
        assert_true(v <= 256);
        asc_generate_options o = {.struct_size = sizeof o, .max_tokens = 6, .ignore_eos = true};
        assert_ok(f.ctx, asc_generate(f.m, ids, n, &o, out, &n_out));
        assert_int_equal(n_out, 6);
        for (size_t k = 0; k < n_out; k++) {
            assert_ok(f.ctx, asc_model_logits(f.m, ids, n, 1, logits));
            int32_t best = 0;
            for (size_t t = 1; t < v; t++) best = logits[t] > logits[best] ? (int32_t)t : best;
            if (out[k] != best) fail_msg("%s: token %zu is %d, recomputed %d", families[i], k, out[k], best);
            ids[n++] = best;
        }
        close_fixture(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_reference),
        cmocka_unit_test(numbers_cpu),
        cmocka_unit_test(kept_keys_change_nothing),
    };
    return cmocka_run_group_tests_name("decoder_families", tests, find_fixtures, NULL);
}
