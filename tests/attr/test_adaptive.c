/* test_adaptive.c - the adaptive rule on functions whose integrals are known in closed form: sharp steps,
 * peaks and wiggles at random places shared out over the components, smooth ones, kinks, a steep start;
 * limits, noise, failures. */
#include "adaptive.h"
#include "harness.h"
#include <math.h>

enum { MAX_DIM = 7, MAX_FEATURES = 64 };

/* Feature shapes as derivative and antiderivative. */
typedef enum shape { STEP, PEAK, WIGGLE, KINK, ROOT, WAVE, FLAT } shape;
typedef struct feature {
    shape kind;
    double at, width, share[MAX_DIM];
} feature;
typedef struct path {
    size_t dim, n;
    feature f[MAX_FEATURES];
    double noise; /* relative, of every component; from a hash of alpha */
    size_t calls, points;
    double nan_at;
    asc_ctx *cancel;
} path;

static double slope(const feature *f, double x) {
    double u = (x - f->at) / f->width;
    switch (f->kind) {
    case STEP:
        return 1.0 / (cosh(fmin(fabs(u), 300.0)) * cosh(fmin(fabs(u), 300.0)) * f->width);
    case PEAK:
        return 1.0 / ((1.0 + u * u) * f->width);
    case WIGGLE:
        return -2.0 * u * exp(-u * u) / f->width;
    case KINK:
        return x > f->at ? 1.0 : 0.0;
    case ROOT:
        return 0.5 / sqrt(x + f->width);
    case WAVE:
        return cos(u) / f->width;
    default:
        return 1.0;
    }
}

static double value(const feature *f, double x) {
    double u = (x - f->at) / f->width;
    switch (f->kind) {
    case STEP:
        return tanh(u);
    case PEAK:
        return atan(u);
    case WIGGLE:
        return exp(-u * u);
    case KINK:
        return fmax(x - f->at, 0.0);
    case ROOT:
        return sqrt(x + f->width);
    case WAVE:
        return sin(u);
    default:
        return x;
    }
}

static uint32_t next(uint32_t *s) { return *s = *s * 1664525u + 1013904223u; }
static double uniform(uint32_t *s) { return (double)(next(s) >> 8) / 16777216.0; }

static asc_status integrand(void *self, const double *alphas, size_t n, double *f, double *g) {
    path *p = self;
    p->calls++;
    p->points += n;
    for (size_t i = 0; i < n; i++) {
        uint32_t hash = (uint32_t)(alphas[i] * 4294967295.0) ^ 12345u;
        f[i] = 0.0;
        memset(g + i * p->dim, 0, p->dim * sizeof *g);
        for (size_t j = 0; j < p->n; j++) {
            double s = slope(&p->f[j], alphas[i]), v = value(&p->f[j], alphas[i]);
            for (size_t k = 0; k < p->dim; k++) {
                f[i] += p->f[j].share[k] * v;
                g[i * p->dim + k] += p->f[j].share[k] * s;
            }
        }
        double top = 0.0;
        for (size_t k = 0; k < p->dim; k++) top = fmax(top, fabs(g[i * p->dim + k]));
        for (size_t k = 0; k < p->dim; k++)
            g[i * p->dim + k] += p->noise * top * (2.0 * uniform(&hash) - 1.0);
        if (p->nan_at > 0.0 && alphas[i] > p->nan_at) g[i * p->dim] = NAN;
    }
    if (p->cancel != NULL && p->points > 100) asc_cancel(p->cancel);
    return ASC_OK;
}

static void truth(const path *p, double *out) {
    for (size_t k = 0; k < p->dim; k++) {
        out[k] = 0.0;
        for (size_t j = 0; j < p->n; j++)
            out[k] += p->f[j].share[k] * (value(&p->f[j], 1.0) - value(&p->f[j], 0.0));
    }
}

/* A rough path: `n` sharp features, half of them with components that nearly cancel in the sum. */
static path rough(uint32_t seed, size_t dim, size_t n) {
    path p = {.dim = dim, .n = n};
    for (size_t j = 0; j < n; j++) {
        feature *f = &p.f[j];
        double mean = 0.0;
        f->kind = (shape)(next(&seed) >> 16) % 3;
        f->at = uniform(&seed);
        f->width = pow(10.0, -3.0 + 2.0 * uniform(&seed));
        for (size_t k = 0; k < dim; k++) {
            f->share[k] = 2.0 * uniform(&seed) - 1.0;
            mean += f->share[k] / (double)dim;
        }
        double less = j % 2 == 0 ? 0.0 : uniform(&seed);
        for (size_t k = 0; k < dim; k++) f->share[k] -= less * mean;
    }
    return p;
}

