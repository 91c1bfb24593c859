/* test_hf_float64.c - weights in float64: what f32 cannot hold is said (test_hf_folders.c has the logits). */
#include "file.h"
#include "harness.h"
#include "model.h"
#include <sys/stat.h>
#include <unistd.h>

static void heard(void *self, asc_log_level level, const char *message) {
    if (level == ASC_LOG_WARN && strstr(message, "float64") != NULL) snprintf(self, 256, "%s", message);
}

/* The fixture in a folder of its own, its last weight replaced. */
static void copy_with(asc_ctx *ctx, const char *dir, double last) {
    static const char *const files[] = {"config.json", "model.safetensors"};
    for (int i = 0; i < 2; i++) {
        char path[256], *bytes = NULL;
        size_t n;
        snprintf(path, sizeof path, "hf/llama-f64/%s", files[i]);
        assert_ok(ctx, asc_file_read(ctx, test_data(path), 1 << 24, &bytes, &n));
        if (i == 1) memcpy(bytes + n - sizeof last, &last, sizeof last);
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        assert_ok(ctx, asc_file_write(ctx, path, bytes, n));
        asc_free(ctx, bytes);
    }
}

static void remove_copy(const char *dir) {
    char path[256];
    snprintf(path, sizeof path, "%s/config.json", dir);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

/* Doubles that f32 cannot hold are said, with their tensor; others are not. */
static void out_of_range(void **state) {
    (void)state;
    static const double last[] = {0.125, 1e300, -1e-60};
    for (int k = 0; k < 3; k++) {
        char said[256] = "", dir[TEST_TMP];
        asc_ctx *ctx = NULL;
        asc_model *m = NULL;
        assert_non_null(mkdtemp(test_tmp_name(dir, "asc_hf64_XXXXXX")));
        const asc_ctx_options o = {.struct_size = sizeof o, .log = heard, .log_self = said};
        assert_ok(NULL, asc_ctx_create(&o, &ctx));
        copy_with(ctx, dir, last[k]);
        assert_ok(ctx, asc_model_open(ctx, dir, NULL, &m));
        assert_true((said[0] != '\0') == (k > 0));
        if (k > 0) assert_non_null(strstr(said, "1 values of tensor 'model."));
        asc_model_close(m);
        asc_ctx_destroy(ctx);
        remove_copy(dir);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(out_of_range)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
