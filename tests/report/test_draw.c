/* test_draw.c - drawings of scores: scale against numpy's percentiles, colours that fall evenly in lightness
 * and stay apart for the colour-blind, maps pixel by pixel, SVG that is well formed, escaped and reachable by
 * keyboard, text for terminals. */
#include "harness.h"
#include "ascribe/draw.h"
#include "lab.h"
#include "view.h"
#include <math.h>

static asc_text *text_of(asc_ctx *ctx) {
    asc_text *t = NULL;
    assert_ok(ctx, asc_text_create(ctx, &t));
    return t;
}

static bool has(const asc_text *t, const char *s) { return strstr(asc_text_view(t).ptr, s) != NULL; }

static int count(const asc_text *t, const char *s) {
    int n = 0;
    for (const char *p = asc_text_view(t).ptr; (p = strstr(p, s)) != NULL; p++) n++;
    return n;
}

/* numpy.percentile(abs(x), p, method="inverted_cdf"). */
static void test_scale(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    double x[50];
    for (int i = 0; i < 50; i++) x[i] = (i % 2 == 0 ? 1 : -1) * (double)((i * 37) % 50) / 8;
    static const struct {
        double percentile, limit;
        size_t clipped;
    } rows[] = {{0, 6.125, 0}, {100, 6.125, 0}, {99, 6.125, 0}, {90, 5.5, 5}, {50, 3, 25}, {1, 6.125, 0}};
    asc_colour_scale s;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_ok(ctx, asc_colour_scale_of(ctx, x, 50, rows[i].percentile, &s));
        if (fabs(s.limit - rows[i].limit) > 1e-12 || s.n_clipped != rows[i].clipped)
            fail_msg("percentile %g: limit %g, %zu clipped", rows[i].percentile, s.limit, s.n_clipped);
        assert_true(fabs(s.low + 6.125) < 1e-12 && fabs(s.high - 6) < 1e-12);
    }
    const double odd[] = {NAN, 0, INFINITY, -0.5};
    assert_ok(ctx, asc_colour_scale_of(ctx, odd, 4, 0, &s));
    assert_int_equal(s.n_unknown, 2);
    assert_true(fabs(s.limit - 0.5) < 1e-12);
    asc_text *t = text_of(ctx);
    asc_colour_scale_caption(t, &s);
    assert_string_equal(asc_text_view(t).ptr,
                        "scores from -0.5 to 0; full colour from 0.5 on; 2 are not numbers (grey)");
    asc_text_clear(t);
    asc_colour_scale other;
    assert_ok(ctx, asc_colour_scale_of(ctx, x, 50, 90, &other));
    asc_colour_scale_join(&s, &other);
    asc_colour_scale_caption(t, &s);
    assert_string_equal(
        asc_text_view(t).ptr,
        "scores from -6.12 to 6; full colour from 5.5 on, percentile 90: 5 of 54 scores are beyond; 2 "
        "are not numbers (grey)");
    const double nothing[] = {0, 0};
    assert_ok(ctx, asc_colour_scale_of(ctx, nothing, 2, 99, &s));
    assert_true(s.limit > 0);
    assert_ok(ctx, asc_colour_scale_of(ctx, NULL, 0, 0, &s));
    assert_true(s.limit > 0);
    assert_int_equal(asc_colour_scale_of(ctx, x, 50, 101, &s), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_colour_scale_of(ctx, x, 50, NAN, &s), ASC_INVALID_ARGUMENT);
    asc_text_destroy(t);
    test_ctx_end(ctx);
}

