/* test_adapters.c - LoRA adapters on tiny models against PEFT's own numbers in float64
 * (scripts/refs/adapter_fixtures.py): every way of storing and applying them, and what is refused. */
#include "exec.h"
#include "file.h"
#include "harness.h"
#include "json.h"
#include "model.h"
#include <math.h>
#include <sys/stat.h>

static const char *const names[] = {"granite_all", "mixtral_rs", "gpt2", "gptneox", "phi3", "smollm3"};
enum { N_NAMES = sizeof names / sizeof *names, MAX_IDS = 16, MOST = 512 };

typedef struct fixture {
    asc_ctx *ctx;
    asc_json *root;
    char *text, model[128];
    int32_t ids[MAX_IDS];
    size_t n;
} fixture;

static fixture open_fixture(const char *name, const char *device) {
    fixture f = {.ctx = test_ctx(device, NULL)};
    char file[128];
    size_t n;
    snprintf(file, sizeof file, "decoders/adapters/%s.json", name);
    assert_ok(f.ctx, asc_file_read(f.ctx, test_data(file), 1 << 24, &f.text, &n));
    assert_ok(f.ctx, asc_json_parse(f.ctx, f.text, n, &f.root));
    asc_view model = asc_json_str(asc_json_get(f.root, "model"));
    snprintf(f.model, sizeof f.model, "decoders/%.*s.gguf", (int)model.len, model.ptr);
    const asc_json *ids = asc_json_get(f.root, "input_ids");
    f.n = asc_json_len(ids);
    assert_true(f.n > 0 && f.n <= MAX_IDS);
    for (size_t i = 0; i < f.n; i++) f.ids[i] = (int32_t)asc_json_int(asc_json_at(ids, i), -1);
    return f;
}

static void close_fixture(fixture *f) {
    asc_json_free(f->root);
    asc_free(f->ctx, f->text);
    test_ctx_end(f->ctx);
}

/* Logits of the last rows with these adapters. */
static size_t run(fixture *f, const asc_adapter *list, size_t n_list, asc_weights_mode weights, double *out) {
    char path[4096];
    asc_model *m;
    asc_ctx *ctx = f->ctx;
    snprintf(path, sizeof path, "%s", test_data(f->model));
    const asc_model_options o = {
        .struct_size = sizeof o, .weights = weights, .adapters = list, .n_adapters = n_list};
    assert_ok(ctx, asc_model_open(ctx, path, &o, &m));
    assert_int_equal(asc_model_get_info(m).n_adapters, n_list);
    const int64_t rows = asc_json_int(asc_json_get(f->root, "rows"), 0);
    const size_t n = (size_t)(rows * m->decoder.cfg.n_vocab);
    assert_true(n <= MOST);
    asc_scope_begin(ctx);
    asc_decoder_run r = {.x = asc_decoder_embed(&m->decoder, f->ids, 1, (int64_t)f->n), .tail = rows};
    asc_tensor *y = asc_decoder_logits(&m->decoder, asc_decoder_hidden(&m->decoder, &r), NULL, NULL);
    assert_ok(ctx, asc_read_f64(ctx, y, out, n));
    assert_ok(ctx, asc_scope_end(ctx));
    asc_model_close(m);
    return n;
}

static void compare(const char *name, const asc_json *want, const double *got, size_t n, double rel) {
    double big = 1.0;
    assert_int_equal(asc_json_len(want), n);
    for (size_t i = 0; i < n; i++) big = fmax(big, fabs(asc_json_num(asc_json_at(want, i), NAN)));
    for (size_t i = 0; i < n; i++) {
        double w = asc_json_num(asc_json_at(want, i), NAN);
        if (!(fabs(w - got[i]) <= rel * big))
            fail_msg("%s: logit %zu: %.12g, expected %.12g", name, i, got[i], w);
    }
}

static const char *folder_of(const char *name, char path[4096]) {
    char file[128];
    snprintf(file, sizeof file, "decoders/adapters/%s", name);
    snprintf(path, 4096, "%s", test_data(file));
    return path;
}

