/* test_ops_devices.c - every sample case of every op recorded, cut and run: on the cpu device in both modes
 * (the same bits, and the reference's values), its gradient too; on the reference device (the kernel's own
 * bits); and on the null device (no values, no error). Kernels are compared more sharply in tests/backends/;
 * this is about everything around them. */
#include "sampling.h"

/* The longest sum among the samples has 67 terms, whose roundings add up to about sqrt(67) = 8 units of the
 * largest element; twice that. */
static const double EPS32 = 1.1920929e-7, UNITS = 16;

typedef struct result {
    int64_t n, n_grad;
    double *y, *grad; /* grad: of the first differentiable input, NULL if there is none */
} result;

static void result_free(result *r) {
    free(r->y);
    free(r->grad);
}

static double *read_f64(asc_ctx *ctx, asc_tensor *t, int64_t *out_n) {
    *out_n = asc_tensor_elems(t);
    double *v = calloc((size_t)*out_n + 1, sizeof *v);
    if (t->dtype == ASC_DTYPE_I32) {
        int32_t *whole = calloc((size_t)*out_n + 1, sizeof *whole);
        assert_ok(ctx, asc_read_i32(ctx, t, whole, (size_t)*out_n));
        for (int64_t i = 0; i < *out_n; i++) v[i] = whole[i];
        free(whole);
    } else {
        assert_ok(ctx, asc_read_f64(ctx, t, v, (size_t)*out_n));
    }
    return v;
}

static result run(const char *device, const char *mode, const asc_op *op, const asc_sample *s,
                  const test_inputs *in) {
    asc_ctx *ctx = test_ctx(device, mode);
    asc_tensor *x[ASC_MAX_IN], *wrt = NULL, *grad;
    result r = {.n = 0};
    for (int k = 0; k < s->n_in; k++) {
        x[k] = test_inputs_leaf(ctx, s, in, k);
        if (wrt == NULL && s->in_dtype[k] == ASC_DTYPE_F32 && !s->no_grad[k]) wrt = x[k];
    }
    asc_tensor *y = asc_apply(ctx, op, &s->attrs, x, s->n_in);
    if (strcmp(device, "null") == 0) {
        assert_ok(ctx, asc_run(ctx, &y, 1));
    } else {
        r.y = read_f64(ctx, y, &r.n);
        if (wrt != NULL && (op->flags & ASC_OP_NO_GRAD) == 0) {
            asc_grad(ctx, y, y, &wrt, 1, &grad);
            r.grad = read_f64(ctx, grad, &r.n_grad);
        }
    }
    test_ctx_end(ctx);
    return r;
}

static void check(const char *name, const char *what, const double *got, const double *want, int64_t n,
                  double eps) {
    double most = 1;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(want[i]));
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= eps * most))
            fail_msg("%s: %s %lld is %.9g, want %.9g", name, what, (long long)i, got[i], want[i]);
}

static void compare(const char *name, const result *a, const result *b, double eps) {
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->n_grad, b->n_grad);
    check(name, "element", a->y, b->y, a->n, eps);
    if (a->grad != NULL) check(name, "gradient", a->grad, b->grad, a->n_grad, eps);
}

static void one_case(asc_ctx *ctx, const asc_op *op, const asc_sample *s, int i) {
    char name[64];
    snprintf(name, sizeof name, "%s, sample %d", op->name, i);
    test_inputs in = test_inputs_draw(s, 21);
    asc_call c = test_call(ctx, op, s);
    result ref = run("reference", "deferred", op, s, &in), eager = run("cpu", "eager", op, s, &in),
           deferred = run("cpu", "deferred", op, s, &in), null = run("null", "deferred", op, s, &in);
    double *kernel = calloc((size_t)ref.n + 1, sizeof *kernel);
    test_ref(&c, in.value, kernel);
    check(name, "element on the reference device", ref.y, kernel, ref.n, 0);
    compare(name, &deferred, &ref, UNITS * EPS32);
    compare(name, &eager, &deferred, 0);
    free(kernel);
    result_free(&ref);
    result_free(&eager);
    result_free(&deferred);
    result_free(&null);
    test_inputs_free(&in);
}

static void devices(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    for (int o = 0; o < ASC_N_OPS; o++) {
        asc_sample s = {.n_in = 0};
        for (int i = 0; asc_ops[o]->sample(i, &s); i++, s = (asc_sample){.n_in = 0})
            one_case(ctx, asc_ops[o], &s, i);
    }
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(devices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
