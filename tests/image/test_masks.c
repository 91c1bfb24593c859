/* test_masks.c - patches and superpixels: ids without gaps, connected regions, colours' borders found, the
 * count near what was asked for, the same regions each time; CIELAB against published values. */
#include "harness.h"
#include "image.h"
#include "lab.h"
#include <math.h>

typedef struct regions {
    asc_array a;
    int64_t n;
} regions;

static const int32_t *ids(const regions *r) { return r->a.data; }
static void end(asc_ctx *ctx, regions *r) { asc_array_free(ctx, &r->a); }

/* Ids 0 .. n-1 all occur, in the order of their first pixels, and each is one connected region. */
static void check_regions(const regions *r, int64_t w, int64_t h) {
    int64_t *stack = calloc((size_t)(w * h), sizeof *stack);
    bool *seen = calloc((size_t)(w * h), 1);
    int32_t next = 0;
    for (int64_t i = 0; i < w * h; i++) {
        if (seen[i]) continue;
        assert_int_equal(ids(r)[i], next); /* a region that appears twice is not connected */
        next++;
        int64_t top = 0;
        stack[top++] = i;
        seen[i] = true;
        while (top > 0) {
            int64_t p = stack[--top], x = p % w, y = p / w;
            int64_t near[4] = {x > 0 ? p - 1 : p, x + 1 < w ? p + 1 : p, y > 0 ? p - w : p,
                               y + 1 < h ? p + w : p};
            for (int k = 0; k < 4; k++)
                if (!seen[near[k]] && ids(r)[near[k]] == ids(r)[p]) {
                    seen[near[k]] = true;
                    stack[top++] = near[k];
                }
        }
    }
    assert_int_equal(next, r->n);
    free(stack);
    free(seen);
}

typedef int (*part_fn)(int64_t x, int64_t y);
static int quarters(int64_t x, int64_t y) { return (x >= 37) + 2 * (y >= 23); }
static int disc(int64_t x, int64_t y) { return (x - 50) * (x - 50) + (y - 30) * (y - 30) < 400; }
static int stripes(int64_t x, int64_t y) { return (int)((x + y) / 11 % 3); }
static int plain(int64_t x, int64_t y) { return (int)(0 * (x + y)); }

static asc_image painted(asc_ctx *ctx, int64_t w, int64_t h, part_fn part, int noise) {
    static const uint8_t colours[4][3] = {{200, 40, 40}, {40, 160, 60}, {40, 60, 200}, {230, 210, 60}};
    asc_image im;
    uint32_t draw = 12345;
    assert_ok(ctx, asc_image_create(ctx, w, h, &im));
    for (int64_t i = 0; i < w * h; i++)
        for (int c = 0; c < 3; c++) {
            draw = draw * 1664525u + 1013904223u;
            int v = colours[part(i % w, i / w)][c] +
                    (noise > 0 ? (int)(draw >> 16) % (2 * noise + 1) - noise : 0);
            im.rgb[3 * i + c] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
        }
    return im;
}

static void test_superpixels(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    static const struct {
        part_fn part;
        int noise;
        int64_t wanted;
        double impure; /* share of pixels in a region of another colour, at most */
    } rows[] = {{quarters, 0, 40, 0},     {quarters, 12, 40, 0.002}, {disc, 0, 60, 0},
                {disc, 12, 60, 0.004},    {stripes, 0, 150, 0.001},  {stripes, 0, 80, 0.002},
                {stripes, 20, 80, 0.002}, {plain, 12, 30, 0},        {quarters, 0, 4, 0.2},
                {plain, 0, 1, 0}};
    const int64_t w = 101, h = 67;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        asc_image im = painted(ctx, w, h, rows[i].part, rows[i].noise);
        regions r, again;
        assert_ok(ctx, asc_mask_superpixels(ctx, &im, rows[i].wanted, 0, &r.a, &r.n));
        assert_int_equal(r.a.elem, ASC_ELEM_I32);
        check_regions(&r, w, h);
        if (r.n < (rows[i].wanted + 1) / 2 || r.n > 2 * rows[i].wanted + 4)
            fail_msg("case %zu: %lld regions for %lld", i, (long long)r.n, (long long)rows[i].wanted);
        int64_t(*votes)[4] = calloc((size_t)r.n, sizeof *votes), wrong = w * h;
        for (int64_t p = 0; p < w * h; p++) votes[ids(&r)[p]][rows[i].part(p % w, p / w)]++;
        for (int64_t k = 0; k < r.n; k++) {
            int64_t most = 0;
            for (int c = 0; c < 4; c++) most = votes[k][c] > most ? votes[k][c] : most;
            wrong -= most;
        }
        free(votes);
        if ((double)wrong > rows[i].impure * (double)(w * h))
            fail_msg("case %zu: %lld pixels on the wrong side of a border", i, (long long)wrong);
        assert_ok(ctx, asc_mask_superpixels(ctx, &im, rows[i].wanted, 0, &again.a, &again.n));
        assert_int_equal(again.n, r.n);
        assert_memory_equal(ids(&r), ids(&again), (size_t)(w * h) * sizeof(int32_t));
        end(ctx, &r);
        end(ctx, &again);
        asc_image_free(ctx, &im);
    }
    test_ctx_end(ctx);
}

