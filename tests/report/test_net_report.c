/* test_net_report.c - attributions on nets as text, page and JSON: every way of showing, names with anything
 * in them, several methods, read back, memory that runs out. ASC_KEEP_PAGES=FOLDER keeps the pages. */
#include "harness.h"
#include "json.h"
#include "net_parts.h"
#include "view.h"
#include <math.h>

enum { H = 12, W = 16 };

typedef struct sample {
    double picture[2][3 * H * W], cam[4 * 6], table[4], table_error[4], bytes[20 * 3], signal[2 * 100];
    double value[1], base[1], delta[1];
    int64_t index[1], versus[1], offsets[20];
    asc_scores scores[7];
    asc_attribution r[2];
    const asc_attribution *results[2];
    asc_attr_request q;
    asc_image image;
    asc_array values[3];
    asc_net_view views[4];
    float raw_table[4], raw_signal[200];
    int32_t raw_bytes[20];
    asc_net_sheet rep;
} sample;

static const char command[] = "ascribe explain net.onnx --labels 'a b\"<.txt'";
static const asc_class_score top[] = {{1, "dog <b>&", 3.5}, {0, "cat", 1}, {2, NULL, -2}};
static const char *const columns[] = {"age", "income </script>", "a\x1b[31m", "gr\xc3\xb6\xc3\x9f"};

static void set_values(sample *s) {
    for (int m = 0; m < 2; m++)
        for (int i = 0; i < 3 * H * W; i++) s->picture[m][i] = sin(i * 0.1 + m) * (m == 0 ? 1 : 1000);
    for (int i = 0; i < 24; i++) s->cam[i] = i - 10;
    for (int i = 0; i < 60; i++) s->bytes[i] = i == 3 ? 1 : i == 4 ? 0.5 : 0;
    for (int i = 0; i < 200; i++) s->signal[i] = cos(i * 0.2), s->raw_signal[i] = (float)sin(i * 0.1);
    for (int i = 0; i < 20; i++) s->raw_bytes[i] = i < 18 ? "<PDF&1.4 text \"'\n\x7f"[i] : 256;
    for (int i = 0; i < 20; i++) s->offsets[i] = i < 18 ? 4096 + i : -1;
    static const double table[4] = {0.5, -0.25, 0, NAN}, error[4] = {0.01, 0.02, 0, NAN};
    memcpy(s->table, table, sizeof table);
    memcpy(s->table_error, error, sizeof error);
    for (int i = 0; i < 4; i++) s->raw_table[i] = (float)i * 1.5f;
    s->value[0] = 3.5;
    s->base[0] = 1.25;
    s->delta[0] = 0.001;
    s->index[0] = 1;
    s->versus[0] = -1;
}

