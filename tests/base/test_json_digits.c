/* test_json_digits.c - numbers are written with the fewest digits that read back: against trying each count.
 */
#include "harness.h"
#include "json.h"
#include <float.h>
#include <math.h>

static void same(asc_ctx *ctx, double v) {
    asc_strbuf b;
    asc_jsonw w;
    char want[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(want, sizeof want, "%.*g", digits, v);
        if (memcmp(&(double){strtod(want, NULL)}, &v, sizeof v) == 0) break;
    }
    asc_strbuf_init(&b, ctx);
    asc_jsonw_init(&w, &b, true);
    asc_jsonw_num(&w, v);
    const asc_view got = asc_strbuf_view(&b);
    if (got.len != strlen(want) || memcmp(got.ptr, want, got.len) != 0)
        fail_msg("%.*s, expected %s", (int)got.len, got.ptr, want);
    asc_strbuf_deinit(&b);
}

static void fewest(void **state) {
    static const double fixed[] = {0.0,
                                   -0.0,
                                   1.0,
                                   10.0,
                                   1e6,
                                   123456789.0,
                                   1e15,
                                   1e16,
                                   1e22,
                                   1e23,
                                   9007199254740993.0,
                                   0.1,
                                   0.3,
                                   1e-5,
                                   5e-324,
                                   1e-310,
                                   DBL_MIN,
                                   DBL_MAX,
                                   1.0 / 3.0,
                                   100.0 / 3.0};
    asc_ctx *ctx = test_ctx("cpu", NULL);
    uint64_t r = 88172645463325252u;
    (void)state;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) same(ctx, fixed[i]);
    for (int e = -1074; e <= 1023; e++) {
        const double p = ldexp(1.0, e);
        same(ctx, p);
        same(ctx, -nextafter(p, 0.0));
        same(ctx, nextafter(p, 1e308));
    }
    for (int i = 0; i < 20000; i++) {
        double v;
        char t[40];
        r ^= r << 13;
        r ^= r >> 7;
        r ^= r << 17;
        memcpy(&v, &r, sizeof v);
        if (!isfinite(v)) continue;
        same(ctx, v);
        same(ctx, (double)(float)ldexp((double)(r >> 11), -53));
        snprintf(t, sizeof t, "%.*g", 1 + i % 16, v); /* decimals of every length, and their neighbours */
        v = strtod(t, NULL);
        if (!isfinite(v)) continue;
        same(ctx, v);
        if (fabs(v) < 1e308) same(ctx, nextafter(v, 0.0));
    }
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(fewest)};
    return cmocka_run_group_tests_name("digits of numbers", tests, NULL, NULL);
}