static void test_colours(void **state) {
    (void)state;
    asc_colour_scale s = {.limit = 2};
    uint8_t rgb[3];
    float lab[3], before = 200;
    for (int sign = -1; sign <= 1; sign += 2) {
        before = 200;
        for (int i = 0; i <= 16; i++) {
            asc_colour_scale_rgb(&s, sign * i / 8.0, rgb);
            asc_lab_of(rgb, lab);
            assert_true(lab[0] < before);
            before = lab[0];
        }
        /* blue and yellow-orange: red-green blindness leaves b as it is */
        assert_true(sign > 0 ? lab[2] > 50 : lab[2] < -40);
    }
    asc_colour_scale_rgb(&s, 0, rgb);
    assert_true(rgb[0] == 255 && rgb[1] == 255 && rgb[2] == 255);
    uint8_t far[3];
    asc_colour_scale_rgb(&s, 2, rgb);
    asc_colour_scale_rgb(&s, 1e300, far);
    assert_memory_equal(rgb, far, 3);
    asc_colour_scale_rgb(&s, NAN, far);
    assert_true(far[0] == far[1] && far[1] == far[2] && far[0] < 200);
}

static void test_heat(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    /* channels-first and channels-last give the same sums */
    const double first[12] = {1, 2, 3, 4, 5, 6, -1, -1, -1, 10, 20, 30};
    double last[12];
    for (int c = 0; c < 2; c++)
        for (int i = 0; i < 6; i++) last[i * 2 + c] = first[c * 6 + i];
    static const double wanted[6] = {0, 1, 2, 14, 25, 36};
    asc_array a, b;
    assert_ok(ctx, asc_heat_sum(ctx, first, ASC_SHAPE(1, 2, 2, 3), false, &a));
    assert_ok(ctx, asc_heat_sum(ctx, last, ASC_SHAPE(2, 3, 2), true, &b));
    assert_memory_equal(a.data, wanted, sizeof wanted);
    assert_memory_equal(b.data, wanted, sizeof wanted);
    assert_true(a.shape.rank == 2 && a.shape.dims[0] == 2 && a.shape.dims[1] == 3);
    asc_array_free(ctx, &b);
    assert_int_equal(asc_heat_sum(ctx, first, ASC_SHAPE(12), false, &b), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_heat_sum(ctx, first, ASC_SHAPE(2, 1, 2, 3), false, &b), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_heat_sum(ctx, first, ASC_SHAPE(0, 3), false, &b), ASC_INVALID_ARGUMENT);

    asc_heat heat = {a.data, 2, 3, "sum"};
    asc_colour_scale s;
    asc_image im;
    uint8_t rgb[3];
    assert_ok(ctx, asc_colour_scale_of(ctx, wanted, 6, 0, &s));
    assert_ok(ctx, asc_draw_heat(ctx, &heat, &s, NULL, &im));
    assert_int_equal(im.width, 225);
    assert_int_equal(im.height, 150);
    for (int64_t y = 0; y < im.height; y += 7)
        for (int64_t x = 0; x < im.width; x += 5) {
            asc_colour_scale_rgb(&s, wanted[y / 75 * 3 + x / 75], rgb);
            assert_memory_equal(im.rgb + (y * im.width + x) * 3, rgb, 3);
        }
    asc_image_free(ctx, &im);
    /* over a picture: no score, no colour */
    asc_image below;
    assert_ok(ctx, asc_image_create(ctx, 300, 200, &below));
    below.rgb[0] = 250;
    assert_ok(ctx, asc_draw_heat(ctx, &heat, &s, &below, &im));
    assert_int_equal(im.width, 300);
    assert_true(im.rgb[0] == im.rgb[1] && im.rgb[1] == im.rgb[2]);
    const uint8_t *corner = im.rgb + (200 * 300 - 1) * 3;
    assert_true(corner[0] > corner[1] && corner[1] > corner[2]);
    asc_image_free(ctx, &im);
    asc_image_free(ctx, &below);
    heat.rows = 0;
    assert_int_equal(asc_draw_heat(ctx, &heat, &s, NULL, &im), ASC_INVALID_ARGUMENT);
    asc_array_free(ctx, &a);
    test_ctx_end(ctx);
}

