/* test_ops_random.c - draws: the first ones from Random123's known answer, the same numbers on both devices
 * and in any shape, other numbers for another seed or stream, and the moments of both distributions. */
#include "exec.h"
#include "harness.h"
#include "ops.h"
#include <math.h>

enum { N = 40000 };

static void draw(const char *device, asc_shape shape, int kind, uint64_t seed, uint32_t stream, double *out) {
    asc_ctx *ctx = test_ctx(device, "deferred");
    asc_tensor *t = asc_random(ctx, shape, kind, seed, stream);
    assert_ok(ctx, asc_read_f64(ctx, t, out, (size_t)asc_shape_elems(&shape)));
    test_ctx_end(ctx);
}

/* philox4x32-10 of zeros begins 6627e8d5 e169c58d; Box and Muller of these in Python's doubles. */
static void known(void **state) {
    (void)state;
    double u, z;
    draw("reference", ASC_SCALAR_SHAPE, ASC_RANDOM_UNIFORM, 0, 0, &u);
    draw("reference", ASC_SCALAR_SHAPE, ASC_RANDOM_NORMAL, 0, 0, &z);
    assert_true(u == 0x6627e8 * 0x1p-24);
    if (!(fabs(z - 0.99113767909666) < 1e-7)) fail_msg("%.17g", z);
}

static void devices(void **state) {
    (void)state;
    static double ref[N], cpu[N], other[N];
    const uint64_t seed = 0xfedcba9876543210u;
    for (int kind = 0; kind < ASC_N_RANDOM; kind++) {
        int n_same = 0, n_seed = 0;
        draw("reference", ASC_SHAPE(N), kind, seed, 7, ref);
        draw("cpu", ASC_SHAPE(4, N / 8, 2), kind, seed, 7, cpu);
        for (int i = 0; i < N; i++)
            if (ref[i] != cpu[i]) fail_msg("draw %d: %.17g on cpu, %.17g", i, cpu[i], ref[i]);
        draw("cpu", ASC_SHAPE(N), kind, seed, 8, other);
        for (int i = 0; i < N; i++) n_same += ref[i] == other[i];
        draw("cpu", ASC_SHAPE(N), kind, seed ^ (uint64_t)1 << 63, 7, other); /* the high half counts */
        for (int i = 0; i < N; i++) n_seed += ref[i] == other[i];
        assert_in_range(n_same, 0, 5);
        assert_in_range(n_seed, 0, 5);
    }
}

/* Moments within five standard errors of the sample moments. */
static void moments(void **state) {
    (void)state;
    static double x[N];
    static const double want[ASC_N_RANDOM][4] = {{0.5, 1.0 / 3, 0.25, 0.2}, {0, 1, 0, 3}};
    for (int kind = 0; kind < ASC_N_RANDOM; kind++) {
        draw("cpu", ASC_SHAPE(N), kind, 3, 1, x);
        for (int p = 1; p <= 4; p++) {
            double sum = 0, square = 0;
            for (int i = 0; i < N; i++) {
                if (kind == ASC_RANDOM_UNIFORM) assert_true(x[i] >= 0 && x[i] < 1);
                double v = pow(x[i], p);
                sum += v / N;
                square += v * v / N;
            }
            double error = 5 * sqrt((square - sum * sum) / N);
            if (!(fabs(sum - want[kind][p - 1]) <= error)) fail_msg("kind %d, moment %d: %g", kind, p, sum);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(known), cmocka_unit_test(devices),
                                       cmocka_unit_test(moments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
