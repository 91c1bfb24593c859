/* test_image_files.c - decoding, resizing, cropping and normalising against the bytes of Pillow and torch
 * (tests/data/image/cases.txt), damaged files, limits, memory that runs out. */
#include "harness.h"
#include "file.h"
#include "hash.h"
#include "image.h"
#include <unistd.h>

static char *text_of(asc_ctx *ctx, const char *name, size_t *len) {
    char *data = NULL, path[128];
    snprintf(path, sizeof path, "image/%s", name);
    assert_ok(ctx, asc_file_read(ctx, test_data(path), 1 << 20, &data, len));
    return data;
}

static asc_image source(asc_ctx *ctx) {
    asc_image im;
    assert_ok(ctx, asc_image_read(ctx, test_data("image/rgb.png"), &im));
    return im;
}

static void same_bytes(const char *what, const void *data, size_t n, const char *sha) {
    char hex[65];
    asc_sha256_hex(data, n, hex);
    if (strcmp(hex, sha) != 0) fail_msg("%s: other bytes", what);
}

static void run_case(asc_ctx *ctx, const asc_image *src, const char *line) {
    char op[16], name[32], sha[65], kind[16];
    int w, h;
    asc_image im = {0};
    asc_filter filter = ASC_FILTER_BICUBIC;
    if (sscanf(line, "prep %31s %15s %d %64s", name, kind, &h, sha) == 4) {
        asc_image_prep p = {.struct_size = sizeof p,
                            .filter = ASC_FILTER_BICUBIC,
                            .resize_short = 32,
                            .crop_width = 28,
                            .crop_height = 30,
                            .normalise = name,
                            .nhwc = strcmp(kind, "nhwc") == 0,
                            .bgr = strcmp(kind, "bgr") == 0,
                            .grey = strcmp(kind, "grey") == 0};
        asc_array a;
        assert_ok(ctx, asc_image_to_array(ctx, src, &p, &a, &im));
        assert_int_equal(im.width, 28);
        assert_int_equal(a.shape.rank, 4);
        assert_int_equal(a.shape.dims[p.nhwc ? 3 : 1], p.grey ? 1 : 3);
        same_bytes(line, a.data, (size_t)(28 * 30 * (p.grey ? 1 : 3)) * sizeof(float), sha);
        asc_array_free(ctx, &a);
        asc_image_free(ctx, &im);
        return;
    }
    assert_int_equal(sscanf(line, "%15s %31s %d %d %64s", op, name, &w, &h, sha), 5);
    if (strcmp(op, "decode") == 0) {
        char path[64];
        snprintf(path, sizeof path, "image/%s", name);
        assert_ok(ctx, asc_image_read(ctx, test_data(path), &im));
        assert_int_equal(im.width, w);
        assert_int_equal(im.height, h);
    } else if (strcmp(op, "crop") == 0) {
        assert_ok(ctx, asc_image_crop(ctx, src, w, h, &im));
    } else {
        assert_ok(ctx, asc_filter_by_name(ctx, name, &filter));
        if (strcmp(op, "short") == 0)
            assert_ok(ctx, asc_image_resize_short(ctx, src, w, filter, &im));
        else
            assert_ok(ctx, asc_image_resize(ctx, src, w, h, filter, &im));
    }
    same_bytes(line, im.rgb, (size_t)(im.width * im.height) * 3, sha);
    asc_image_free(ctx, &im);
}

static void test_cases(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    size_t n;
    int ran = 0;
    char *text = text_of(ctx, "cases.txt", &n), *rest = text;
    asc_image src = source(ctx);
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        if (line[0] != '\0' && line[0] != '#') run_case(ctx, &src, line), ran++;
    assert_true(ran >= 85);
    asc_image_free(ctx, &src);
    asc_free(ctx, text);
    test_ctx_end(ctx);
}

