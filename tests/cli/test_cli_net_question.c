/* test_cli_net_question.c - the command line and a question as JSON about the same net write the same
 * document, number by number: pictures, tables, bytes, and everything that both leave open. */
#include "run_program.h"
#include "ascribe/ask.h"
#include "text_parts.h"
#include "view.h"

static asc_view file_base64(asc_ctx *ctx, const char *path, asc_strbuf *b) {
    size_t n = 0;
    char *data = program_slurp(path, &n);
    if (data == NULL) fail_msg("no file %s", path);
    asc_strbuf_init(b, ctx);
    asc_base64(b, asc_view_make(data, n));
    free(data);
    return asc_strbuf_view(b);
}

/* Lines of a document that say when, how fast, from which file, and how much memory with what the process
 * held before. */
static bool passing(const char *line) {
    static const char *const keys[] = {
        "\"command\"", "\"seconds\"", "\"peak_bytes\"", "\"predicted_peak_bytes\"", "\"input\"", "\"file\""};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *at = strstr(line, keys[i]), *end = strchr(line, '\n');
        if (at != NULL && (end == NULL || at < end)) return true;
    }
    return false;
}

static void same_documents(const char *a, const char *b, const char *what) {
    for (int line = 1;; line++) {
        const char *x = strchr(a, '\n'), *y = strchr(b, '\n');
        size_t n = x != NULL ? (size_t)(x - a) : strlen(a), m = y != NULL ? (size_t)(y - b) : strlen(b);
        bool skip = passing(a) && passing(b);
        if (!skip && (n != m || memcmp(a, b, n) != 0))
            fail_msg("%s, line %d:\n%.*s\n%.*s", what, line, (int)(n < 200 ? n : 200), a,
                     (int)(m < 200 ? m : 200), b);
        if (x == NULL || y == NULL) {
            assert_true(x == NULL && y == NULL);
            return;
        }
        a = x + 1;
        b = y + 1;
    }
}

/* options of the command line; keys of the question, %s = the file as base64. */
static void both(program *p, const char *model, const char *options, const char *json) {
    char line[6000];
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_subject *s = NULL;
    asc_question *q = NULL;
    asc_answer *a = NULL;
    asc_text *t = NULL;
    snprintf(line, sizeof line, "$A explain %s %s --json - --threads 1", model, options);
    program_expect(p, 0, NULL, line);
    ctx->n_threads = 1;
    assert_ok(ctx, asc_subject_open(ctx, model, NULL, &s));
    if (asc_question_parse(s, asc_view_of(json), NULL, 0, &q) != ASC_OK)
        fail_msg("%.300s: %s", json, asc_error_message(ctx));
    assert_ok(ctx, asc_ask(s, q, &a));
    assert_ok(ctx, asc_text_create(ctx, &t));
    asc_answer_json(a, t);
    assert_ok(ctx, asc_text_status(t));
    same_documents(p->out, asc_text_view(t).ptr, options);
    asc_text_clear(t);
    asc_answer_html(a, t);
    asc_answer_text(a, t, &(asc_report_style){.columns = 80});
    assert_ok(ctx, asc_text_status(t));
    assert_non_null(strstr(asc_text_view(t).ptr, "</html>"));
    asc_answer_destroy(a);
    asc_text_clear(t);
    asc_question_set_dry_run(q, true);
    assert_ok(ctx, asc_ask(s, q, &a));
    asc_answer_text(a, t, &(asc_report_style){.columns = 80});
    assert_ok(ctx, asc_text_status(t));
    assert_non_null(strstr(asc_text_view(t).ptr, "Would take "));
    asc_text_destroy(t);
    asc_answer_destroy(a);
    asc_question_destroy(q);
    asc_subject_close(s);
    test_ctx_end(ctx);
}

