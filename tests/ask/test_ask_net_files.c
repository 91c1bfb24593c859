/* test_ask_net_files.c - bytes and pictures in a question against the same arrays made by hand; documents and
 * command lines of answers; every allocation made to fail. */
#include "../harness.h"
#include "ascribe/image.h"
#include "ascribe/inputs.h"
#include "ask_scene.h"
#include "asked_net.h"
#include "text_parts.h"
#include <math.h>

enum { N_BYTES = 3000 };

static void base64_of(asc_ctx *ctx, const void *data, size_t n, asc_strbuf *out) {
    asc_strbuf_init(out, ctx);
    asc_base64(out, asc_view_make(data, n));
}

static asc_answer *ask(scene *c, const char *keys, asc_question **q) {
    asc_answer *a = NULL;
    if (scene_parse(c, keys, q) != ASC_OK || asc_ask(c->s, *q, &a) != ASC_OK)
        fail_msg("%.200s: %s", keys, asc_error_message(c->ctx));
    return a;
}

/* Bytes become ids by asc_bytes_encode, absent ones are 256; a method that needs a gradient is asked at the
 * look-up and summed up per byte. */
static void bytes(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    scene c;
    unsigned char file[N_BYTES];
    char keys[6000];
    asc_strbuf b64;
    asc_array ids = {0}, offsets = {0};
    asc_question *q = NULL;
    asc_attribution *r = NULL;
    for (size_t i = 0; i < N_BYTES; i++) file[i] = (unsigned char)(33 + i * 7 % 90);
    assert_ok(ctx, scene_make(ctx, SCENE_BYTES, &c));
    base64_of(ctx, file, N_BYTES, &b64);
    assert_ok(ctx, asc_bytes_encode(ctx, file, N_BYTES, "magika", &ids, &offsets));
    snprintf(keys, sizeof keys,
             "\"bytes\": \"%s\", \"target\": 1, \"method\": \"integrated-gradients\", \"rule\": "
             "\"gauss-legendre\", \"steps\": 3",
             b64.ptr);
    asc_answer *a = ask(&c, keys, &q);
    const asc_attr_request *req = asc_question_attr_request(q);
    assert_int_equal(req->n_at, 1);
    assert_string_equal(req->at[0], "looked");
    const double padding = 256;
    const asc_array base = {ASC_ELEM_F64, {0}, &padding};
    static const char *const at[] = {"looked"};
    const int64_t index[] = {1};
    const asc_attr_request want = {.struct_size = sizeof want,
                                   .method = "integrated-gradients",
                                   .rule = "gauss-legendre",
                                   .steps = 3,
                                   .inputs = &ids,
                                   .n_inputs = 1,
                                   .baselines = &base,
                                   .n_baselines = 1,
                                   .at = at,
                                   .n_at = 1,
                                   .target = {.n_rows = 1, .rank = 1, .index = index}};
    assert_ok(ctx, asc_attribute(c.net, &want, &r));
    const asc_scores *s = &asc_answer_attribution(a)->scores[0], *t = &r->scores[0];
    assert_int_equal(s->shape.rank, 2);
    assert_int_equal(s->shape.dims[1], 2048);
    for (int i = 0; i < 2048; i++) {
        double sum = 0;
        for (int k = 0; k < 3; k++) sum += t->data[3 * i + k];
        assert_true(sum == s->data[i]);
    }
    double worst = s->error != NULL ? 0 : (double)NAN; /* the bound is that of the sums, not of their parts */
    for (int i = 0; s->error != NULL && i < 2048; i++) {
        if (!(s->error[i] <= worst)) worst = s->error[i];
    }
    const double bound = asc_answer_attribution(a)->error_bound;
    assert_true(bound == worst || (isnan(bound) && isnan(worst)));
    asc_text *page = NULL;
    assert_ok(ctx, asc_text_create(ctx, &page));
    asc_answer_html(a, page);
    assert_ok(ctx, asc_text_status(page));
    assert_non_null(strstr(asc_text_view(page).ptr, "</html>"));
    asc_text_destroy(page);
    asc_attribution_destroy(ctx, r);
    asc_answer_destroy(a);
    asc_question_destroy(q);
    asc_strbuf_deinit(&b64);
    asc_array_free(ctx, &ids);
    asc_array_free(ctx, &offsets);
    scene_end(&c);
    test_ctx_end(ctx);
}

