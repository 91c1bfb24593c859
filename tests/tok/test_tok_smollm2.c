/* test_tok_smollm2.c - the tokenizer of a real model against llama.cpp and Hugging Face tokenizers, all
 * cases. Needs the model file: $ASC_MODEL, or models/SmolLM2-135M-Instruct.Q4_1.gguf; skips without it. */
#include "golden_line.h"
#include "gguf_vocab.h"
#include "hash.h"
#include <unistd.h>

static const char *model_path(void) {
    static char path[4096];
    const char *root = getenv("ASC_SOURCE_ROOT"), *given = getenv("ASC_MODEL");
    if (given != NULL) return access(given, R_OK) == 0 ? given : NULL;
    snprintf(path, sizeof path, "%s/models/SmolLM2-135M-Instruct.Q4_1.gguf", root != NULL ? root : ".");
    return access(path, R_OK) == 0 ? path : NULL;
}

typedef struct fixture {
    asc_ctx *ctx;
    asc_gguf *g;
    asc_tokenizer *tk;
} fixture;

static int setup(void **state) {
    static fixture f;
    const char *path = model_path();
    f.ctx = test_ctx("cpu", NULL);
    assert_ok(f.ctx, asc_gguf_open(f.ctx, path, &f.g));
    assert_ok(f.ctx, asc_tokenizer_from_gguf(f.ctx, f.g, &f.tk));
    *state = &f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    asc_tokenizer_destroy(f->tk);
    asc_gguf_close(f->ctx, f->g);
    test_ctx_end(f->ctx);
    return 0;
}

static bool one_case(fixture *f, const asc_json *j) {
    asc_view text = asc_json_str(asc_json_get(j, "text"));
    char *bytes = NULL;
    if (asc_json_get(j, "bytes_b64") != NULL) {
        asc_view b64 = asc_json_str(asc_json_get(j, "bytes_b64"));
        bytes = malloc(b64.len + 1);
        text = (asc_view){bytes, golden_base64(b64, bytes)};
    }
    const asc_json *want = asc_json_get(j, "hf_ids");
    if (want == NULL) want = asc_json_get(j, "ids");
    asc_tokenize_options o = {.struct_size = sizeof o,
                              .parse_special = asc_json_bool(asc_json_get(j, "parse_special"), false)};
    asc_token *t = NULL;
    size_t n = 0;
    assert_ok(f->ctx, asc_tokenize(f->ctx, f->tk, text, &o, &t, &n));
    bool ok = golden_ids_equal(want, t, n);
    if (!ok) golden_print(asc_json_str(asc_json_get(j, "name")).ptr, want, t, n);
    assert_tiles(t, n, text.len);
    asc_tokens_free(f->ctx, t);
    free(bytes);
    return ok;
}

static void all_golden_cases(void **state) {
    fixture *f = *state;
    char *file = NULL;
    size_t len = 0, n = 0, bad = 0;
    assert_ok(f->ctx,
              asc_file_read(f->ctx, test_data("goldens/tokenizer_smollm2.jsonl"), 1 << 24, &file, &len));
    asc_view rest = {file, len};
    for (asc_json *j; (j = golden_next(f->ctx, &rest)) != NULL; n++) {
        if (!one_case(f, j)) bad++;
        asc_json_free(j);
    }
    asc_free(f->ctx, file);
    printf("%zu cases, %zu differ\n", n, bad);
    assert_true(n >= 60);
    assert_int_equal(bad, 0);
}

int main(void) {
    if (model_path() == NULL) {
        printf("skipped, no model file: set ASC_MODEL, or run scripts/fetch-model.sh\n");
        return 77; /* Meson's code for a skipped test */
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_golden_cases)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
