/* test_ops_gradient.c - the derivatives of every op, on the reference device in f64, for every sample case:
 * reverse mode against central differences of the reference kernel; forward mode against reverse mode; the
 * decomposition against the op, value and gradient; the gradient of the gradient against central differences
 * of the gradient. */
#include "grad.h"
#include "sampling.h"

static const double EPS = 2.220446049250313e-16;

/* One op with one sample, and its derivative operands. */
typedef struct test_case {
    asc_ctx *ctx;
    const asc_op *op;
    asc_sample s;
    asc_call call;
    test_inputs in;
    int n_wrt, wrt[ASC_MAX_IN]; /* the inputs that are differentiated */
    double *r, *u[ASC_MAX_IN];  /* cotangent of y; a direction per input */
    int64_t n_out;
    char name[64];
} test_case;

static double *draw(test_rng *rng, int64_t n) {
    double *v = calloc((size_t)n + 1, sizeof *v);
    for (int64_t i = 0; i < n; i++) v[i] = test_uniform(rng, -1, 1);
    return v;
}

static bool case_open(test_case *t, asc_ctx *ctx, const asc_op *op, int i) {
    *t = (test_case){.ctx = ctx, .op = op};
    if (!op->sample(i, &t->s)) return false;
    snprintf(t->name, sizeof t->name, "%s, sample %d", op->name, i);
    t->call = test_call(ctx, op, &t->s);
    t->n_out = asc_shape_elems(&t->call.shape);
    t->in = test_inputs_draw(&t->s, (uint64_t)(1000 * op->opcode + i));
    test_rng rng = {.seed = 99 + (uint64_t)i};
    t->r = draw(&rng, t->n_out);
    for (int k = 0; k < t->s.n_in; k++) {
        t->u[k] = draw(&rng, t->in.elems[k]);
        if (t->s.in_dtype[k] == ASC_DTYPE_F32 && !t->s.no_grad[k]) t->wrt[t->n_wrt++] = k;
    }
    return true;
}

static void case_close(test_case *t) {
    for (int k = 0; k < t->s.n_in; k++) free(t->u[k]);
    free(t->r);
    test_inputs_free(&t->in);
}

/* The op recorded on leaves: y, its differentiated inputs xs and directions us, and the cotangent r. */
typedef struct recorded {
    asc_tensor *in[ASC_MAX_IN], *xs[ASC_MAX_IN], *us[ASC_MAX_IN], *y, *r;
} recorded;

static recorded record(const test_case *t) {
    recorded g = {0};
    for (int k = 0; k < t->s.n_in; k++) g.in[k] = test_inputs_leaf(t->ctx, &t->s, &t->in, k);
    for (int j = 0; j < t->n_wrt; j++) {
        g.xs[j] = g.in[t->wrt[j]];
        g.us[j] = asc_from_f64(t->ctx, t->s.in_shape[t->wrt[j]], t->u[t->wrt[j]]);
    }
    g.y = asc_apply(t->ctx, t->op, &t->s.attrs, g.in, t->s.n_in);
    g.r = asc_from_f64(t->ctx, t->call.shape, t->r);
    return g;
}

static double *read_all(asc_ctx *ctx, asc_tensor *t) {
    int64_t n = asc_tensor_elems(t);
    double *v = calloc((size_t)(n > 0 ? n : 0) + 1, sizeof *v);
    assert_ok(ctx, asc_read_f64(ctx, t, v, (size_t)n));
    return v;
}

static double dot(const double *a, const double *b, int64_t n, double *magnitude) {
    double s = 0;
    for (int64_t i = 0; i < n; i++) {
        s += a[i] * b[i];
        *magnitude += fabs(a[i] * b[i]);
    }
    return s;
}

/* Compares a derivative with differences taken at h and 2h. Model: the kernel rounds its result by a few EPS
 * of `size`, which the division by h blows up; cutting the series leaves an error that grows as h^2, so D(2h)
 * - D(h) is three times what is left in D(h). The bound itself must be small, or the comparison would prove
 * nothing. */
static void check_difference(const test_case *t, const char *what, int64_t at, double got, double d1,
                             double d2, double h, double size) {
    double bound = 20 * EPS * size / h + fabs(d2 - d1) + 1e-13;
    if (bound > 1e-6 * (1 + size))
        fail_msg("%s: %s at %lld: differences too rough (%g)", t->name, what, (long long)at, bound);
    if (!(fabs(got - d1) <= bound))
        fail_msg("%s: %s at %lld is %.12g, differences say %.12g (bound %g)", t->name, what, (long long)at,
                 got, d1, bound);
}

