/* test_net_report_public.c - the public reports on nets: what is drawn from a picture, bytes, a signal, a
 * table, how sites find their input, the picture file, a comparison of methods. */
#include "harness.h"
#include "ascribe/net_report.h"
#include "net.h"
#include "view.h"
#include <math.h>
#include <unistd.h>

static bool has(const asc_text *t, const char *s) { return strstr(asc_text_view(t).ptr, s) != NULL; }

static int count(const asc_text *t, const char *s) {
    int n = 0;
    for (const char *p = asc_text_view(t).ptr; (p = strstr(p, s)) != NULL; p++) n++;
    return n;
}

/* One input of one kind, its scores and those of a site. */
typedef struct sample {
    asc_port port;
    asc_net net;
    asc_array input;
    asc_scores scores[2];
    asc_attribution result;
    asc_attr_request request;
    asc_net_report r;
    double data[600], site[600], value[1];
    float floats[600];
    int32_t ints[600];
    int64_t offsets[600];
} sample;

static sample *make(asc_elem elem, asc_shape shape, asc_shape site) {
    sample *s = calloc(1, sizeof *s);
    for (int i = 0; i < 600; i++) {
        s->data[i] = sin(i * 0.7);
        s->site[i] = cos(i * 0.3);
        s->floats[i] = (float)i;
        s->ints[i] = i % 257;
        s->offsets[i] = i % 257 == 256 ? -1 : 100 + i;
    }
    s->port = (asc_port){.name = "x", .elem = elem, .shape = shape, .batch = true};
    s->net = (asc_net){.inputs = &s->port, .n_inputs = 1};
    s->input = (asc_array){elem, shape, elem == ASC_ELEM_F32 ? (const void *)s->floats : s->ints};
    s->scores[0] = (asc_scores){(char *)"x", shape, s->data, NULL};
    s->scores[1] = (asc_scores){(char *)"site", site, s->site, NULL};
    s->value[0] = 2;
    s->result = (asc_attribution){.method = "saliency",
                                  .options = (char *)"{}",
                                  .scores = s->scores,
                                  .n_scores = site.rank > 0 ? 2 : 1,
                                  .n_examples = 1,
                                  .n_outputs = 1,
                                  .value = s->value,
                                  .converged = true,
                                  .error_bound = NAN};
    s->request =
        (asc_attr_request){.struct_size = sizeof s->request, .inputs = &s->input, .n_inputs = 1, .seed = 9};
    s->r = (asc_net_report){
        .request = &s->request, .result = &s->result, .net = &s->net, .target_text = "class 3"};
    return s;
}

static asc_text *page_of(asc_ctx *ctx, sample *s) {
    asc_text *t = NULL;
    assert_ok(ctx, asc_text_create(ctx, &t));
    asc_net_report_html(ctx, t, &s->r);
    assert_ok(ctx, asc_text_status(t));
    assert_true(has(t, "What drove class 3?") && has(t, "<dt>Seed</dt><dd>9</dd>"));
    return t;
}

static void test_picture(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    for (int nhwc = 0; nhwc < 2; nhwc++) {
        sample *s = make(ASC_ELEM_F32, nhwc ? ASC_SHAPE(1, 10, 14, 3) : ASC_SHAPE(1, 3, 10, 14),
                         ASC_SHAPE(1, 4, 5, 7));
        asc_image picture, back;
        char path[TEST_TMP];
        assert_ok(ctx, asc_image_create(ctx, 14, 10, &picture));
        s->r.picture = &picture;
        s->r.picture_path = "p.png";
        s->r.nhwc = nhwc;
        asc_text *t = page_of(ctx, s);
        assert_int_equal(count(t, "data:image/png;base64,"), 3); /* input, scores, the site's over it */
        assert_true(has(t, "saliency, 1 = ") && has(t, "saliency at site, 1 = ") &&
                    has(t, ", 10 rows, 14 columns"));
        assert_true(has(t, "p.png, seen as 14 x 10 pixels"));
        int fd = mkstemp(test_tmp_name(path, "asc-map-XXXXXX"));
        close(fd);
        assert_ok(ctx, asc_net_report_png(ctx, &s->r, path));
        assert_ok(ctx, asc_image_read(ctx, path, &back));
        assert_true(back.width > 500);
        unlink(path);
        s->r.picture = NULL;
        assert_int_equal(asc_net_report_png(ctx, &s->r, path), ASC_FAILED_PRECONDITION);
        asc_image_free(ctx, &back);
        asc_image_free(ctx, &picture);
        asc_text_destroy(t);
        free(s);
    }
    test_ctx_end(ctx);
}