static sample *make(asc_ctx *ctx) {
    sample *s = calloc(1, sizeof *s);
    set_values(s);
    s->scores[0] = (asc_scores){(char *)"image", ASC_SHAPE(1, 3, H, W), s->picture[0], NULL};
    s->scores[1] = (asc_scores){(char *)"table", ASC_SHAPE(1, 4), s->table, s->table_error};
    s->scores[2] = (asc_scores){(char *)"bytes", ASC_SHAPE(1, 20, 3), s->bytes, NULL};
    s->scores[3] = (asc_scores){(char *)"signal", ASC_SHAPE(1, 2, 100), s->signal, NULL};
    s->scores[4] = (asc_scores){(char *)"layer<1>", ASC_SHAPE(1, 1, 4, 6), s->cam, NULL};
    s->scores[5] = (asc_scores){(char *)"image", ASC_SHAPE(1, 3, H, W), s->picture[1], NULL};
    s->r[0] = (asc_attribution){.method = "integrated-gradients",
                                .options = (char *)"{\"steps\": 50, \"rule\": \"<\"}\n",
                                .scores = s->scores,
                                .n_scores = 5,
                                .n_examples = 1,
                                .n_outputs = 1,
                                .value = s->value,
                                .baseline_value = s->base,
                                .delta = s->delta,
                                .n_delta = 1,
                                .complete = true,
                                .converged = true,
                                .error_bound = 0.02,
                                .n_forward = 51,
                                .n_backward = 50,
                                .seconds = 0.5,
                                .peak_bytes = 1 << 20};
    s->r[1] = (asc_attribution){.method = "lime",
                                .options = (char *)"not json",
                                .scores = s->scores + 5,
                                .n_scores = 1,
                                .n_examples = 1,
                                .n_outputs = 1,
                                .value = s->value,
                                .converged = false,
                                .stochastic = true,
                                .error_bound = 12,
                                .n_forward = 50};
    s->r[1].notes[0] = (char *)"a note <with> \"marks\"";
    s->r[1].n_notes = 1;
    s->results[0] = &s->r[0], s->results[1] = &s->r[1];
    s->q = (asc_attr_request){
        .struct_size = sizeof s->q,
        .method = "integrated-gradients",
        .target = {.value = "logits", .n_rows = 1, .rank = 1, .index = s->index, .versus = s->versus}};
    assert_ok(ctx, asc_image_create(ctx, W, H, &s->image));
    s->values[0] = (asc_array){ASC_ELEM_F32, ASC_SHAPE(1, 4), s->raw_table};
    s->values[1] = (asc_array){ASC_ELEM_I32, ASC_SHAPE(1, 20), s->raw_bytes};
    s->values[2] = (asc_array){ASC_ELEM_F32, ASC_SHAPE(1, 2, 100), s->raw_signal};
    s->views[0] = (asc_net_view){.name = "image", .picture = &s->image};
    s->views[1] = (asc_net_view){.name = "table", .values = &s->values[0], .names = columns, .n_names = 4};
    s->views[2] =
        (asc_net_view){.name = "bytes", .values = &s->values[1], .offsets = s->offsets, .n_offsets = 20};
    s->views[3] = (asc_net_view){.name = "signal", .show = ASC_SHOW_SIGNAL, .values = &s->values[2]};
    s->rep = (asc_net_sheet){.model = "dir/net<x>.onnx",
                             .model_sha256 = "ab",
                             .request = &s->q,
                             .results = s->results,
                             .n_results = 2,
                             .views = s->views,
                             .n_views = 4,
                             .top = top,
                             .n_top = 3,
                             .command = command,
                             .device = "cpu",
                             .mode = "deferred",
                             .precision = "highest",
                             .isa = "avx2",
                             .n_threads = 2,
                             .seed = 7,
                             .input_note = "photo <1>.png"};
    return s;
}

static void end(asc_ctx *ctx, sample *s) {
    asc_image_free(ctx, &s->image);
    free(s);
}

static bool has(const asc_text *t, const char *s) { return strstr(asc_text_view(t).ptr, s) != NULL; }

static int count(const asc_text *t, const char *s) {
    int n = 0;
    for (const char *p = asc_text_view(t).ptr; (p = strstr(p, s)) != NULL; p++) n++;
    return n;
}

static void keep(asc_text *t, const char *name) {
    char path[512];
    const char *folder = getenv("ASC_KEEP_PAGES");
    if (folder == NULL) return;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(asc_text_write(t, path), ASC_OK);
}

static void expect(const asc_text *t, const char *const *wanted, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!has(t, wanted[i])) fail_msg("missing: %s", wanted[i]);
}

static void test_page(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    sample *s = make(ctx);
    asc_text *t = NULL;
    assert_ok(ctx, asc_text_create(ctx, &t));
    asc_net_sheet_html(ctx, t, &s->rep);
    assert_ok(ctx, asc_text_status(t));
    keep(t, "net.html");
    static const char *const wanted[] = {
        "What drove value &#39;logits&#39;, index 1 minus index -1?</h1>",
        "The model says: dog &lt;b&gt;&amp; 3.5, cat 1, index 2 -2",
        "net&lt;x&gt;.onnx",
        "Each map has a scale of its own",
        "lime, 1 = ",
        "integrated-gradients at layer&lt;1&gt;",
        "NOT CONVERGED",
        "a note &lt;with&gt; &quot;marks&quot;",
        "income &lt;/script&gt; = 1.5: -0.25",
        "bytes 4096 to 4111; strongest: byte 4097, hexadecimal 50, +1.5",
        "samples 0 to 2",
        "3.5 at the input, 1.25 at the baseline",
        "which misses the change of the value by 0.001",
        "<code>ascribe explain net.onnx --labels &#39;a b&quot;&lt;.txt&#39;</code>",
        "default-src 'none'; img-src data:; style-src 'sha256-",
        "photo &lt;1&gt;.png",
    };
    expect(t, wanted, sizeof wanted / sizeof *wanted);
    s->rep.target_text = "class <1>";
    asc_text_clear(t);
    asc_net_sheet_html(ctx, t, &s->rep);
    static const char *const said[] = {"What drove class &lt;1&gt;?</h1>"};
    expect(t, said, 1);
    assert_int_equal(count(t, "data:image/png;base64,"), 4); /* the picture and three maps */
    assert_int_equal(count(t, "<script"), 1);
    assert_int_equal(count(t, "</script"), 1);
    assert_false(has(t, "style=\"") || has(t, "http://") != has(t, "http://www.w3.org/2000/svg"));
    assert_false(has(t, "https://") || has(t, " src=") || has(t, "url("));
    assert_int_equal(count(t, "<section>"), count(t, "</section>"));
    asc_text_destroy(t);
    end(ctx, s);
    test_ctx_end(ctx);
}