/* sum(r y) with x[k][i] moved by h, by the kernel alone. */
static double moved(const test_case *t, int k, int64_t i, double h, double *y, double *size) {
    double keep = t->in.value[k][i];
    t->in.value[k][i] = keep + h;
    test_ref(&t->call, t->in.value, y);
    t->in.value[k][i] = keep;
    return dot(t->r, y, t->n_out, size);
}

/* At most 60 elements of an input, spread evenly. */
static int64_t stride_for(int64_t n) { return n <= 60 ? 1 : n / 60 + 1; }

static long check_vjp(const test_case *t) {
    asc_scope_begin(t->ctx);
    recorded g = record(t);
    asc_tensor *grads[ASC_MAX_IN];
    asc_grad(t->ctx, g.y, g.r, g.xs, (size_t)t->n_wrt, grads);
    double *y = calloc((size_t)t->n_out + 1, sizeof *y);
    long n_checked = 0;
    for (int j = 0; j < t->n_wrt; j++) {
        int k = t->wrt[j];
        asc_shape shape = asc_tensor_shape(grads[j]);
        assert_ok(t->ctx, asc_run(t->ctx, &grads[j], 1));
        assert_true(asc_shape_eq(&shape, &t->s.in_shape[k]));
        double *got = read_all(t->ctx, grads[j]);
        for (int64_t i = 0; i < t->in.elems[k]; i += stride_for(t->in.elems[k])) {
            double h = cbrt(EPS) * fmax(1, fabs(t->in.value[k][i])), size = 1;
            double d1 = (moved(t, k, i, h, y, &size) - moved(t, k, i, -h, y, &size)) / (2 * h);
            double d2 = (moved(t, k, i, 2 * h, y, &size) - moved(t, k, i, -2 * h, y, &size)) / (4 * h);
            char what[32];
            snprintf(what, sizeof what, "gradient of input %d", k);
            check_difference(t, what, i, got[i], d1, d2, h, size);
            n_checked++;
        }
        free(got);
    }
    free(y);
    assert_ok(t->ctx, asc_scope_end(t->ctx));
    return n_checked;
}

/* <r, J u> = <J^T r, u>, for each input alone and for all together. */
static void check_jvp(const test_case *t) {
    for (int only = -1; only < t->n_wrt; only++) {
        asc_scope_begin(t->ctx);
        recorded g = record(t);
        asc_tensor *grads[ASC_MAX_IN], *tangent;
        int first = only < 0 ? 0 : only, n = only < 0 ? t->n_wrt : 1;
        tangent = asc_jvp(t->ctx, g.y, g.xs + first, g.us + first, (size_t)n);
        asc_grad(t->ctx, g.y, g.r, g.xs + first, (size_t)n, grads);
        assert_ok(t->ctx, asc_run(t->ctx, &tangent, 1));
        asc_shape shape = asc_tensor_shape(tangent);
        if (!asc_shape_eq(&shape, &t->call.shape)) fail_msg("%s: the tangent has another shape", t->name);
        double *ty = read_all(t->ctx, tangent), size = 1e-3, forward = dot(t->r, ty, t->n_out, &size),
               reverse = 0;
        for (int j = 0; j < n; j++) {
            double *gx = read_all(t->ctx, grads[j]);
            int k = t->wrt[first + j];
            reverse += dot(gx, t->u[k], t->in.elems[k], &size);
            free(gx);
        }
        free(ty);
        if (!(fabs(forward - reverse) <= 1e-12 * size))
            fail_msg("%s: forward mode gives %.15g, reverse mode %.15g (inputs from %d on)", t->name, forward,
                     reverse, only);
        assert_ok(t->ctx, asc_scope_end(t->ctx));
    }
}