static void test_notes(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    static const struct {
        const char *file, *says;
    } rows[] = {{"image/rgb.png", ""},
                {"image/rgba.png", "laid over RGB 255 255 255"},
                {"image/exif.png", "EXIF orientation 6 was not applied"},
                {"image/exif.jpg", "EXIF orientation 6 was not applied"},
                {"image/rgb16.png", "upper 8"},
                {"image/cmyk.jpg", "CMYK"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        asc_image im;
        size_t n;
        int64_t width = 0, height = 0;
        assert_ok(ctx, asc_image_read(ctx, test_data(rows[i].file), &im));
        char *file = text_of(ctx, rows[i].file + strlen("image/"), &n); /* its size is there to see before */
        assert_true(asc_image_peek(file, n, &width, &height));
        assert_true(width == im.width && height == im.height);
        for (size_t cut = 0; cut < n; cut++) (void)asc_image_peek(file, cut, &width, &height);
        asc_free(ctx, file);
        if (rows[i].says[0] == '\0') assert_string_equal(im.note, "");
        if (strstr(im.note, rows[i].says) == NULL) fail_msg("%s: '%s'", rows[i].file, im.note);
        asc_image_free(ctx, &im);
    }
    test_ctx_end(ctx);
}

/* Cut anywhere, a picture is refused, with the row as soon as there are rows. */
static void test_truncated(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    static const char *const files[] = {"rgb.png",     "adam7.png",       "palette4.png", "q75_420.jpg",
                                        "q95_444.jpg", "progressive.jpg", "restart.jpg",  "cmyk.jpg"};
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        size_t n;
        int rows = 0;
        char *data = text_of(ctx, files[f], &n);
        for (size_t cut = 8; cut < n; cut += 1 + (n - cut) / 40) {
            asc_image im;
            char *exact = malloc(cut);
            memcpy(exact, data, cut);
            asc_status st = asc_image_decode(ctx, exact, cut, NULL, &im);
            if (st != ASC_DATA_LOSS) fail_msg("%s cut at %zu: %s", files[f], cut, asc_status_name(st));
            assert_null(im.rgb);
            assert_true(asc_error_hint(ctx)[0] != '\0');
            assert_non_null(strstr(asc_error_message(ctx), "truncated"));
            rows += strstr(asc_error_message(ctx), "at row ") != NULL;
            free(exact);
        }
        if (rows < 10) fail_msg("%s: the row was named %d times", files[f], rows);
        asc_free(ctx, data);
    }
    test_ctx_end(ctx);
}

/* Any one byte changed: a picture or an error, nothing else. */
static void test_damaged(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    static const char *const files[] = {"adam7.png", "grey.jpg", "progressive.jpg", "palette4.png",
                                        "exif.jpg"};
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        size_t n;
        char *data = text_of(ctx, files[f], &n);
        for (size_t i = 0; i < n; i++) {
            asc_image im;
            char old = data[i];
            data[i] = (char)(old ^ (i % 2 == 0 ? 0xff : 0x10));
            asc_status st = asc_image_decode(ctx, data, n, NULL, &im);
            if (st != ASC_OK && asc_error_message(ctx)[0] == '\0') fail_msg("%s: no message", files[f]);
            asc_image_free(ctx, &im);
            data[i] = old;
        }
        asc_free(ctx, data);
    }
    test_ctx_end(ctx);
}

/* An end marker in the middle of the pixels: the rest would be grey. */
static void test_early_end(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    static const char *const files[] = {"q75_420.jpg", "grey.jpg", "cmyk.jpg"};
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        size_t n;
        asc_image im;
        char *data = text_of(ctx, files[f], &n);
        n -= 200;
        data[n - 2] = (char)0xff;
        data[n - 1] = (char)0xd9;
        assert_int_equal(asc_image_decode(ctx, data, n, NULL, &im), ASC_DATA_LOSS);
        assert_non_null(strstr(asc_error_message(ctx), "damaged JPEG picture, at row "));
        asc_free(ctx, data);
    }
    test_ctx_end(ctx);
}

static void put32(unsigned char *p, uint32_t v) {
    for (int i = 0; i < 4; i++) p[i] = (unsigned char)(v >> (24 - 8 * i));
}

static uint32_t crc32_of(const unsigned char *p, size_t n) {
    uint32_t c = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
    }
    return ~c;
}