static void test_text(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    sample *s = make(ctx);
    asc_text *t = NULL;
    asc_report_style style = {.struct_size = sizeof style};
    assert_ok(ctx, asc_text_create(ctx, &t));
    s->r[0].scores = &s->scores[1];
    s->r[0].n_scores = 2;
    s->rep.n_results = 1;
    asc_net_sheet_text(ctx, t, &s->rep, &style);
    static const char wanted[] =
        "Model     net<x>.onnx\n"
        "Input     photo <1>.png\n"
        "Target    value 'logits', index 1 minus index -1\n"
        "Answer    dog <b>& 3.5, cat 1, index 2 -2\n"
        "\n"
        "Method    integrated-gradients\n"
        "\n"
        "  table [1, 4]\n"
        "       score  error                                  feature\n"
        "        +0.5  \xc2\xb1 0.01       ++++++++++++++++++++++++  age = 0\n"
        "       -0.25  \xc2\xb1 0.02       ------------              income </script> = 1.5\n"
        "           0  \xc2\xb1 0                                    a\\x1b[31m = 3\n"
        "     unknown  \xc2\xb1 -                                    gr\xc3\xb6\xc3\x9f = 4.5\n"
        "\n"
        "  bytes [1, 20, 3]\n"
        "       score                            feature\n"
        "           0                            byte 0x1000: 3c '<'\n"
        "        +1.5  ++++++++++++++++++++++++  byte 0x1001: 50 'P'\n";
    asc_view v = asc_text_view(t);
    assert_true(v.len > sizeof wanted);
    if (strncmp(v.ptr, wanted, sizeof wanted - 1) != 0) fail_msg("other text:\n%s", v.ptr);
    static const char *const rest[] = {"Value     3.5 at the input, 1.25 at the baseline\n",
                                       "Total     unknown, which misses the change of the value by 0.001\n",
                                       "Error     each score is within 0.02 of its true value (estimated).\n",
                                       "Cost      51 forward, 50 backward passes, 0.5 s, peak 1.0 MB\n"};
    expect(t, rest, 4);
    asc_text_destroy(t);
    end(ctx, s);
    test_ctx_end(ctx);
}

static void test_json(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    sample *s = make(ctx);
    asc_text *t = NULL;
    asc_net_saved *back = NULL;
    asc_json *root = NULL;
    assert_ok(ctx, asc_text_create(ctx, &t));
    asc_net_sheet_json(t, &s->rep);
    assert_ok(ctx, asc_text_status(t));
    keep(t, "net.json");
    asc_view v = asc_text_view(t);
    assert_ok(ctx, asc_json_parse(ctx, v.ptr, v.len, &root));
    const asc_json *first = asc_json_at(asc_json_get(root, "results"), 0);
    assert_int_equal(asc_json_int(asc_json_get(asc_json_get(first, "options"), "steps"), 0), 50);
    assert_true(asc_view_eqs(
        asc_json_str(asc_json_get(asc_json_at(asc_json_get(root, "results"), 1), "options")), "not json"));
    asc_json_free(root);
    assert_ok(ctx, asc_net_saved_parse(ctx, v, &back));
    assert_string_equal(back->command, command);
    assert_string_equal(back->model, "dir/net<x>.onnx");
    assert_int_equal(back->n_scores, 6);
    assert_string_equal(back->scores[5].method, "lime");
    assert_string_equal(back->scores[4].name, "layer<1>");
    assert_int_equal(back->scores[0].n, 3 * H * W);
    assert_memory_equal(back->scores[0].data, s->picture[0], sizeof s->picture[0]);
    assert_true(isnan(back->scores[1].data[3]));
    asc_net_saved_destroy(ctx, back);
    static const struct {
        const char *json, *says;
        asc_status st;
    } bad[] = {{"", "", ASC_INVALID_ARGUMENT},
               {"[]", "kind", ASC_INVALID_ARGUMENT},
               {"{\"kind\": \"other\"}", "kind", ASC_INVALID_ARGUMENT},
               {"{\"kind\": \"ascribe-net-result\", \"schema\": 2}", "schema 2", ASC_UNIMPLEMENTED},
               {"{\"kind\": \"ascribe-net-result\", \"schema\": 1}", "results", ASC_INVALID_ARGUMENT},
               {"{\"kind\": \"ascribe-net-result\", \"schema\": 1, \"command\": 1}", "command",
                ASC_INVALID_ARGUMENT},
               {"{\"kind\": \"ascribe-net-result\", \"schema\": 1, \"command\": \"a\\u0000b\"}", "",
                ASC_INVALID_ARGUMENT},
               {"{\"kind\": \"ascribe-net-result\", \"schema\": 1, \"command\": null}", "results",
                ASC_INVALID_ARGUMENT},
               {"{\"kind\": \"ascribe-net-result\", \"schema\": 1, \"command\": null, \"results\": "
                "[{\"scores\": [{}]}]}",
                "data", ASC_INVALID_ARGUMENT}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(asc_net_saved_parse(ctx, asc_view_of(bad[i].json), &back), bad[i].st);
        assert_null(back);
        if (strstr(asc_error_message(ctx), bad[i].says) == NULL)
            fail_msg("%zu: %s", i, asc_error_message(ctx));
    }
    asc_text_destroy(t);
    end(ctx, s);
    test_ctx_end(ctx);
}

