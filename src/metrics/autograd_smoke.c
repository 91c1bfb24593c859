/* autograd_smoke.c - twelve things that automatic differentiation must get right, on small numbers whose
 * derivatives are worked out by hand; see ascribe/parity.h. Every case runs in the context's own mode. */
#include "ascribe/parity.h"
#include "grad.h"
#include "ops.h"
#include <math.h>
#include <string.h>

enum { N = 4 };
static const double X[N] = {0.5, -1.25, 2.0, 3.5};

/* Largest difference of t from want over max(1, largest). */
static asc_status off(asc_ctx *ctx, asc_tensor *t, const double *want, size_t n, double *error) {
    double got[16], most = 1, worst = 0;
    asc_status st = asc_read_f64(ctx, t, got, n);
    for (size_t i = 0; st == ASC_OK && i < n; i++) {
        most = fmax(most, fabs(want[i]));
        worst = isnan(got[i]) ? INFINITY : fmax(worst, fabs(got[i] - want[i]));
    }
    *error = fmax(*error, worst / most);
    return st;
}

static asc_tensor *leaf(asc_ctx *ctx) { return asc_from_f64(ctx, ASC_SHAPE(N), X); }
static asc_tensor *total(asc_ctx *ctx, asc_tensor *t) {
    static const int axes[] = {0, 1};
    return asc_sum(ctx, t, asc_tensor_shape(t).rank, axes, false);
}

static asc_tensor *gradient(asc_ctx *ctx, asc_tensor *y, asc_tensor *x) {
    asc_tensor *g = NULL;
    asc_grad(ctx, y, NULL, &x, 1, &g);
    return g;
}

static asc_tensor *cube(asc_ctx *ctx, asc_tensor *x) { return asc_mul(ctx, asc_square(ctx, x), x); }

static asc_status forward(asc_ctx *ctx, double *error) {
    const double want[] = {0.125, -1.953125, 8, 42.875};
    return off(ctx, cube(ctx, leaf(ctx)), want, N, error);
}

static asc_status first_derivative(asc_ctx *ctx, double *error) {
    const double want[] = {0.75, 4.6875, 12, 36.75}; /* 3 x^2 */
    asc_tensor *x = leaf(ctx);
    return off(ctx, gradient(ctx, total(ctx, cube(ctx, x)), x), want, N, error);
}

/* y = x^2 + 3x + x x: x is used five times, once through an op that uses it twice. */
static asc_status several_uses(asc_ctx *ctx, double *error) {
    const double want[] = {5, -2, 11, 17}; /* 4 x + 3 */
    asc_tensor *x = leaf(ctx),
               *y = asc_add(ctx, asc_add(ctx, asc_square(ctx, x), asc_scale(ctx, x, 3)), asc_mul(ctx, x, x));
    return off(ctx, gradient(ctx, total(ctx, y), x), want, N, error);
}

static asc_status second_derivative(asc_ctx *ctx, double *error) {
    const double want[] = {3, -7.5, 12, 21}; /* 6 x */
    asc_tensor *x = leaf(ctx), *g = gradient(ctx, total(ctx, cube(ctx, x)), x);
    return off(ctx, gradient(ctx, total(ctx, g), x), want, N, error);
}

static asc_status forward_mode(asc_ctx *ctx, double *error) {
    const double direction[] = {1, 2, -1, 0.5}, want[] = {0.75, 9.375, -12, 18.375}; /* 3 x^2 v */
    asc_tensor *x = leaf(ctx), *v = asc_from_f64(ctx, ASC_SHAPE(N), direction);
    return off(ctx, asc_jvp(ctx, cube(ctx, x), &x, &v, 1), want, N, error);
}

/* [3,1] times [4]: the gradient of each is summed over the axes along which it was repeated. */
static asc_status broadcasting(asc_ctx *ctx, double *error) {
    const double column[] = {1, -2, 4}, want_row[] = {3, 3, 3, 3}, want_column[] = {4.75, 4.75, 4.75};
    asc_tensor *x = leaf(ctx), *c = asc_from_f64(ctx, ASC_SHAPE(3, 1), column), *xs[] = {x, c}, *g[2];
    asc_grad(ctx, total(ctx, asc_mul(ctx, c, x)), NULL, xs, 2, g);
    asc_status st = off(ctx, g[0], want_row, N, error);
    return st == ASC_OK ? off(ctx, g[1], want_column, 3, error) : st;
}

/* Rows 2, 0, 2, 2 of a table, weighted 1, 2, 3, 4: a row that is read three times collects three gradients.
 */
static asc_status indexing(asc_ctx *ctx, double *error) {
    const int32_t rows[] = {2, 0, 2, 2};
    const double weights[] = {1, 2, 3, 4}, want[] = {2, 0, 8, 0};
    asc_tensor *table = asc_from_f64(ctx, ASC_SHAPE(N, 1), X);
    asc_tensor *read = asc_gather(ctx, table, asc_from_i32(ctx, ASC_SHAPE(N), rows));
    asc_tensor *y = asc_mul(ctx, read, asc_from_f64(ctx, ASC_SHAPE(N, 1), weights));
    return off(ctx, gradient(ctx, total(ctx, y), table), want, N, error);
}