/* A claim of many pixels costs nothing: refused before anything of the size is allocated. */
static void test_absurd_sizes(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    static const struct {
        uint32_t w, h;
        asc_status wanted;
    } rows[] = {{0x7fffffff, 0x7fffffff, ASC_RESOURCE_EXHAUSTED},
                {65501, 1, ASC_RESOURCE_EXHAUSTED},
                {60000, 60000, ASC_RESOURCE_EXHAUSTED},
                {11000, 11000, ASC_DATA_LOSS}, /* allowed, but not in a file of 1 KB */
                {0, 5, ASC_DATA_LOSS}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t n;
        asc_image im;
        unsigned char *png = (unsigned char *)text_of(ctx, "adam7.png", &n);
        put32(png + 16, rows[i].w);
        put32(png + 20, rows[i].h);
        put32(png + 29, crc32_of(png + 12, 17));
        size_t peak = asc_memory(ctx).peak_total;
        assert_int_equal(asc_image_decode(ctx, png, n, NULL, &im), rows[i].wanted);
        assert_true(asc_memory(ctx).peak_total < peak + (1 << 20));
        asc_free(ctx, png);
        unsigned char *jpg = (unsigned char *)text_of(ctx, "q75_420.jpg", &n);
        for (size_t k = 0; k + 9 < n; k++)
            if (jpg[k] == 0xff && jpg[k + 1] == 0xc0) jpg[k + 5] = jpg[k + 7] = 0xff;
        assert_int_equal(asc_image_decode(ctx, jpg, n, NULL, &im), ASC_RESOURCE_EXHAUSTED);
        assert_true(asc_memory(ctx).peak_total < peak + (1 << 20));
        asc_free(ctx, jpg);
    }
    asc_image im;
    assert_int_equal(asc_image_create(ctx, 0, 3, &im), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_image_create(ctx, 3, -1, &im), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_image_decode(ctx, "GIF89a", 6, NULL, &im), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_image_decode(ctx, "", 0, NULL, &im), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_image_read(ctx, test_data("image/none.png"), &im), ASC_NOT_FOUND);
    test_ctx_end(ctx);
}

/* Resizing keeps a few rows between its passes, and a PNG is read a row at a time. */
static void test_memory(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_image large = {0}, small = {0}, again = {0};
    char path[TEST_TMP];
    const int fd = mkstemp(test_tmp_name(path, "ascribe-image-XXXXXX"));
    assert_true(fd >= 0);
    close(fd);
    assert_ok(ctx, asc_image_create(ctx, 3000, 2000, &large));
    for (size_t i = 0; i < (size_t)3000 * 2000 * 3; i++) large.rgb[i] = (uint8_t)(i * i >> 7);
    const size_t live = asc_memory(ctx).live_total;
    assert_ok(ctx, asc_image_resize(ctx, &large, 300, 200, ASC_FILTER_BICUBIC, &small));
    assert_true(asc_memory(ctx).peak_total - live < ((size_t)300 * 200 + 300 * 60) * 3 + 200000);
    assert_ok(ctx, asc_image_write(ctx, path, &large));
    asc_ctx *fresh = test_ctx("cpu", NULL);
    char *file = NULL;
    size_t len = 0;
    assert_ok(ctx, asc_file_read(ctx, path, 1 << 26, &file, &len));
    asc_free(ctx, file);
    assert_ok(fresh, asc_image_read(fresh, path, &again));
    assert_memory_equal(again.rgb, large.rgb, (size_t)3000 * 2000 * 3);
    assert_true(asc_memory(fresh).peak_total < (size_t)3000 * 2000 * 3 + 2 * len + 500000);
    unlink(path);
    asc_image_free(fresh, &again);
    test_ctx_end(fresh);
    asc_image_free(ctx, &small);
    asc_image_free(ctx, &large);
    test_ctx_end(ctx);
}