static void test_grid(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    double scores[9] = {0, 1, -1, 2, -2, 0.5, 0, NAN, 1};
    asc_heat heats[7];
    for (int i = 0; i < 7; i++)
        heats[i] = (asc_heat){scores, 3, 3,
                              i == 0   ? NULL
                              : i == 1 ? "a label longer than its cell, much longer than that"
                                       : "m\xc3\xa9thode"};
    asc_colour_scale s;
    asc_image im, picture;
    assert_ok(ctx, asc_colour_scale_of(ctx, scores, 9, 95, &s));
    assert_ok(ctx, asc_image_create(ctx, 32, 20, &picture));
    for (size_t n = 1; n <= 7; n++)
        for (int with = 0; with < 2; with++) {
            assert_ok(ctx, asc_draw_heat_grid(ctx, heats, n, &s, with ? &picture : NULL, &im));
            assert_true(im.width >= 448 && im.width < 1100 && im.height > 200);
            asc_image_free(ctx, &im);
        }
    assert_int_equal(asc_draw_heat_grid(ctx, heats, 0, &s, &picture, &im), ASC_INVALID_ARGUMENT);
    heats[1].rows = 1;
    assert_int_equal(asc_draw_heat_grid(ctx, heats, 2, &s, NULL, &im), ASC_INVALID_ARGUMENT);
    asc_image_free(ctx, &picture);
    test_ctx_end(ctx);
}

/* Tags nest, attributes are quoted, nothing raw is left: enough of XML for our own drawings. */
static void check_xml(const asc_text *t) {
    const char *stack[64];
    size_t length[64], depth = 0;
    const char *p = asc_text_view(t).ptr;
    assert_int_equal(asc_utf8_check(asc_text_view(t)), asc_text_view(t).len);
    while (*p != '\0') {
        if (*p == '&') {
            assert_true(strncmp(p, "&lt;", 4) == 0 || strncmp(p, "&gt;", 4) == 0 ||
                        strncmp(p, "&amp;", 5) == 0 || strncmp(p, "&quot;", 6) == 0 ||
                        strncmp(p, "&#39;", 5) == 0);
        }
        if (*p++ != '<') continue;
        bool end = *p == '/';
        p += end;
        size_t n = strcspn(p, " />");
        const char *name = p;
        p += n;
        while (*p == ' ') {
            p += 1 + strcspn(p + 1, "=");
            assert_true(p[0] == '=' && p[1] == '"');
            p += 2;
            size_t k = strcspn(p, "\"<");
            assert_true(p[k] == '"');
            p += k + 1;
        }
        if (end) {
            assert_true(depth > 0 && length[depth - 1] == n && strncmp(stack[depth - 1], name, n) == 0);
            depth--;
        } else if (*p != '/') {
            assert_true(depth < 64);
            stack[depth] = name;
            length[depth++] = n;
        } else {
            p++;
        }
        assert_true(*p == '>');
    }
    assert_int_equal(depth, 0);
    assert_false(has(t, "style=") || has(t, "<style") || has(t, "<script") || has(t, "onload"));
    assert_false(has(t, "nan") || has(t, "inf\""));
    assert_true(has(t, "scores from "));
    assert_true(has(t, "role=\"group\" aria-label=\"title &lt;b&gt; &amp; &quot;more&quot;\""));
}

static const char *const title = "title <b> & \"more\"";

static void test_svg_heat(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    double scores[12] = {0, 1, -1, 2, -2, 0.5, 0, NAN, 1, 3, -4, 0};
    asc_heat heats[2] = {{scores, 3, 4, "<i>&"},
                         {scores, 1, 12, "a label that does not fit over its picture at all"}};
    asc_colour_scale s;
    asc_image picture;
    asc_text *t = text_of(ctx);
    assert_ok(ctx, asc_colour_scale_of(ctx, scores, 12, 0, &s));
    assert_ok(ctx, asc_image_create(ctx, 8, 6, &picture));
    assert_ok(ctx, asc_draw_heat_svg(ctx, t, title, heats, 2, &s, &picture));
    check_xml(t);
    assert_int_equal(count(t, "data:image/png;base64,iVBOR"), 3);
    assert_int_equal(count(t, "tabindex=\"0\""), 4);
    assert_true(has(
        t,
        "&lt;i&gt;&amp;, 3 rows, 4 columns; most towards: +3 at row 2, column 1; most against: -4 at row 2, "
        "column 2"));
    asc_text_clear(t);
    assert_ok(ctx, asc_draw_heat_svg(ctx, t, title, &heats[1], 1, &s, NULL));
    check_xml(t);
    assert_int_equal(asc_draw_heat_svg(ctx, t, title, heats, 0, &s, NULL), ASC_INVALID_ARGUMENT);
    asc_image_free(ctx, &picture);
    asc_text_destroy(t);
    test_ctx_end(ctx);
}