/* relu may write over its input, which exp's gradient and a later use still need. */
static asc_status storage_reuse(asc_ctx *ctx, double *error) {
    const double e[] = {1.6487212707001282, 0.2865047968601901, 7.38905609893065, 33.11545195869231};
    double want_sum[N], want_gradient[N];
    asc_tensor *x = leaf(ctx), *y = asc_exp(ctx, x), *z = asc_relu(ctx, asc_shift(ctx, y, -1));
    for (int i = 0; i < N; i++) { /* y + relu(y - 1); its slope is e (1 + [e > 1]) */
        want_sum[i] = e[i] + fmax(e[i] - 1, 0);
        want_gradient[i] = e[i] * (e[i] > 1 ? 2 : 1);
    }
    asc_tensor *s = asc_add(ctx, y, z);
    asc_tensor *g = gradient(ctx, total(ctx, s), x), *both[] = {s, g};
    asc_status st = asc_run(ctx, both, 2);
    if (st == ASC_OK) st = off(ctx, s, want_sum, N, error);
    if (st == ASC_OK) st = off(ctx, g, want_gradient, N, error);
    return st == ASC_OK ? off(ctx, y, e, N, error) : st;
}

/* A copy of x's value stands for a constant: d/dx (const(x) x) = x, not 2 x. */
static asc_status detached(asc_ctx *ctx, double *error) {
    asc_tensor *x = leaf(ctx), *c = asc_square(ctx, x);
    asc_status st = asc_run(ctx, &c, 1);
    if (st != ASC_OK) return st;
    asc_tensor_detach(c);
    const double want[] = {0.25, 1.5625, 4, 12.25}; /* x^2, with nothing of 2 x x */
    return off(ctx, gradient(ctx, total(ctx, asc_mul(ctx, c, x)), x), want, N, error);
}

static void double_back(asc_vjp_args *a) {
    if (a->need[0]) a->gin[0] = asc_scale(a->ctx, a->g, 2);
}

/* For one backward pass relu hands back twice what it gets, everywhere; the pass after it is as always. */
static asc_status rule_override(asc_ctx *ctx, double *error) {
    static const asc_grad_rules rules = {.name = "twice", .vjp = {[ASC_OPCODE_RELU] = double_back}};
    const double want[] = {6, 6, 6, 6}, usual[] = {3, 0, 3, 3};
    asc_tensor *x = leaf(ctx), *y = total(ctx, asc_scale(ctx, asc_relu(ctx, x), 3)), *g = NULL;
    asc_grad_with_rules(ctx, &rules, y, NULL, &x, 1, &g);
    asc_status st = off(ctx, g, want, N, error);
    return st == ASC_OK ? off(ctx, gradient(ctx, y, x), usual, N, error) : st;
}

/* sign is flat: only the factor beside it has a slope. */
static asc_status without_gradient(asc_ctx *ctx, double *error) {
    const double want[] = {1, -1, 1, 1}, none[] = {0, 0, 0, 0};
    asc_tensor *x = leaf(ctx), *s = asc_sign(ctx, x);
    asc_status st = off(ctx, gradient(ctx, total(ctx, asc_mul(ctx, s, x)), x), want, N, error);
    return st == ASC_OK ? off(ctx, gradient(ctx, total(ctx, s), x), none, N, error) : st;
}

/* A product of shapes that do not fit, used further, differentiated: the read names the first error, and the
 * context goes on working. */
static asc_status poisoning(asc_ctx *ctx, double *error) {
    double got[N];
    asc_tensor *x = leaf(ctx);
    asc_tensor *bad = asc_matmul(ctx, asc_reshape(ctx, x, ASC_SHAPE(2, 2)),
                                 asc_reshape(ctx, x, ASC_SHAPE(4, 1)), false, false);
    asc_tensor *g = gradient(ctx, total(ctx, asc_exp(ctx, bad)), x);
    asc_status st = asc_read_f64(ctx, g, got, N);
    bool named = st == ASC_INVALID_ARGUMENT && strstr(asc_error_message(ctx), "matmul") != NULL;
    asc_error_clear(ctx);
    if (!named) return ASC_FAIL(ctx, ASC_INTERNAL, "a product of [2,2] and [4,1] was not refused by name");
    return off(ctx, asc_scale(ctx, x, 1), X, N, error);
}

static const struct {
    asc_smoke_case what;
    asc_status (*run)(asc_ctx *ctx, double *error);
} cases[] = {
    {{"forward", "x^3"}, forward},
    {{"gradient", "d sum x^3 = 3 x^2"}, first_derivative},
    {{"several uses", "d sum (x^2 + 3 x + x x) = 4 x + 3: what comes back adds up"}, several_uses},
    {{"second derivative", "the gradient's gradient of x^3 is 6 x"}, second_derivative},
    {{"forward mode", "the tangent of x^3 along v is 3 x^2 v"}, forward_mode},
    {{"broadcasting", "[3,1] times [4]: gradients have the shapes of the factors"}, broadcasting},
    {{"indexing", "rows 2, 0, 2, 2 of a table: row 2 collects three gradients"}, indexing},
    {{"storage reuse", "a value that an op may write over is still there for a gradient and for a reader"},
     storage_reuse},
    {{"detach", "a detached value is a constant"}, detached},
    {{"rule override", "a rule for relu holds for one backward pass and no other"}, rule_override},
    {{"no gradient", "sign lets nothing through, and is no error"}, without_gradient},
    {{"poisoning", "an error passes through later ops and a gradient to the read, which names it"},
     poisoning},
};

const asc_smoke_case *asc_smoke_at(size_t i) {
    return i < sizeof cases / sizeof *cases ? &cases[i].what : NULL;
}

asc_status asc_smoke_run(asc_ctx *ctx, size_t i, double *out_error) {
    *out_error = 0;
    if (i >= sizeof cases / sizeof *cases)
        return ASC_FAIL(ctx, ASC_NOT_FOUND, "there are %zu cases", sizeof cases / sizeof *cases);
    asc_scope_begin(ctx);
    return asc_scope_close(ctx, cases[i].run(ctx, out_error));
}