static void check_close(const test_case *t, const char *what, asc_tensor *a, asc_tensor *b, double tol) {
    asc_shape sa = asc_tensor_shape(a), sb = asc_tensor_shape(b);
    double *va = read_all(t->ctx, a), *vb = read_all(t->ctx, b), most = 1;
    if (!asc_shape_eq(&sa, &sb)) fail_msg("%s: %s: shapes differ", t->name, what);
    for (int64_t i = 0; i < asc_tensor_elems(a); i++) most = fmax(most, fabs(vb[i]));
    for (int64_t i = 0; i < asc_tensor_elems(a); i++)
        if (!(fabs(va[i] - vb[i]) <= tol * most))
            fail_msg("%s: %s at %lld: %.15g against %.15g", t->name, what, (long long)i, va[i], vb[i]);
    free(va);
    free(vb);
}

static void check_decompose(const test_case *t) {
    if (t->op->decompose == NULL) return;
    asc_scope_begin(t->ctx);
    recorded g = record(t);
    asc_tensor *parts = t->op->decompose(t->ctx, &t->s.attrs, g.in, t->s.n_in);
    check_close(t, "decomposition", parts, g.y, 1e-12);
    if (parts->op == t->op && parts->in[0] == g.in[0]) fail_msg("%s: decomposes into itself", t->name);
    asc_tensor *whole_grads[ASC_MAX_IN], *part_grads[ASC_MAX_IN];
    if (t->n_wrt > 0 && t->op->vjp != NULL) {
        asc_grad(t->ctx, g.y, g.r, g.xs, (size_t)t->n_wrt, whole_grads);
        asc_grad(t->ctx, parts, g.r, g.xs, (size_t)t->n_wrt, part_grads);
        for (int j = 0; j < t->n_wrt; j++)
            check_close(t, "gradient of the decomposition", part_grads[j], whole_grads[j], 1e-11);
    }
    assert_ok(t->ctx, asc_scope_end(t->ctx));
}

/* h = sum over inputs of <gradient, u>, with input k moved by e times a direction; also its size. */
static double grad_along_u(const test_case *t, int k, const double *dir, double e, double *size) {
    asc_scope_begin(t->ctx);
    double *keep = t->in.value[k], *here = calloc((size_t)t->in.elems[k] + 1, sizeof *here);
    for (int64_t i = 0; i < t->in.elems[k]; i++) here[i] = keep[i] + e * dir[i];
    test_case at = *t;
    at.in.value[k] = here;
    recorded g = record(&at);
    asc_tensor *grads[ASC_MAX_IN];
    asc_grad(t->ctx, g.y, g.r, g.xs, (size_t)t->n_wrt, grads);
    double h = 0;
    for (int j = 0; j < t->n_wrt; j++) {
        double *gx = read_all(t->ctx, grads[j]);
        h += dot(gx, t->u[t->wrt[j]], t->in.elems[t->wrt[j]], size);
        free(gx);
    }
    free(here);
    assert_ok(t->ctx, asc_scope_end(t->ctx));
    return h;
}

/* Records h as one scalar. */
static asc_tensor *record_h(const test_case *t, const recorded *g) {
    asc_tensor *grads[ASC_MAX_IN], *h = asc_full(t->ctx, ASC_SCALAR_SHAPE, 0);
    asc_grad(t->ctx, g->y, g->r, g->xs, (size_t)t->n_wrt, grads);
    const int all[] = {0, 1, 2, 3, 4, 5};
    for (int j = 0; j < t->n_wrt; j++) {
        asc_tensor *prod = asc_mul(t->ctx, grads[j], g->us[j]);
        h = asc_add(t->ctx, h, asc_sum(t->ctx, prod, asc_tensor_shape(prod).rank, all, false));
    }
    return h;
}

static long check_double_backward(const test_case *t) {
    long n_checked = 0;
    test_rng rng = {.seed = 4711};
    asc_scope_begin(t->ctx);
    recorded g = record(t);
    asc_tensor *h = record_h(t, &g), *second[ASC_MAX_IN + 1], *xs[ASC_MAX_IN + 1];
    for (int j = 0; j < t->n_wrt; j++) xs[j] = g.xs[j];
    xs[t->n_wrt] = g.r; /* h is linear in r: that derivative is the tangent of y along u */
    asc_grad(t->ctx, h, NULL, xs, (size_t)t->n_wrt + 1, second);
    check_close(t, "gradient of the gradient for the cotangent", second[t->n_wrt],
                asc_jvp(t->ctx, g.y, g.xs, g.us, (size_t)t->n_wrt), 1e-11);
    for (int j = 0; j < t->n_wrt; j++) {
        int k = t->wrt[j];
        double *got = read_all(t->ctx, second[j]);
        for (int round = 0; round < 2; round++) {
            double *dir = draw(&rng, t->in.elems[k]), e = cbrt(EPS), size = 1, ignored = 0;
            double d1 = (grad_along_u(t, k, dir, e, &size) - grad_along_u(t, k, dir, -e, &size)) / (2 * e);
            double d2 =
                (grad_along_u(t, k, dir, 2 * e, &size) - grad_along_u(t, k, dir, -2 * e, &size)) / (4 * e);
            check_difference(t, "gradient of the gradient, input", k, dot(got, dir, t->in.elems[k], &ignored),
                             d1, d2, e, size);
            free(dir);
            n_checked++;
        }
        free(got);
    }
    assert_ok(t->ctx, asc_scope_end(t->ctx));
    return n_checked;
}