static void test_refused_options(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_image src = source(ctx), im;
    asc_array a;
    double zero[3] = {1, 0, 1};
    asc_filter filter;
    static const asc_image_prep base = {.struct_size = sizeof base};
    asc_image_prep p = base;
    p.normalise = "imagnet";
    assert_int_equal(asc_image_to_array(ctx, &src, &p, &a, NULL), ASC_NOT_FOUND);
    assert_non_null(strstr(asc_error_hint(ctx), "imagenet, clip, half, unit, none"));
    p = base, p.deviation = zero;
    assert_int_equal(asc_image_to_array(ctx, &src, &p, &a, NULL), ASC_INVALID_ARGUMENT);
    p = base, p.crop_width = p.crop_height = 100;
    assert_int_equal(asc_image_to_array(ctx, &src, &p, &a, &im), ASC_OUT_OF_RANGE);
    p = base, p.resize_short = 10, p.width = p.height = 20;
    assert_int_equal(asc_image_to_array(ctx, &src, &p, &a, NULL), ASC_INVALID_ARGUMENT);
    p = base, p.width = 20;
    assert_int_equal(asc_image_to_array(ctx, &src, &p, &a, NULL), ASC_INVALID_ARGUMENT);
    p = base, p.struct_size = 4;
    assert_int_equal(asc_image_to_array(ctx, &src, &p, &a, NULL), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_filter_by_name(ctx, "cubic", &filter), ASC_NOT_FOUND);
    assert_int_equal(asc_image_resize(ctx, &src, 70000, 4, ASC_FILTER_BOX, &im), ASC_RESOURCE_EXHAUSTED);
    assert_int_equal(asc_image_resize_short(ctx, &src, 0, ASC_FILTER_BOX, &im), ASC_INVALID_ARGUMENT);
    float level[3];
    p = base, p.normalise = "half";
    assert_ok(ctx, asc_image_level(ctx, &p, 0, level));
    assert_true(level[0] >= -1 && level[0] <= -1);
    assert_int_equal(asc_image_level(ctx, &p, 256, level), ASC_OUT_OF_RANGE);
    asc_image_free(ctx, &src);
    test_ctx_end(ctx);
}

/* What is written reads back; a failed write leaves nothing. */
static void test_write(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    char path[TEST_TMP];
    int fd = mkstemp(test_tmp_name(path, "asc-image-XXXXXX"));
    assert_true(fd >= 0);
    close(fd);
    asc_image src = source(ctx), back;
    assert_ok(ctx, asc_image_write(ctx, path, &src));
    assert_ok(ctx, asc_image_read(ctx, path, &back));
    assert_int_equal(back.width, src.width);
    assert_memory_equal(back.rgb, src.rgb, (size_t)(src.width * src.height) * 3);
    asc_image_free(ctx, &back);
    unlink(path);
    assert_int_equal(asc_image_write(ctx, "/nowhere/at/all.png", &src), ASC_NOT_FOUND);
    asc_image_free(ctx, &src);
    test_ctx_end(ctx);
}

/* Every allocation fails once: an error each time, nothing left behind. */
static void test_out_of_memory(void **state) {
    (void)state;
    static const char *const files[] = {"adam7.png", "cmyk.jpg"};
    for (size_t f = 0; f < 2; f++) {
        bool done = false;
        for (long at = 1; !done; at++) {
            test_alloc t = {0};
            asc_ctx_options o = {.struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &t};
            asc_ctx *ctx = NULL;
            size_t n;
            assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
            char *data = text_of(ctx, files[f], &n);
            asc_image im, small = {0};
            asc_strbuf png;
            asc_strbuf_init(&png, ctx);
            long live = t.live;
            t.count = 0;
            t.fail_at = at;
            asc_status st = asc_image_decode(ctx, data, n, NULL, &im);
            if (st == ASC_OK) st = asc_image_resize(ctx, &im, 5, 6, ASC_FILTER_LANCZOS, &small);
            if (st == ASC_OK) st = asc_png_encode(ctx, &small, &png);
            if (st != ASC_OK && st != ASC_RESOURCE_EXHAUSTED)
                fail_msg("%s, allocation %ld: %s", files[f], at, asc_error_message(ctx));
            done = t.count < at;
            asc_image_free(ctx, &im);
            asc_image_free(ctx, &small);
            asc_strbuf_deinit(&png);
            assert_int_equal(t.live, live);
            asc_free(ctx, data);
            test_ctx_end(ctx);
            assert_int_equal(t.live, 0);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),           cmocka_unit_test(test_notes),
        cmocka_unit_test(test_truncated),       cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_absurd_sizes),    cmocka_unit_test(test_memory),
        cmocka_unit_test(test_refused_options), cmocka_unit_test(test_write),
        cmocka_unit_test(test_early_end),       cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
