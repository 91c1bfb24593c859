/* Folders that are no models: what is said depends on what lies there. */
#include "file.h"
#include "harness.h"
#include "model.h"
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 4 };

/* files: what lies there, a folder in front of what it holds; says: in the message; try: in the hint. */
static const struct {
    const char *files[MOST], *says, *try;
} cases[] = {
    {{NULL}, "has no config.json", "a GGUF or ONNX file is named itself"},
    {{"b.gguf", "c.gguf", ".a.gguf", "notes.txt"}, "has no config.json", "/b.gguf'"},
    {{"one/", "one/config.json"}, "has no config.json", "/one'"},
    {{"one/"}, "has no config.json", "a GGUF or ONNX file is named itself"},
    {{"snapshots/", "snapshots/0a1b/", "snapshots/0a1b/config.json"},
     "has no config.json",
     "/snapshots/0a1b'"},
    {{"model_index.json"}, "a pipeline of several models", "models that make pictures are not read"},
    {{"adapter_config.json"}, "holds an adapter", "open the model"},
    {{"config.json"}, "has neither model.safetensors nor", "fetch the model's weight files"},
    {{"config.json", "pytorch_model.bin"}, "a pickle", "safe_serialization"},
    {{"config.json", "pytorch_model.bin.index.json"}, "only pickles", "safe_serialization"},
    {{"config.json", "pytorch_model.bin", "a.onnx"}, "has neither model.safetensors nor", "/a.onnx'"},
    {{"config.json", "pytorch_model.bin", "onnx/", "onnx/model.onnx"}, "a pickle", "safe_serialization"},
    {{"config.json", "onnx/", "onnx/model.onnx"}, "has neither model.safetensors nor", "/onnx/model.onnx'"},
    {{"config.json", "diffusion_pytorch_model.safetensors"},
     "a part of a pipeline",
     "models that make pictures"},
};

static void at(char path[512], const char *dir, const char *name) { snprintf(path, 512, "%s/%s", dir, name); }

static bool is_folder(const char *name) { return name[strlen(name) - 1] == '/'; }

static void test_what_lies_there(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    char path[512];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char dir[TEST_TMP];
        asc_model *m;
        size_t n = 0;
        assert_non_null(mkdtemp(test_tmp_name(dir, "asc_missing_XXXXXX")));
        for (; n < MOST && cases[i].files[n] != NULL; n++) {
            at(path, dir, cases[i].files[n]);
            if (is_folder(path))
                assert_int_equal(mkdir(path, 0700), 0);
            else
                assert_ok(ctx, asc_file_write(ctx, path, "{}", 2));
        }
        assert_int_not_equal(asc_model_open(ctx, dir, NULL, &m), ASC_OK);
        if (strstr(asc_error_message(ctx), cases[i].says) == NULL ||
            strstr(asc_error_hint(ctx), cases[i].try) == NULL)
            fail_msg("case %zu: %s; %s", i, asc_error_message(ctx), asc_error_hint(ctx));
        while (n > 0) {
            at(path, dir, cases[i].files[--n]);
            assert_int_equal(is_folder(path) ? rmdir(path) : unlink(path), 0);
        }
        assert_int_equal(rmdir(dir), 0);
    }
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_lies_there)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