/* f64 against f64, 12 digits; cpu: f32 sums of 16 to 64 products in two to five layers. */
static void numbers(void **state) {
    (void)state;
    static const struct {
        const char *device;
        double rel;
    } devices[] = {{"reference", 1e-10}, {"cpu", 2e-5}};
    for (size_t i = 0; i < N_NAMES; i++) {
        for (size_t d = 0; d < 2; d++) {
            fixture f = open_fixture(names[i], devices[d].device);
            char path[4096];
            double y[MOST], base[MOST];
            const asc_adapter one = {folder_of(names[i], path), 1.0}, half = {path, 0.5}, none = {path, 0.0},
                              halves[] = {half, half};
            const asc_json *want = asc_json_get(f.root, "logits"),
                           *less = asc_json_get(f.root, "logits_half");
            size_t n = run(&f, &one, 1, ASC_WEIGHTS_STORED, y);
            compare(names[i], want, y, n, devices[d].rel);
            n = run(&f, &half, 1, ASC_WEIGHTS_AUTO, y);
            compare(names[i], less, y, n, devices[d].rel);
            n = run(&f, halves, 2, ASC_WEIGHTS_AUTO, y);
            compare(names[i], want, y, n, devices[d].rel);
            n = run(&f, &one, 1, ASC_WEIGHTS_EXPANDED, y); /* added to the weights once */
            compare(names[i], want, y, n, devices[d].rel);
            n = run(&f, &none, 1, ASC_WEIGHTS_AUTO, y);
            run(&f, NULL, 0, ASC_WEIGHTS_AUTO, base);
            assert_memory_equal(y, base, n * sizeof *y);
            double far = 0.0;
            for (size_t k = 0; k < n; k++)
                far = fmax(far, fabs(base[k] - asc_json_num(asc_json_at(want, k), NAN)));
            assert_true(far > 0.05); /* the adapter does something */
            close_fixture(&f);
        }
    }
}

static void as_gguf(void **state) {
    (void)state;
    fixture f = open_fixture("granite_all", "reference");
    char path[4096];
    double y[MOST];
    const asc_adapter one = {folder_of("granite_all.gguf", path), 1.0};
    size_t n = run(&f, &one, 1, ASC_WEIGHTS_AUTO, y);
    compare("granite_all.gguf", asc_json_get(f.root, "logits"), y, n, 1e-10);
    close_fixture(&f);
}

static void refuse(asc_ctx *ctx, const char *model, const char *adapter, asc_status want, const char *says) {
    asc_model *m = NULL;
    char path[4096];
    snprintf(path, sizeof path, "%s", test_data(model));
    const asc_adapter one = {adapter, 1.0};
    const asc_model_options o = {.struct_size = sizeof o, .adapters = &one, .n_adapters = 1};
    asc_error_clear(ctx);
    asc_status st = asc_model_open(ctx, path, &o, &m);
    if (st != want || strstr(asc_error_message(ctx), says) == NULL || asc_error_hint(ctx)[0] == '\0')
        fail_msg("%s on %s (%s): %s: '%s', hint '%s'", adapter, model, says, asc_status_name(st),
                 asc_error_message(ctx), asc_error_hint(ctx));
    assert_null(m);
}

static void other_models_are_refused(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    char path[4096];
    refuse(ctx, "decoders/smollm3.gguf", folder_of("granite_all.gguf", path), ASC_INVALID_ARGUMENT,
           "architecture");
    refuse(ctx, "decoders/granite.gguf", folder_of("gpt2", path), ASC_INVALID_ARGUMENT,
           "no part of a granite");
    refuse(ctx, "decoders/granite.gguf", folder_of("smollm3", path), ASC_INVALID_ARGUMENT, "could adapt");
    refuse(ctx, "goldens/zoo_gguf/llama-q4_1/model.gguf", folder_of("mixtral_rs", path), ASC_INVALID_ARGUMENT,
           "adapts a matrix of");
    refuse(ctx, "decoders/granite.gguf", folder_of("nowhere", path), ASC_NOT_FOUND, "does not exist");
    refuse(ctx, "decoders/granite.gguf", folder_of("granite_all.json", path), ASC_INVALID_ARGUMENT, "GGUF");
    snprintf(path, sizeof path, "%s", test_data("decoders/granite.gguf"));
    refuse(ctx, "decoders/granite.gguf", path, ASC_INVALID_ARGUMENT, "is no adapter");
    test_ctx_end(ctx);
}