typedef struct outcome {
    asc_adaptive_result r;
    double integral[MAX_DIM], error[MAX_DIM], truth[MAX_DIM];
    double scale, worst; /* largest |true component|; largest true error over it */
    size_t covered;
} outcome;

static outcome integrate(asc_ctx *ctx, path *p, double tolerance, size_t max_evaluations, size_t batch) {
    outcome o = {0};
    asc_adaptive_options opts = {
        .tolerance = tolerance, .max_evaluations = max_evaluations, .noise = p->noise, .batch = batch};
    truth(p, o.truth);
    p->points = p->calls = 0;
    assert_ok(ctx, asc_adaptive_integrate(ctx, integrand, p, p->dim, &opts, o.integral, o.error, &o.r));
    assert_int_equal(o.r.evaluations, p->points);
    assert_true(o.r.evaluations <= max_evaluations);
    double sum = 0.0;
    for (size_t k = 0; k < p->dim; k++) {
        double e = fabs(o.integral[k] - o.truth[k]);
        o.scale = fmax(o.scale, fabs(o.truth[k]));
        o.worst = fmax(o.worst, e);
        o.covered += e <= o.error[k] + 1e-13;
        sum += o.integral[k];
        assert_true(o.error[k] <= o.r.largest_error);
    }
    o.worst /= o.scale;
    assert_true(fabs(sum - (o.r.f1 - o.r.f0) - o.r.residual) <= 1e-9 * (1.0 + fabs(sum)));
    return o;
}

static void rough_paths_keep_their_word(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    size_t covered = 0, all = 0, lied = 0;
    for (uint32_t seed = 1; seed <= 40; seed++) {
        for (int t = 0; t < 3; t++) {
            path p = rough(seed * 977u, seed % 2 == 0 ? 3 : 7, 40);
            double tolerance = t == 0 ? 0.01 : t == 1 ? 0.003 : 0.001;
            outcome o = integrate(ctx, &p, tolerance, 4000, 16);
            assert_true(o.r.converged);
            covered += o.covered;
            all += p.dim;
            lied += o.worst > tolerance;
        }
    }
    print_message(
        "rough paths: %zu of %zu components under their bound, %zu of 120 runs above the tolerance\n",
        covered, all, lied);
    assert_true((double)covered >= 0.95 * (double)all);
    assert_true(lied <=
                6); /* narrow features that cancel in the sum and lie between all points cannot be seen */
    test_ctx_end(ctx);
}

static path single(shape kind, double at, double width) {
    path p = {.dim = 2, .n = 1};
    p.f[0] = (feature){.kind = kind, .at = at, .width = width, .share = {1.0, -0.25}};
    return p;
}

static void plain_functions(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    static const struct {
        shape kind;
        double at, width;
        size_t at_most; /* evaluations */
    } cases[] = {{FLAT, 0.0, 1.0, 33},     {WAVE, 0.0, 1.0, 33},   {WAVE, 0.3, 0.2, 33},
                 {KINK, 0.37, 1.0, 110},   {ROOT, 0.0, 1e-8, 120}, {ROOT, 0.0, 1e-12, 160},
                 {STEP, 0.123, 1e-4, 140}, {PEAK, 0.77, 1e-5, 200}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        path p = single(cases[i].kind, cases[i].at, cases[i].width);
        outcome o = integrate(ctx, &p, 1e-3, 1000, 16);
        if (!o.r.converged || o.worst > 1e-3 || o.covered != 2 || o.r.evaluations > cases[i].at_most)
            fail_msg("case %zu: converged %d, error %g, covered %zu, evaluations %zu", i, o.r.converged,
                     o.worst, o.covered, o.r.evaluations);
    }
    test_ctx_end(ctx);
}

static void same_bits_whatever_the_batch(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    path p = rough(5, 5, 40);
    outcome a = integrate(ctx, &p, 0.01, 2000, 1), b = integrate(ctx, &p, 0.01, 2000, 500);
    assert_memory_equal(a.integral, b.integral, sizeof a.integral);
    assert_memory_equal(a.error, b.error, sizeof a.error);
    assert_int_equal(a.r.evaluations, b.r.evaluations);
    assert_true(p.calls * 8 < p.points); /* rounds, not single points */
    test_ctx_end(ctx);
}

static void says_when_it_ran_out(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    for (uint32_t seed = 1; seed <= 10; seed++) {
        path p = rough(seed, 5, 50);
        outcome enough = integrate(ctx, &p, 0.003, 4000, 16), cut = integrate(ctx, &p, 0.003, 250, 16);
        assert_false(cut.r.converged);
        assert_int_equal(cut.r.evaluations, 250);
        assert_true(cut.r.largest_error > 0.003 * cut.scale || fabs(cut.r.residual) > 0.0);
        if (cut.r.estimated_evaluations > 0.0) /* right within a factor of four */
            assert_true(cut.r.estimated_evaluations < 4.0 * (double)enough.r.evaluations &&
                        4.0 * cut.r.estimated_evaluations > (double)enough.r.evaluations);
    }
    test_ctx_end(ctx);
}

