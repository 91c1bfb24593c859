/* test_ops_empty.c - dimensions of 0 in every op: each sample case with one dimension of one input set to 0,
 * and with all dimensions of one size set to 0 everywhere. A shape rule may refuse; what it accepts runs on
 * the reference and the cpu device, with its gradient, tangent and (unless
 * the result is empty) decomposition, without a crash, and with
 * the same values (where an empty sum leaves some). */
#include "grad.h"
#include "sampling.h"

enum { MAX_OUT = 4096 };

typedef struct result {
    asc_status status;
    int64_t n, n_grad;
    double y[MAX_OUT], grad[MAX_OUT];
} result;

static int64_t read(asc_ctx *ctx, asc_tensor *t, double *out) {
    const int64_t n = asc_tensor_elems(t);
    assert_in_range(n, 0, MAX_OUT);
    if (t->dtype == ASC_DTYPE_I32) {
        static int32_t whole[MAX_OUT];
        assert_ok(ctx, asc_read_i32(ctx, t, whole, (size_t)n));
        for (int64_t i = 0; i < n; i++) out[i] = whole[i];
    } else {
        assert_ok(ctx, asc_read_f64(ctx, t, out, (size_t)n));
    }
    return n;
}

/* Everything the descriptor can do with the sample. */
static void run(const char *device, const asc_op *op, const asc_sample *s, result *r) {
    asc_ctx *ctx = test_ctx(device, "deferred");
    asc_tensor *x[ASC_MAX_IN], *xs[ASC_MAX_IN], *grad[ASC_MAX_IN];
    size_t n = 0;
    r->n_grad = 0;
    test_inputs in = test_inputs_draw(s, 5);
    asc_call c = {.op = op, .attrs = &s->attrs, .n_in = s->n_in};
    for (int k = 0; k < s->n_in; k++) {
        c.in_dtype[k] = s->in_dtype[k];
        c.in_shape[k] = s->in_shape[k];
    }
    r->status = op->infer(ctx, &c);
    for (int k = 0; r->status == ASC_OK && k < s->n_in; k++) {
        x[k] = test_inputs_leaf(ctx, s, &in, k);
        if (s->in_dtype[k] == ASC_DTYPE_F32 && !s->no_grad[k]) xs[n++] = x[k];
    }
    if (r->status == ASC_OK) {
        asc_tensor *y = asc_apply(ctx, op, &s->attrs, x, s->n_in);
        r->n = read(ctx, y, r->y);
        if (op->decompose != NULL && r->n > 0)
            assert_int_equal(read(ctx, op->decompose(ctx, &s->attrs, x, s->n_in), r->grad), r->n);
        if (n > 0 && (op->flags & ASC_OP_NO_GRAD) == 0) {
            asc_tensor *tangent = asc_jvp(ctx, y, xs, xs, n);
            assert_int_equal(read(ctx, tangent, r->grad), r->n);
            asc_grad(ctx, y, y, xs, n, grad);
            for (size_t j = n; j-- > 0;) r->n_grad = read(ctx, grad[j], r->grad);
        }
    }
    asc_error_clear(ctx);
    test_inputs_free(&in);
    test_ctx_end(ctx);
}

static void compare(const char *name, const double *a, const double *b, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= 1e-5 * fmax(1, fabs(b[i])) || (isnan(a[i]) && isnan(b[i])) ||
              a[i] == b[i]))
            fail_msg("%s: element %lld is %g on cpu, %g on reference", name, (long long)i, a[i], b[i]);
}

/* True if the shape rule accepts. */
static bool both(const asc_op *op, const asc_sample *s, int i) {
    static result cpu, ref;
    char name[64];
    snprintf(name, sizeof name, "%s, sample %d", op->name, i);
    run("reference", op, s, &ref);
    run("cpu", op, s, &cpu);
    assert_int_equal(ref.status, cpu.status);
    if (ref.status != ASC_OK) return false;
    assert_int_equal(ref.n, cpu.n);
    assert_int_equal(ref.n_grad, cpu.n_grad);
    compare(name, cpu.y, ref.y, ref.n);
    compare(name, cpu.grad, ref.grad, ref.n_grad);
    return true;
}

static void empty(void **state) {
    (void)state;
    long n_accepted = 0, n_refused = 0;
    for (int o = 0; o < ASC_N_OPS; o++) {
        asc_sample s = {.n_in = 0};
        for (int i = 0; asc_ops[o]->sample(i, &s); i++, s = (asc_sample){.n_in = 0}) {
            for (int k = 0; k < s.n_in; k++) {
                for (int d = 0; d < s.in_shape[k].rank; d++) {
                    asc_sample one = s, all = s;
                    one.in_shape[k].dims[d] = 0;
                    for (int j = 0; j < s.n_in; j++)
                        for (int e = 0; e < s.in_shape[j].rank; e++)
                            if (s.in_shape[j].dims[e] == s.in_shape[k].dims[d]) all.in_shape[j].dims[e] = 0;
                    const bool accepted[] = {both(asc_ops[o], &one, i), both(asc_ops[o], &all, i)};
                    for (int j = 0; j < 2; j++) *(accepted[j] ? &n_accepted : &n_refused) += 1;
                }
            }
        }
    }
    print_message("%ld accepted, %ld refused\n", n_accepted, n_refused);
    assert_true(n_accepted > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(empty)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