/* Batches, several explained numbers, nothing known about the input, no map at all. */
static void test_shapes(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    sample *s = make(ctx);
    asc_text *t = NULL;
    asc_report_style style = {.struct_size = sizeof style};
    asc_image im;
    double data[2 * 3 * 4], values[6] = {0, 1, 2, 3, 4, 5};
    for (int i = 0; i < 24; i++) data[i] = i;
    asc_scores plain = {(char *)"x", ASC_SHAPE(2, 3, 4), data, NULL};
    asc_attribution r = {.method = "saliency",
                         .scores = &plain,
                         .n_scores = 1,
                         .n_examples = 2,
                         .n_outputs = 3,
                         .value = values,
                         .converged = true,
                         .error_bound = NAN};
    const asc_attribution *results[] = {&r};
    asc_net_sheet rep = {.results = results, .n_results = 1, .example = 1, .output = 2};
    assert_ok(ctx, asc_text_create(ctx, &t));
    asc_net_sheet_text(ctx, t, &rep, &style);
    assert_true(has(t, "        +20  ") && has(t, "[3]\n") && !has(t, "+19"));
    assert_true(has(t, "5 at the input") && !has(t, "Total"));
    asc_text_clear(t);
    rep.example = 2; /* there is none: the numbers are left out, nothing breaks */
    asc_net_sheet_text(ctx, t, &rep, &style);
    asc_net_sheet_html(ctx, t, &rep);
    assert_ok(ctx, asc_text_status(t));
    assert_int_equal(asc_net_sheet_image(ctx, &rep, &im), ASC_NOT_FOUND);
    assert_ok(ctx, asc_net_sheet_image(ctx, &s->rep, &im));
    assert_true(im.width > 400);
    asc_image_free(ctx, &im);
    style.colours = ASC_COLOURS_RGB;
    asc_text_clear(t);
    asc_net_sheet_text(ctx, t, &s->rep, &style);
    assert_true(has(t, "\xe2\x96\x80") && has(t, "NOT CONVERGED"));
    assert_ok(ctx, asc_text_status(t));
    asc_text_destroy(t);
    end(ctx, s);
    test_ctx_end(ctx);
}

static void test_out_of_memory(void **state) {
    (void)state;
    bool done = false;
    for (long at = 1; !done; at += 1 + at / 16) {
        test_alloc a = {0};
        asc_ctx_options o = {.struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &a};
        asc_ctx *ctx = NULL;
        asc_text *t = NULL;
        asc_image im;
        assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
        sample *s = make(ctx);
        assert_ok(ctx, asc_text_create(ctx, &t));
        a.count = 0;
        a.fail_at = at;
        asc_net_sheet_html(ctx, t, &s->rep);
        asc_status st = asc_text_status(t);
        if (st == ASC_OK) st = asc_net_sheet_image(ctx, &s->rep, &im);
        if (st == ASC_OK) asc_image_free(ctx, &im);
        if (st != ASC_OK) assert_int_equal(st, ASC_RESOURCE_EXHAUSTED);
        done = a.count < at;
        assert_true(!done || st == ASC_OK);
        asc_text_destroy(t);
        end(ctx, s);
        test_ctx_end(ctx);
        assert_int_equal(a.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_page), cmocka_unit_test(test_text),
                                       cmocka_unit_test(test_json), cmocka_unit_test(test_shapes),
                                       cmocka_unit_test(test_out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