static void test_bytes(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    sample *s = make(ASC_ELEM_I32, ASC_SHAPE(1, 300), ASC_SHAPE(1, 300, 2));
    s->r.bytes = "any";
    s->r.n_bytes = 3;
    s->r.offsets = s->offsets;
    s->r.n_offsets = 300;
    asc_text *t = page_of(ctx, s);
    assert_int_equal(count(t, "bytes 100 to 111; strongest"), 2); /* the input's and the embedding's */
    char sum[64];
    snprintf(sum, sizeof sum, "<td class=\"num\">%+.3g</td>", s->site[14] + s->site[15]); /* byte 7 */
    assert_true(has(t, sum));
    asc_text_destroy(t);
    free(s);
    test_ctx_end(ctx);
}

static void test_signal_and_table(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    static const char *const names[] = {"a", "b", "c"};
    sample *s = make(ASC_ELEM_F32, ASC_SHAPE(1, 2, 64), ASC_SCALAR_SHAPE);
    asc_text *t = page_of(ctx, s);
    assert_int_equal(count(t, "<path fill=\"none\""), 2); /* a line for each channel */
    asc_text_destroy(t);
    free(s);
    s = make(ASC_ELEM_F32, ASC_SHAPE(1, 3), ASC_SHAPE(1, 4));
    s->r.feature_names = names;
    s->r.n_feature_names = 3;
    t = page_of(ctx, s);
    assert_true(has(t, "c = 2: +0.985") && has(t, "[3]: +0.622"));
    asc_text_clear(t);
    asc_report_style style = {.struct_size = sizeof style};
    asc_net_report_text(ctx, t, &s->r, &style);
    assert_true(has(t, "b = 1") && has(t, "Target    class 3"));
    asc_text_destroy(t);
    free(s);
    test_ctx_end(ctx);
}

static void test_compare_and_json(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    static const asc_class_score top[] = {{3, "three", 0.5}};
    sample *s = make(ASC_ELEM_F32, ASC_SHAPE(1, 3), ASC_SCALAR_SHAPE),
           *other = make(ASC_ELEM_F32, ASC_SHAPE(1, 3), ASC_SCALAR_SHAPE);
    other->result.method = "lime";
    s->r.top = top;
    s->r.n_top = 1;
    s->r.command = "ascribe explain x";
    s->r.model_path = test_data("inputs/table.csv");
    const asc_net_report *both[] = {&s->r, &other->r};
    asc_text *t = NULL;
    asc_net_saved *back = NULL;
    assert_ok(ctx, asc_text_create(ctx, &t));
    asc_net_report_compare_html(ctx, t, both, 2);
    assert_true(has(t, "<h2>saliency</h2>") && has(t, "<h2>lime</h2>") &&
                has(t, "The model says: three 0.5"));
    asc_text_clear(t);
    asc_net_report_compare_html(ctx, t, both, 0);
    asc_net_report_json(ctx, t, &s->r);
    assert_ok(ctx, asc_text_status(t));
    assert_ok(ctx, asc_net_saved_parse(ctx, asc_text_view(t), &back));
    assert_string_equal(back->command, "ascribe explain x");
    assert_int_equal(strlen(back->model_sha256), 64);
    assert_int_equal(back->n_scores, 1);
    assert_memory_equal(back->scores[0].data, s->data, 3 * sizeof(double));
    asc_net_saved_destroy(ctx, back);
    asc_text_clear(t);
    s->r.model_path = "/nowhere/model.onnx"; /* gone since: named without its hash */
    asc_net_report_json(ctx, t, &s->r);
    assert_ok(ctx, asc_text_status(t));
    assert_true(has(t, "\"sha256\": null"));
    asc_text_destroy(t);
    free(s);
    free(other);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_picture), cmocka_unit_test(test_bytes),
                                       cmocka_unit_test(test_signal_and_table),
                                       cmocka_unit_test(test_compare_and_json)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