static void noise_stops_the_splitting(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    path p = rough(3, 5, 30);
    p.noise = 1e-3;
    outcome o = integrate(ctx, &p, 1e-6, 20000, 16);
    assert_false(
        o.r.converged); /* beyond what the noise allows, and it does not burn 20,000 points to learn that */
    assert_true(o.r.evaluations < 2000);
    assert_true(o.r.noise_floor > 1e-6 * o.scale && o.r.largest_error >= o.r.noise_floor);
    assert_int_equal(o.covered, p.dim);
    test_ctx_end(ctx);
}

/* A jump that no halving resolves: reported as not converged, and the halving ends at the width that was
 * given. */
static void a_jump_is_not_chased_for_ever(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    path p = single(STEP, 1.0 / 3.0, 1e-40);
    p.f[p.n++] = (feature){.kind = WAVE, .width = 0.1, .share = {0.5, 0.5}};
    double q[2], e[2];
    asc_adaptive_result r;
    asc_adaptive_options o = {.tolerance = 0.01, .max_evaluations = 5000, .narrowest = 1e-9};
    assert_ok(ctx, asc_adaptive_integrate(ctx, integrand, &p, 2, &o, q, e, &r));
    assert_false(r.converged);
    assert_true(r.evaluations < 400);
    assert_true(fabs(r.residual + 1.5) < 1e-3);
    assert_true(e[0] >= 1.5 && e[1] >= 0.5); /* the bounds hold although the points saw nothing */
    test_ctx_end(ctx);
}

static void bad_options_and_values(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    path p = rough(3, 2, 10);
    double q[2], e[2];
    asc_adaptive_result r;
    const asc_adaptive_options bad[] = {{.tolerance = 0.0, .max_evaluations = 100},
                                        {.tolerance = NAN, .max_evaluations = 100},
                                        {.tolerance = 0.1, .max_evaluations = 5},
                                        {.tolerance = 0.1, .max_evaluations = 100, .noise = -1.0},
                                        {.tolerance = 0.1, .max_evaluations = 100, .max_seconds = -1.0}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(asc_adaptive_integrate(ctx, integrand, &p, 2, &bad[i], q, e, &r),
                         ASC_INVALID_ARGUMENT);
    asc_adaptive_options o = {.tolerance = 1e-4, .max_evaluations = 1000};
    assert_int_equal(asc_adaptive_integrate(ctx, integrand, &p, 0, &o, q, e, &r), ASC_INVALID_ARGUMENT);
    p.nan_at = 0.9;
    assert_int_equal(asc_adaptive_integrate(ctx, integrand, &p, 2, &o, q, e, &r), ASC_OUT_OF_RANGE);
    p.nan_at = 0.0;
    p.points = 0;
    p.cancel = ctx;
    assert_int_equal(asc_adaptive_integrate(ctx, integrand, &p, 2, &o, q, e, &r), ASC_CANCELLED);
    test_ctx_end(ctx);
}

static void every_allocation_fails_in_turn(void **state) {
    (void)state;
    for (long at = 1, failed = 1; failed != 0; at++) {
        test_alloc a = {0};
        asc_ctx_options co = {
            .struct_size = sizeof co, .device = "cpu", .alloc = test_alloc_fn, .alloc_self = &a};
        asc_ctx *ctx = NULL;
        assert_int_equal(asc_ctx_create_base(&co, &ctx), ASC_OK);
        path p = rough(3, 2, 10);
        double q[2], e[2];
        asc_adaptive_result r;
        asc_adaptive_options o = {.tolerance = 1e-3, .max_evaluations = 1000};
        a.fail_at = a.count + at;
        asc_status st = asc_adaptive_integrate(ctx, integrand, &p, 2, &o, q, e, &r);
        failed = a.count >= a.fail_at;
        assert_int_equal(st, failed ? ASC_RESOURCE_EXHAUSTED : ASC_OK);
        test_ctx_end(ctx);
        assert_int_equal(a.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rough_paths_keep_their_word),  cmocka_unit_test(plain_functions),
        cmocka_unit_test(same_bits_whatever_the_batch), cmocka_unit_test(says_when_it_ran_out),
        cmocka_unit_test(noise_stops_the_splitting),    cmocka_unit_test(a_jump_is_not_chased_for_ever),
        cmocka_unit_test(bad_options_and_values),       cmocka_unit_test(every_allocation_fails_in_turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