/* The real folder with one text of adapter_config.json replaced. */
static void odd_configs_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *from, *to;
        asc_status want;
        const char *says;
    } cases[] = {
        {"\"use_dora\": false", "\"use_dora\": true", ASC_UNIMPLEMENTED, "use_dora"},
        {"\"bias\": \"none\"", "\"bias\": \"all\"", ASC_UNIMPLEMENTED, "bias"},
        {"\"modules_to_save\": null", "\"modules_to_save\": [\"lm_head\"]", ASC_UNIMPLEMENTED,
         "modules_to_save"},
        {"\"peft_type\": \"LORA\"", "\"peft_type\": \"IA3\"", ASC_UNIMPLEMENTED, "peft_type"},
        {"\"task_type\": \"CAUSAL_LM\"", "\"task_type\": \"SEQ_CLS\"", ASC_UNIMPLEMENTED, "task_type"},
        {"\"init_lora_weights\": true", "\"init_lora_weights\": \"pissa\"", ASC_UNIMPLEMENTED,
         "init_lora_weights"},
        {"\"lora_bias\": false", "\"lora_bias\": true", ASC_UNIMPLEMENTED, "lora_bias"},
        {"\"layer_replication\": null", "\"layer_replication\": [[0, 2]]", ASC_UNIMPLEMENTED,
         "layer_replication"},
        {"\"r\": 2", "\"r\": 3", ASC_INVALID_ARGUMENT, "rank 2"},
        {"\"r\": 2", "\"r\": 0", ASC_INVALID_ARGUMENT, "r is 0"},
        {"\"r\": 2", "\"r\": \"two\"", ASC_INVALID_ARGUMENT, "r is"},
        {"\"lora_alpha\": 3", "\"lora_beta\": 3", ASC_INVALID_ARGUMENT, "lora_alpha"},
        {"\"k_proj\": 4", "\"k_proj\": 5", ASC_INVALID_ARGUMENT, "rank 4"},
        {"\"k_proj\": 4", "\".*k_proj\": 4", ASC_UNIMPLEMENTED, "rank_pattern"},
        {"\"k_proj\": 4", "\"k_proj\": \"x\"", ASC_INVALID_ARGUMENT, "not a number"},
        {"{", "[", ASC_INVALID_ARGUMENT, "adapter_config.json"},
    };
    asc_ctx *ctx = test_ctx("cpu", NULL);
    char folder[64], file[4096], from[4096], *text, *weights;
    size_t n, n_weights;
    snprintf(folder, sizeof folder, "odd-adapter-%d", (int)sizeof cases);
    mkdir(folder, 0700);
    folder_of("mixtral_rs", from);
    snprintf(file, sizeof file, "%.4000s/adapter_model.safetensors", from);
    assert_ok(ctx, asc_file_read(ctx, file, 1 << 24, &weights, &n_weights));
    snprintf(file, sizeof file, "%.4000s/adapter_config.json", from);
    assert_ok(ctx, asc_file_read(ctx, file, 1 << 20, &text, &n));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *at = strstr(text, cases[i].from);
        assert_non_null(at);
        char *changed = calloc(n + 256, 1);
        snprintf(changed, n + 256, "%.*s%s%s", (int)(at - text), text, cases[i].to,
                 at + strlen(cases[i].from));
        snprintf(file, sizeof file, "%s/adapter_config.json", folder);
        assert_ok(ctx, asc_file_write(ctx, file, changed, strlen(changed)));
        snprintf(file, sizeof file, "%s/adapter_model.safetensors", folder);
        assert_ok(ctx, asc_file_write(ctx, file, weights, n_weights));
        refuse(ctx, "decoders/mixtral.gguf", folder, cases[i].want, cases[i].says);
        free(changed);
    }
    /* half a file, and names that PEFT does not use */
    snprintf(file, sizeof file, "%s/adapter_config.json", folder);
    assert_ok(ctx, asc_file_write(ctx, file, text, n));
    snprintf(file, sizeof file, "%s/adapter_model.safetensors", folder);
    assert_ok(ctx, asc_file_write(ctx, file, weights, n_weights / 2));
    refuse(ctx, "decoders/mixtral.gguf", folder, ASC_DATA_LOSS, "safetensors");
    char *mark = memmem(weights, n_weights, "lora_A.weight", 13);
    assert_non_null(mark);
    memcpy(mark, "lora_X.weight", 13);
    assert_ok(ctx, asc_file_write(ctx, file, weights, n_weights));
    refuse(ctx, "decoders/mixtral.gguf", folder, ASC_UNIMPLEMENTED, "lora_X");
    remove(file);
    snprintf(file, sizeof file, "%s/adapter_config.json", folder);
    remove(file);
    remove(folder);
    asc_free(ctx, text);
    asc_free(ctx, weights);
    test_ctx_end(ctx);
}

/* Every allocation fails once: an error comes back and nothing leaks. Also the experts of the model below. */
static void memory_runs_out(void **state) {
    (void)state;
    static const int32_t ids[] = {5, 9, 20};
    char model[4096], adapter[4096];
    snprintf(model, sizeof model, "%s", test_data("decoders/mixtral.gguf"));
    const asc_adapter one = {folder_of("mixtral_rs", adapter), 1.0};
    bool finished = false;
    for (long k = 1; !finished; k += k < 150 ? 1 : 13) {
        test_alloc a = {.fail_at = k};
        asc_ctx_options o = {
            .struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &a, .n_threads = 1};
        const asc_model_options mo = {.struct_size = sizeof mo, .adapters = &one, .n_adapters = 1};
        asc_ctx *ctx;
        asc_model *m = NULL;
        float out[64];
        asc_status st = asc_ctx_create(&o, &ctx);
        if (st == ASC_OK) st = asc_model_open(ctx, model, &mo, &m);
        if (st == ASC_OK) st = asc_model_logits(m, ids, 3, 1, out);
        finished = st == ASC_OK && a.count < k;
        if (st != ASC_OK && st != ASC_RESOURCE_EXHAUSTED)
            fail_msg("allocation %ld: %s: %s", k, asc_status_name(st), asc_error_message(ctx));
        asc_model_close(m);
        asc_ctx_destroy(ctx);
        assert_int_equal(a.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(as_gguf),
        cmocka_unit_test(other_models_are_refused),
        cmocka_unit_test(odd_configs_are_refused),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests_name("adapters", tests, NULL, NULL);
}