static void gradients(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    long n_first = 0, n_second = 0, n_cases = 0;
    for (int o = 0; o < ASC_N_OPS; o++) {
        test_case t;
        for (int i = 0; case_open(&t, ctx, asc_ops[o], i); i++, n_cases++) {
            check_decompose(&t);
            if (t.n_wrt > 0 && (t.op->flags & ASC_OP_NO_GRAD) == 0) {
                n_first += check_vjp(&t);
                check_jvp(&t);
                n_second += check_double_backward(&t);
            }
            case_close(&t);
        }
    }
    print_message("%ld cases: %ld derivatives, %ld second derivatives against differences\n", n_cases,
                  n_first, n_second);
    assert_true(n_first > 1000);
    test_ctx_end(ctx);
}

/* A flag that says "no gradient" must be true: the kernel does not move with its input. */
static void no_gradient_means_constant(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    for (int o = 0; o < ASC_N_OPS; o++) {
        test_case t;
        if ((asc_ops[o]->flags & ASC_OP_NO_GRAD) == 0) continue;
        for (int i = 0; case_open(&t, ctx, asc_ops[o], i); i++) {
            double *y = calloc((size_t)t.n_out + 1, sizeof *y), size = 0;
            for (int k = 0; k < t.s.n_in; k++)
                for (int64_t e = 0; t.s.in_dtype[k] == ASC_DTYPE_F32 && e < t.in.elems[k]; e++)
                    if (moved(&t, k, e, 1e-6, y, &size) != moved(&t, k, e, -1e-6, y, &size))
                        fail_msg("%s varies with input %d", t.name, k);
            free(y);
            case_close(&t);
        }
    }
    test_ctx_end(ctx);
}

/* Ties: the first of equals gets all. Differences cannot say it, so it is stated here. */
static void ties(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    double g[4];
    asc_tensor *a = asc_from_f64(ctx, ASC_SHAPE(4), (double[]){1, 3, 3, 2}), *grad[2];
    asc_grad(ctx, asc_max(ctx, a, 0, false), NULL, &a, 1, grad);
    assert_ok(ctx, asc_read_f64(ctx, grad[0], g, 4));
    assert_true(g[0] == 0 && g[1] == 1 && g[2] == 0 && g[3] == 0);
    asc_tensor *pair[2] = {asc_from_f64(ctx, ASC_SCALAR_SHAPE, (double[]){2}),
                           asc_from_f64(ctx, ASC_SCALAR_SHAPE, (double[]){2})};
    for (int min = 0; min < 2; min++) {
        asc_tensor *y = min ? asc_minimum(ctx, pair[0], pair[1]) : asc_maximum(ctx, pair[0], pair[1]);
        asc_grad(ctx, y, NULL, pair, 2, grad);
        assert_ok(ctx, asc_read_f64(ctx, grad[0], &g[0], 1));
        assert_ok(ctx, asc_read_f64(ctx, grad[1], &g[1], 1));
        assert_true(g[0] == 1 && g[1] == 0);
    }
    asc_tensor *zero = asc_from_f64(ctx, ASC_SCALAR_SHAPE, (double[]){0});
    asc_grad(ctx, asc_add(ctx, asc_relu(ctx, zero), asc_abs(ctx, zero)), NULL, &zero, 1, grad);
    assert_ok(ctx, asc_read_f64(ctx, grad[0], g, 1));
    assert_true(g[0] == 0);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients),
                                       cmocka_unit_test(no_gradient_means_constant), cmocka_unit_test(ties)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