static void test_svg_bars(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    const double scores[] = {0.3, -0.12, 0.05, 0, NAN}, errors[] = {0.01, 0.5, NAN, 0, 1},
                 values[] = {39, 1e6, -0.25, 0, NAN};
    const char *const names[] = {"age", "<script>alert(\"1\")</script>", NULL, "name\n\x1b[31m",
                                 "a name of many, many, many letters"};
    asc_bars b = {scores, errors, values, names, 5, 0};
    asc_colour_scale s;
    asc_text *t = text_of(ctx);
    assert_ok(ctx, asc_colour_scale_of(ctx, scores, 5, 0, &s));
    b.values = NULL;
    assert_ok(ctx, asc_draw_bars_svg(ctx, t, title, &b, &s));
    check_xml(t);
    assert_int_equal(count(t, "tabindex=\"0\""), 6);
    assert_true(has(t, "age: +0.3 \xc2\xb1 0.01"));
    assert_true(has(t, "x=\"470.0\" y=\"33.0\" width=\"170.0\"")); /* the largest fills its half */
    assert_true(has(t, "x=\"402.0\" y=\"55.0\" width=\"68.0\""));  /* 0.12 / 0.3 of it, to the left */
    asc_text_clear(t);
    b.values = values;
    b.most = 2;
    b.n = 4;
    assert_ok(ctx, asc_draw_bars_svg(ctx, t, title, &b, &s));
    check_xml(t);
    assert_true(has(t, "age = 39: +0.3") && has(t, "and 2 more"));
    assert_false(has(t, "+0.05"));
    asc_text_destroy(t);
    test_ctx_end(ctx);
}

static void test_svg_strips(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    enum { N = 40000 };
    int32_t *bytes = calloc(N, sizeof *bytes);
    int64_t *offsets = calloc(N, sizeof *offsets);
    double *scores = calloc(N, sizeof *scores), *signal = calloc(N, sizeof *signal);
    for (int i = 0; i < N; i++) {
        bytes[i] = i < 10 ? 256 : i % 256;
        offsets[i] = i < 10 ? -1 : i;
        scores[i] = (i == 20 ? 2 : i == 21 ? -1 : 0);
        signal[i] = i == 500 ? NAN : sin(i * 0.01);
    }
    asc_byte_strip strip = {bytes, offsets, scores, 60};
    asc_colour_scale s;
    asc_text *t = text_of(ctx);
    assert_ok(ctx, asc_colour_scale_of(ctx, scores, N, 0, &s));
    assert_ok(ctx, asc_draw_bytes_svg(ctx, t, title, &strip, &s));
    check_xml(t);
    assert_true(has(t, "bytes 10 to 15; ") &&
                has(t, "bytes 16 to 31; strongest: byte 20, hexadecimal 14, +2"));
    assert_int_equal(count(t, "stroke-dasharray"), 0);
    assert_int_equal(count(t, "<title>"), 2); /* only coloured bytes have tips */
    assert_true(has(t, ">&lt;</text>") == false && has(t, ">&#39;</text>")); /* 0x27 */
    asc_text_clear(t);
    offsets[40] = 0; /* a second look at the start: a line before and after it */
    assert_ok(ctx, asc_draw_bytes_svg(ctx, t, title, &strip, &s));
    check_xml(t);
    assert_int_equal(count(t, "stroke-dasharray"), 2);
    asc_text_clear(t);
    offsets[40] = 40;
    strip.n = N;
    assert_ok(ctx, asc_draw_bytes_svg(ctx, t, title, &strip, &s));
    check_xml(t);
    assert_true(has(t, "23616 more bytes"));
    asc_text_clear(t);
    for (int n = 1; n <= N; n = n * 5 + 3) {
        assert_ok(ctx, asc_draw_signal_svg(ctx, t, title, signal, scores, (size_t)n, &s));
        asc_text_clear(t);
    }
    assert_ok(ctx, asc_draw_signal_svg(ctx, t, title, signal, scores, N, &s));
    check_xml(t);
    assert_true(has(t, "each column has the strongest score of its 50 or 50 samples"));
    assert_true(has(t, "samples 0 to 1249; strongest score +2"));
    assert_int_equal(asc_draw_signal_svg(ctx, t, title, signal, scores, 0, &s), ASC_INVALID_ARGUMENT);
    asc_text_destroy(t);
    free(bytes);
    free(offsets);
    free(scores);
    free(signal);
    test_ctx_end(ctx);
}