/* An 8 x 8 picture as a PNG file in base64; freed with asc_strbuf_deinit. */
static void picture_file(asc_ctx *ctx, asc_image *image, asc_strbuf *b64) {
    char path[TEST_TMP];
    int fd = mkstemp(test_tmp_name(path, "ascribe-ask-XXXXXX"));
    asc_text *t = NULL;
    assert_true(fd >= 0);
    fclose(fdopen(fd, "wb"));
    assert_ok(ctx, asc_image_create(ctx, 8, 8, image));
    for (int i = 0; i < 192; i++) image->rgb[i] = (uint8_t)(i * 37 % 251);
    assert_ok(ctx, asc_image_write(ctx, path, image));
    assert_ok(ctx, asc_text_create(ctx, &t));
    assert_ok(ctx, asc_text_read(t, path, 1 << 20));
    remove(path);
    base64_of(ctx, asc_text_view(t).ptr, asc_text_view(t).len, b64);
    asc_text_destroy(t);
}

/* A small file that says it holds more pixels than a question takes: refused before they take memory. */
static void large_pictures(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    static const unsigned char start[33] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0, 0,  0,  13, 'I',
                                            'H',  'D', 'R', 0,   0,    35,   40,   0,    0, 35, 40, 8,  2};
    scene c;
    asc_strbuf b64;
    char keys[200];
    asc_question *q = NULL;
    assert_ok(ctx, scene_make(ctx, SCENE_PICTURE, &c));
    base64_of(ctx, start, sizeof start, &b64);
    snprintf(keys, sizeof keys, "\"image\": \"%s\", \"method\": \"saliency\"", b64.ptr);
    const size_t peak = asc_memory(c.ctx).peak_total;
    assert_int_equal(scene_parse(&c, keys, &q), ASC_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(asc_error_message(c.ctx), "9000 x 9000 pixels"));
    assert_true(asc_memory(c.ctx).peak_total < peak + (1 << 20));
    asc_strbuf_deinit(&b64);
    scene_end(&c);
    test_ctx_end(ctx);
}

/* black, white, grid, the window and the map that stand where nothing is said, against arrays. */
static void pictures(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    scene c;
    asc_image image = {0};
    asc_strbuf b64;
    char keys[8000];
    asc_array x = {0};
    asc_image_prep prep = {.struct_size = sizeof prep, .normalise = "clip"};
    assert_ok(ctx, scene_make(ctx, SCENE_PICTURE, &c));
    picture_file(ctx, &image, &b64);
    assert_ok(ctx, asc_image_to_array(ctx, &image, &prep, &x, NULL));
    int32_t grid[64];
    float white[192];
    const float mean[3] = {0.48145466f, 0.4578275f, 0.40821073f},
                deviation[3] = {0.26862954f, 0.26130258f, 0.27577711f}; /* CLIP's own */
    for (int i = 0; i < 192; i++) white[i] = (1 - mean[i / 64]) / deviation[i / 64];
    for (int i = 0; i < 64; i++) grid[i] = i / 8 / 4 * 2 + i % 8 / 4;
    const asc_array base = {ASC_ELEM_F32, {4, {1, 3, 8, 8}}, white}, mask = {ASC_ELEM_I32, {2, {8, 8}}, grid};
    const int64_t index[] = {2}, window[] = {3, 1, 1}, stride[] = {3, 1, 1};
    static const char *const map[] = {"map"};
    const asc_attr_request plain = {.struct_size = sizeof plain,
                                    .inputs = &x,
                                    .n_inputs = 1,
                                    .target = {.n_rows = 1, .rank = 1, .index = index}};
    asc_attr_request want[5] = {plain, plain, plain, plain, plain};
    const char *more[5] = {"\"method\": \"feature-ablation\", \"baseline\": \"white\", \"mask\": \"grid:4\"",
                           "\"method\": \"occlusion\"", "\"method\": \"grad-cam\"",
                           "\"method\": \"guided-grad-cam\"",
                           "\"method\": \"saliency\", \"baseline\": {\"pixels\": \"white\"}"};
    want[0].method = "feature-ablation";
    want[0].baselines = &base;
    want[0].n_baselines = 1;
    want[0].masks = &mask;
    want[0].n_masks = 1;
    want[1].method = "occlusion";
    want[1].window = window;
    want[1].stride = stride;
    want[1].n_window = 3;
    want[2].method = "grad-cam";
    want[2].at = map;
    want[2].n_at = 1;
    want[3].method = "guided-grad-cam";
    want[3].neuron.value = map[0];
    want[4].method = "saliency";
    for (int i = 0; i < 5; i++) {
        asc_question *q = NULL;
        asc_attribution *r = NULL;
        char words[200];
        snprintf(keys, sizeof keys,
                 "\"image\": \"data:image/png;base64,%s\", \"normalise\": \"clip\", "
                 "\"target\": 2, %s",
                 b64.ptr, more[i]);
        asc_answer *a = ask(&c, keys, &q);
        assert_ok(ctx, asc_attribute(c.net, &want[i], &r));
        if (asked_difference(asc_answer_attribution(a), r, words) != NULL) fail_msg("%s: %s", more[i], words);
        asc_attribution_destroy(ctx, r);
        asc_answer_destroy(a);
        asc_question_destroy(q);
    }
    asc_array_free(ctx, &x);
    asc_image_free(ctx, &image);
    asc_strbuf_deinit(&b64);
    scene_end(&c);
    test_ctx_end(ctx);
}