static void pictures(void **state) {
    static const struct {
        const char *options, *keys;
    } cases[] = {
        {"--method saliency", "\"method\": \"saliency\""},
        {"--method input-x-gradient --target LABEL_2 --versus LABEL_0 --output logprob",
         "\"method\": \"input-x-gradient\", \"target\": \"LABEL_2\", \"versus\": \"LABEL_0\", \"output\": "
         "\"logprob\""},
        {"--method integrated-gradients --rule gauss-legendre --steps 6 --baseline white --target 1",
         "\"method\": \"integrated-gradients\", \"rule\": \"gauss-legendre\", \"steps\": 6, \"baseline\": "
         "\"white\", \"target\": 1"},
        {"--method integrated-gradients --rule gauss-legendre --steps 6 --baseline black --normalise unit",
         "\"method\": \"integrated-gradients\", \"rule\": \"gauss-legendre\", \"steps\": 6, \"baseline\": "
         "\"black\", \"normalise\": \"unit\""},
        {"--method integrated-gradients --rule gauss-legendre --steps 6 --baseline 0.5",
         "\"method\": \"IntegratedGradients\", \"rule\": \"gauss-legendre\", \"steps\": 6, \"baseline\": "
         "0.5"},
        {"--method feature-ablation --mask grid:4 --output prob",
         "\"method\": \"feature-ablation\", \"mask\": \"grid:4\", \"output\": \"prob\""},
        {"--method feature-ablation --mask superpixels:5 --seed 3",
         "\"method\": \"feature-ablation\", \"mask\": \"superpixels:5\", \"seed\": 3"},
        {"--method occlusion --resize 8 --crop 8x8 --normalise clip --channels bgr",
         "\"method\": \"occlusion\", \"resize\": 8, \"crop\": [8, 8], \"normalise\": \"clip\", \"channels\": "
         "\"bgr\""},
        {"--method occlusion --window 3x4x4 --resize 8x8",
         "\"method\": \"occlusion\", \"window\": [3, 4, 4], \"resize\": \"8x8\""},
        {"--method kernel-shap --mask grid:4x2 --samples 40 --seed 9",
         "\"method\": \"kernel-shap\", \"mask\": \"grid:4x2\", \"samples\": 40, \"seed\": 9"},
        {"--method gradient-shap --samples 4 --stdev 0.1",
         "\"method\": \"gradient-shap\", \"samples\": 4, \"stdev\": 0.1"},
        {"--target 2", "\"target\": 2"},
    };
    program *p = *state;
    char model[4096], picture[4096], options[5000];
    snprintf(model, sizeof model, "%s", program_path(p, ".data/encoders/deit"));
    snprintf(picture, sizeof picture, "%s", program_path(p, ".data/image/rgb.png"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asc_ctx *ctx = test_ctx("cpu", NULL);
        asc_strbuf b, json;
        asc_view b64 = file_base64(ctx, picture, &b);
        asc_strbuf_init(&json, ctx);
        asc_strbuf_addf(&json, "{%s, \"image\": \"%s" ASC_VIEW_FMT "\"}", cases[i].keys,
                        i % 2 == 0 ? "data:image/png;base64," : "", ASC_VIEW_ARG(b64));
        snprintf(options, sizeof options, "--image %s %s", picture, cases[i].options);
        both(p, model, options, json.ptr);
        asc_strbuf_deinit(&json);
        asc_strbuf_deinit(&b);
        test_ctx_end(ctx);
    }
}

static void tables(void **state) {
    static const struct {
        const char *options, *keys;
    } cases[] = {
        {"--input r.csv --method saliency", "\"table\": \"a,b\\n3,-2\\n\", \"method\": \"saliency\""},
        {"--input r.csv --method integrated-gradients --rule riemann-middle --steps 3 --baseline 1",
         "\"input\": [[3, -2]], \"feature_names\": [\"a\", \"b\"], \"method\": \"integrated-gradients\", "
         "\"rule\": \"riemann-middle\", \"steps\": 3, \"baseline\": 1"},
        {"--input r.csv --labels l.txt --target dog --method lrp --lrp-rule gamma:0.5",
         "\"table\": \"a,b\\n3,-2\\n\", \"labels\": [\"cat\", \"dog\"], \"target\": \"dog\", \"method\": "
         "\"lrp\", \"lrp_rule\": \"gamma:0.5\""},
        {"--input r.csv --method noise-tunnel --base saliency --samples 5 --stdev 0.2 --site y",
         "\"input\": [3, -2], \"method\": \"noise-tunnel\", \"base\": \"saliency\", \"samples\": 5, "
         "\"stdev\": 0.2, \"site\": \"y\""},
        {"--input r.csv --method feature-ablation --target-value y --no-batch --target 0,1",
         "\"table\": \"a,b\\n3,-2\\n\", \"method\": \"feature-ablation\", \"target_value\": \"y\", "
         "\"no_batch\": true, \"target\": [0, 1]"},
    };
    program *p = *state;
    char model[4096], json[1000];
    snprintf(model, sizeof model, "%s",
             program_path(p, ".data/onnx/simple/test_single_relu_model/model.onnx"));
    program_expect(p, 0, NULL, "printf 'a,b\\n3,-2\\n' >r.csv; printf 'cat\\ndog\\n' >l.txt");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(json, sizeof json, "{%s}", cases[i].keys);
        both(p, model, cases[i].options, json);
    }
}

#define WITH_PROGRAM(f) cmocka_unit_test_setup_teardown(f, program_setup, program_teardown)
int main(void) {
    const struct CMUnitTest tests[] = {WITH_PROGRAM(pictures), WITH_PROGRAM(tables)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