static void test_terminal(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    const double scores[] = {0.5, -0.25, 0, 0.125}, errors[] = {0.01, NAN, 0, 1},
                 values[] = {1, 2.5, -3, 1e6};
    const char *const names[] = {"age", "a\x1b[1m", NULL, "x"};
    asc_bars b = {scores, errors, values, names, 4, 0};
    asc_report_style style = {.struct_size = sizeof style};
    asc_colour_scale s;
    asc_text *t = text_of(ctx);
    assert_ok(ctx, asc_colour_scale_of(ctx, scores, 4, 0, &s));
    asc_draw_bars_text(t, &b, &s, &style);
    assert_string_equal(asc_text_view(t).ptr,
                        "       score  error                                  feature\n"
                        "        +0.5  \xc2\xb1 0.01       ++++++++++++++++++++++++  age = 1\n"
                        "       -0.25  \xc2\xb1 -          ------------              a\\x1b[1m = 2.5\n"
                        "           0  \xc2\xb1 0                                    2 = -3\n"
                        "      +0.125  \xc2\xb1 1          ++++++                    x = 1e+06\n");
    asc_text_clear(t);
    asc_heat heat = {scores, 2, 2, "map"};
    asc_draw_heat_text(t, &heat, &s, &style);
    assert_string_equal(asc_text_view(t).ptr, "  map\n"
                                              "        +0.5      -0.25\n"
                                              "           0     +0.125\n"
                                              "  scores from -0.25 to 0.5; full colour from 0.5 on\n");
    asc_text_clear(t);
    style.colours = ASC_COLOURS_RGB;
    asc_draw_heat_text(t, &heat, &s, &style);
    assert_true(has(t, "\x1b[38;2;196;80;0m\x1b[48;2;255;255;255m\xe2\x96\x80"));
    assert_int_equal(count(t, "\n"), 3);
    double *large = calloc(300 * 200, sizeof *large);
    for (int i = 0; i < 300 * 200; i++) large[i] = i % 17 - 8;
    asc_heat big = {large, 300, 200, NULL};
    asc_text_clear(t);
    asc_draw_heat_text(t, &big, &s, &style);
    assert_int_equal(count(t, "\n"), 43); /* 56 columns, 84 rows in 42 lines, the caption */
    asc_text_clear(t);
    style.colours = ASC_COLOURS_NONE;
    style.rows = 2;
    asc_draw_heat_text(t, &big, &s, &style);
    assert_true(has(t, "each number is the sum over a part of about 37 x 25 of 300 x 200 scores"));
    asc_draw_bars_text(t, &b, &s, &style);
    assert_true(has(t, "and 2 more"));
    assert_ok(ctx, asc_text_status(t));
    free(large);
    asc_text_destroy(t);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scale),      cmocka_unit_test(test_colours),  cmocka_unit_test(test_heat),
        cmocka_unit_test(test_grid),       cmocka_unit_test(test_svg_heat), cmocka_unit_test(test_svg_bars),
        cmocka_unit_test(test_svg_strips), cmocka_unit_test(test_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
