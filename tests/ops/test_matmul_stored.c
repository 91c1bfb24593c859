/* test_matmul_stored.c - matmul with weights in their stored type: the same bits as with the expanded f32
 * values, for all flag combinations, forwards, by gradient and by tangent, on the reference device. */
#include "harness.h"

#include "exec.h"
#include "grad.h"
#include "ops.h"

enum { M = 3, ROWS = 5, COLS = 64, BATCH = 2 };

/* Blocks of q8_0: a half-precision scale (here 2^-7, 0x2000) and 32 signed bytes. */
static void make_q8_0(unsigned char *out) {
    for (int i = 0; i < ROWS * COLS / 32; i++, out += 34) {
        out[0] = 0;
        out[1] = 0x20;
        for (int j = 0; j < 32; j++) out[2 + j] = (unsigned char)(i * 37 + j * 11);
    }
}

static void read_all(asc_ctx *ctx, asc_tensor *a, asc_tensor *b, bool ta, bool tb, double *out, size_t *n) {
    asc_tensor *y = asc_matmul(ctx, a, b, ta, tb), *g, *t;
    asc_grad(ctx, asc_sum(ctx, asc_square(ctx, y), 3, (int[]){0, 1, 2}, false), NULL, &a, 1, &g);
    t = asc_jvp(ctx, y, &a, (asc_tensor *const[]){asc_square(ctx, a)}, 1);
    asc_tensor *all[3] = {y, g, t};
    *n = 0;
    for (int i = 0; i < 3; i++) {
        const size_t count = (size_t)asc_tensor_elems(all[i]);
        assert_ok(ctx, asc_read_f64(ctx, all[i], out + *n, count));
        *n += count;
    }
}

static void test_flags(void **state) {
    (void)state;
    static unsigned char stored[ROWS * COLS / 32 * 34];
    static float expanded[ROWS * COLS];
    static double a[BATCH * M * COLS], got[4096], want[4096];
    make_q8_0(stored);
    asc_dtype_expand(ASC_DTYPE_Q8_0)(stored, expanded, ROWS * COLS);
    for (int i = 0; i < BATCH * M * COLS; i++) a[i] = (double)(i % 23) / 16 - 0.5;
    for (int i = 0; i < 4; i++) {
        const bool ta = i % 2 != 0, tb = i / 2 != 0;
        const int64_t inner = tb ? COLS : ROWS;
        asc_ctx *ctx = test_ctx("reference", "deferred");
        asc_tensor *x = asc_from_f64(ctx, ta ? ASC_SHAPE(BATCH, inner, M) : ASC_SHAPE(BATCH, M, inner), a);
        const asc_shape shape = ASC_SHAPE(ROWS, COLS);
        size_t n[2];
        read_all(ctx, x, asc_from_stored(ctx, ASC_DTYPE_Q8_0, shape, stored), ta, tb, got, &n[0]);
        read_all(ctx, x, asc_from_f32(ctx, shape, expanded), ta, tb, want, &n[1]);
        assert_int_equal(n[0], n[1]);
        for (size_t e = 0; e < n[0]; e++)
            if (got[e] != want[e])
                fail_msg("flags %d element %d: %.17g, want %.17g", i, (int)e, got[e], want[e]);
        test_ctx_end(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_flags)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
