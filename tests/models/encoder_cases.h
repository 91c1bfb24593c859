/* encoder_cases.h - what tests of text encoders share: the models and cases under tests/data/encoders, lists
 * of ids in them, and one context for all tests of a program. */
#ifndef ASC_TEST_ENCODER_CASES_H
#define ASC_TEST_ENCODER_CASES_H

#include "ascribe/model.h"
#include "file.h"
#include "harness.h"
#include "json.h"
#include <stdlib.h>

/* Path of a folder or file under tests/data/encoders. */
static inline const char *encoder_path(const char *name, char out[512]) {
    const char *root = getenv("ASC_TEST_DATA");
    snprintf(out, 512, "%s/encoders/%s", root != NULL ? root : "tests/data", name);
    return out;
}

static inline asc_model *encoder_open(asc_ctx *ctx, const char *name) {
    char path[512];
    asc_model *m;
    if (asc_model_open(ctx, encoder_path(name, path), NULL, &m) != ASC_OK)
        fail_msg("%s: %s", name, asc_error_message(ctx));
    return m;
}

/* A JSON file under tests/data/encoders; the caller frees it. */
static inline asc_json *encoder_json(asc_ctx *ctx, const char *name) {
    char path[512], *text;
    size_t len;
    asc_json *root;
    assert_ok(ctx, asc_file_read(ctx, encoder_path(name, path), 1 << 24, &text, &len));
    assert_ok(ctx, asc_json_parse(ctx, text, len, &root));
    asc_free(ctx, text);
    return root;
}

/* case.json in a model's folder. */
static inline asc_json *encoder_case(asc_ctx *ctx, const char *name) {
    char file[256];
    snprintf(file, sizeof file, "%s/case.json", name);
    return encoder_json(ctx, file);
}

/* Integers of a list; how many there are. */
static inline size_t encoder_ids(const asc_json *list, int32_t *out) {
    for (size_t i = 0; i < asc_json_len(list); i++) out[i] = (int32_t)asc_json_int(asc_json_at(list, i), -1);
    return asc_json_len(list);
}

static inline void encoder_write(const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

/* A folder with the weights of one model and a config of its own. */
static inline void encoder_folder(asc_ctx *ctx, const char *from, const char *config, char out[TEST_TMP]) {
    char path[700], source[600], folder[512], *bytes;
    size_t len;
    assert_non_null(mkdtemp(test_tmp_name(out, "ascribe-encoder-XXXXXX")));
    snprintf(path, sizeof path, "%s/config.json", out);
    encoder_write(path, config);
    snprintf(source, sizeof source, "%s/model.safetensors", encoder_path(from, folder));
    assert_int_equal(asc_file_read(ctx, source, 1 << 24, &bytes, &len), ASC_OK);
    snprintf(path, sizeof path, "%s/model.safetensors", out);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
    asc_free(ctx, bytes);
}

static inline void encoder_remove(const char *folder) {
    static const char *const files[] = {"config.json", "model.safetensors", "modules.json"};
    char path[700];
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        (void)remove(path);
    }
    assert_int_equal(remove(folder), 0);
}

static inline int encoder_setup(void **state) {
    asc_ctx *ctx = NULL;
    asc_status st = asc_ctx_create(NULL, &ctx);
    *state = ctx;
    return st == ASC_OK ? 0 : -1;
}

static inline int encoder_teardown(void **state) {
    asc_ctx_destroy(*state);
    return 0;
}

#endif