static void test_odd_shapes(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    static const int64_t shapes[][3] = {{1, 1, 1}, {1, 50, 7},  {50, 1, 7},
                                        {2, 3, 6}, {3, 200, 9}, {16, 16, 256}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        asc_image im = painted(ctx, shapes[i][0], shapes[i][1], stripes, 30);
        regions r;
        assert_ok(ctx, asc_mask_superpixels(ctx, &im, shapes[i][2], 5, &r.a, &r.n));
        check_regions(&r, shapes[i][0], shapes[i][1]);
        end(ctx, &r);
        asc_image_free(ctx, &im);
    }
    asc_image im = painted(ctx, 8, 8, plain, 0);
    regions r;
    assert_int_equal(asc_mask_superpixels(ctx, &im, 0, 0, &r.a, &r.n), ASC_OUT_OF_RANGE);
    assert_int_equal(asc_mask_superpixels(ctx, &im, 65, 0, &r.a, &r.n), ASC_OUT_OF_RANGE);
    assert_int_equal(asc_mask_superpixels(ctx, &im, 4, NAN, &r.a, &r.n), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_mask_superpixels(ctx, &im, 4, -1, &r.a, &r.n), ASC_INVALID_ARGUMENT);
    assert_null(r.a.data);
    asc_image_free(ctx, &im);
    test_ctx_end(ctx);
}

static void test_grid(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    static const int32_t wanted[5][7] = {{0, 0, 0, 1, 1, 1, 2},
                                         {0, 0, 0, 1, 1, 1, 2},
                                         {3, 3, 3, 4, 4, 4, 5},
                                         {3, 3, 3, 4, 4, 4, 5},
                                         {6, 6, 6, 7, 7, 7, 8}};
    regions r;
    assert_ok(ctx, asc_mask_grid(ctx, 5, 7, 2, 3, &r.a, &r.n));
    assert_int_equal(r.n, 9);
    assert_memory_equal(ids(&r), wanted, sizeof wanted);
    end(ctx, &r);
    assert_ok(ctx, asc_mask_grid(ctx, 5, 7, 100, INT64_MAX, &r.a, &r.n));
    assert_int_equal(r.n, 1);
    end(ctx, &r);
    assert_int_equal(asc_mask_grid(ctx, 5, 7, 0, 3, &r.a, &r.n), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_mask_grid(ctx, 0, 7, 1, 3, &r.a, &r.n), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_mask_grid(ctx, 1 << 20, 7, 1, 3, &r.a, &r.n), ASC_RESOURCE_EXHAUSTED);
    test_ctx_end(ctx);
}

/* The usual published coordinates of sRGB colours (D65, 2 degrees), four decimals. */
static void test_lab(void **state) {
    (void)state;
    static const struct {
        uint8_t rgb[3];
        double lab[3];
    } rows[] = {{{255, 0, 0}, {53.2408, 80.0925, 67.2032}},
                {{0, 255, 0}, {87.7347, -86.1827, 83.1793}},
                {{0, 0, 255}, {32.2970, 79.1875, -107.8602}},
                {{255, 255, 255}, {100, 0, 0}},
                {{0, 0, 0}, {0, 0, 0}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        float lab[3];
        asc_lab_of(rows[i].rgb, lab);
        for (int c = 0; c < 3; c++)
            if (fabs(lab[c] - rows[i].lab[c]) > 0.02)
                fail_msg("colour %zu: %g, not %g", i, lab[c], rows[i].lab[c]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_superpixels), cmocka_unit_test(test_odd_shapes),
                                       cmocka_unit_test(test_grid), cmocka_unit_test(test_lab)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