static void one_number(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    (void)self;
    out[0] = asc_site(f, "twice", asc_scale(asc_frame_ctx(f), in[0], 2.0));
}

/* Options say numbers and plain keys; what they cannot say they do not try to. */
static void commands(void **state) {
    (void)state;
    static const struct {
        const char *keys, *line; /* NULL: none */
    } cases[] = {
        {"\"input\": 2, \"method\": \"saliency\"", " --input 2 --method saliency"},
        {"\"input\": {\"x\": -2.5}, \"target\": -1, \"steps\": 3, \"site\": [\"twice\"]",
         " --input x=-2.5 --target=-1 --steps 3 --site twice"},
        {"\"input\": {\"x\": -2.5}, \"baseline\": 1, \"target\": [-1]",
         " --input x=-2.5 --target=-1 --baseline 1"},
        {"\"input\": 2, \"window\": [1, 1], \"no_batch\": true, \"relu\": false", NULL},
        {"\"input\": 2, \"window\": [1], \"seed\": 7, \"dry_run\": true, \"neuron\": \"twice:0\"",
         " --input 2 --window 1 --seed 7 --dry-run --neuron twice:0"},
        {"\"input\": [2]", NULL},
        {"\"input\": 2, \"labels\": [\"a\"]", NULL},
        {"\"input\": 2, \"baseline\": [1]", NULL},
        {"\"input\": 2, \"lrp_rule\": [\"gamma\"]", NULL},
        {"\"input\": 2, \"lrp_rule\": \"gamma:0.5\", \"compat\": \"captum\"",
         " --input 2 --lrp-rule gamma:0.5 --compat captum"},
        {"\"input\": 2, \"neuron\": \"twice\"", NULL},
    };
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    const asc_port port = {"x", ASC_ELEM_F32, {1, {-1}}, true};
    static const char *const names[] = {"y"};
    const asc_net_def d = {.struct_size = sizeof d,
                           .inputs = &port,
                           .n_inputs = 1,
                           .outputs = names,
                           .n_outputs = 1,
                           .forward = one_number};
    scene c = {.ctx = ctx};
    assert_ok(ctx, asc_net_create(ctx, &d, &c.net));
    assert_ok(ctx, asc_subject_of_net(ctx, c.net, &c.s));
    char path[] = "m.onnx", *own = c.s->path;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asc_question *q = NULL;
        asc_text *t = NULL;
        assert_ok(ctx, asc_text_create(ctx, &t));
        c.s->path = own;
        if (scene_parse(&c, cases[i].keys, &q) != ASC_OK)
            fail_msg("%s: %s", cases[i].keys, asc_error_message(ctx));
        assert_false(asc_question_command(q, t)); /* of a net in C there is none */
        c.s->path = path;
        bool said = asc_question_command(q, t);
        if (said != (cases[i].line != NULL)) fail_msg("%s: %s", cases[i].keys, said ? "said" : "not said");
        if (said) {
            /* keys stand in the order of the table */
            asc_view v = asc_text_view(t);
            size_t n = strlen("ascribe explain m.onnx");
            assert_memory_equal(v.ptr, "ascribe explain m.onnx", n);
            for (const char *w = cases[i].line; *w != '\0';) {
                size_t len = 1 + strcspn(w + 1, " ");
                char word[64];
                snprintf(word, sizeof word, "%.*s", (int)len, w);
                if (strstr(v.ptr, word) == NULL) fail_msg("%s: no '%s' in '%s'", cases[i].keys, word, v.ptr);
                w += len;
            }
            assert_int_equal(v.len, n + strlen(cases[i].line));
        } else {
            assert_int_equal(asc_text_view(t).len, 0);
        }
        asc_text_destroy(t);
        asc_question_destroy(q);
    }
    c.s->path = own;
    scene_end(&c);
    test_ctx_end(ctx);
}

/* Everything that a question may make: lists, files, strides, tables, rules, names, a picture, documents. */
static asc_status whole(asc_ctx *ctx, scene_kind kind, const char *keys, double *sum) {
    scene c;
    asc_question *q = NULL;
    asc_answer *a = NULL;
    asc_text *t = NULL;
    *sum = 0;
    asc_status st = scene_make(ctx, kind, &c);
    if (st == ASC_OK) st = scene_parse(&c, keys, &q);
    if (st == ASC_OK) st = asc_ask(c.s, q, &a);
    if (st == ASC_OK) st = asc_text_create(ctx, &t);
    if (st == ASC_OK) {
        asc_answer_json(a, t);
        st = asc_text_status(t);
    }
    const asc_attribution *r = a != NULL ? asc_answer_attribution(a) : NULL;
    for (size_t k = 0; r != NULL && k < r->n_scores; k++) {
        for (int64_t i = 0; i < asc_shape_elems(&r->scores[k].shape); i++)
            *sum += (double)(i + 1) * r->scores[k].data[i];
    }
    asc_text_destroy(t);
    asc_answer_destroy(a);
    asc_question_destroy(q);
    scene_end(&c);
    return st;
}

static long attempt(scene_kind kind, const char *keys, long fail_at, double *want) {
    test_alloc a = {.fail_at = fail_at};
    asc_ctx_options o = {.struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &a, .n_threads = 1};
    asc_ctx *ctx = NULL;
    double sum;
    asc_status st = asc_ctx_create(&o, &ctx);
    if (st == ASC_OK) {
        st = whole(ctx, kind, keys, &sum);
        if (fail_at == 0) assert_ok(ctx, st);
        if (fail_at == 0) *want = sum;
        if (st == ASC_OK && sum != *want) fail_msg("allocation %ld changes the scores", fail_at);
        if (st != ASC_OK && st != ASC_RESOURCE_EXHAUSTED)
            fail_msg("allocation %ld: %s: %s", fail_at, asc_status_name(st), asc_error_message(ctx));
        if (ctx->rt_destroy != NULL) ctx->rt_destroy(ctx);
        ctx->rt_destroy = NULL;
        if (ctx->mem.live_allocs != 0)
            fail_msg("allocation %ld: %zu blocks leak", fail_at, ctx->mem.live_allocs);
    }
    asc_ctx_destroy(ctx);
    if (a.live != 0) fail_msg("allocation %ld: %ld blocks leak", fail_at, a.live);
    return a.count;
}

static void out_of_memory(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_image image = {0};
    asc_strbuf b64;
    picture_file(ctx, &image, &b64);
    char picture[8000], file[2000];
    snprintf(
        picture, sizeof picture,
        "\"image\": \"%s\", \"method\": \"feature-ablation\", \"mask\": \"superpixels:3\", \"baseline\": "
        "\"white\"",
        b64.ptr);
    snprintf(file, sizeof file, "\"bytes\": \"%.400s\", \"method\": \"saliency\", \"target\": 0", b64.ptr);
    asc_image_free(ctx, &image);
    asc_strbuf_deinit(&b64);
    test_ctx_end(ctx);
    const struct {
        scene_kind kind;
        const char *keys;
    } scenes[] = {
        {SCENE_TWO,
         "\"table\": \"a,b,c\\n1,2,3\\n\", \"input\": {\"ids\": [[1, 2]]}, \"labels\": [\"u\", \"v\", "
         "\"w\"], "
         "\"method\": \"lrp\", \"lrp_rule\": [\"gamma:0.5\", {\"rule\": \"epsilon\"}], \"target\": [\"v\"], "
         "\"versus\": [[0]], \"fixed\": \"ids\", \"neuron\": \"hidden:1\", \"bounds\": [0, 1], "
         "\"stdevs\": [1, 2]"},
        {SCENE_TWO,
         "\"input\": {\"x\": {\"array\": \"x1\"}, \"ids\": {\"array\": \"ids1\"}}, \"method\": "
         "\"feature-ablation\", \"mask\": {\"hidden\": [0, 1, 1]}, \"site\": \"hidden\", \"at_baselines\": "
         "1, "
         "\"target_weights\": [1, 2, 3], \"baseline\": {\"arrays\": [0.5, null]}, \"window\": [1]"},
        {SCENE_PICTURE, picture},
        {SCENE_BYTES, file},
    };
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        double want = 0;
        long n = attempt(scenes[i].kind, scenes[i].keys, 0, &want);
        long step = getenv("ASC_OOM_ALL") != NULL || n < 250 ? 1 : n / 250 + 1;
        for (long k = 1; k <= n; k += step) attempt(scenes[i].kind, scenes[i].keys, k, &want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(bytes), cmocka_unit_test(pictures),
                                       cmocka_unit_test(large_pictures), cmocka_unit_test(commands),
                                       cmocka_unit_test(out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
