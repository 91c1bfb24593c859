/* test_ops_torch.c - values and gradients of single ops against torch's (tests/data/ops/torch_ops.txt, made
 * by scripts/refs/op_fixtures.py), at the points where they bend, tie, overflow or are not defined: on the
 * reference device in f64, and on the cpu device with its fast kernels. */
#include "exec.h"
#include "grad.h"
#include "harness.h"
#include "ops.h"
#include "view.h"
#include <math.h>

enum { MAX_VALUES = 512, MAX_INPUTS = 3 };

typedef struct values {
    asc_shape shape;
    int n;
    bool given, skip[MAX_VALUES];
    double v[MAX_VALUES];
} values;

typedef struct torch_case {
    int line;
    const asc_op *op;
    asc_attrs attrs;
    int n_in;
    bool whole[MAX_INPUTS];
    values in[MAX_INPUTS], y, g, d[MAX_INPUTS];
} torch_case;

/* The numbers of the rest of a line; with their shape before them, if `shaped`. */
static void parse(char *at, bool shaped, values *out) {
    *out = (values){.given = true};
    if (shaped) {
        out->shape.rank = (int)strtol(at, &at, 10);
        assert_in_range(out->shape.rank, 0, ASC_MAX_RANK);
        for (int k = 0; k < out->shape.rank; k++) out->shape.dims[k] = strtol(at, &at, 10);
    }
    for (char *next = strtok(at, " \n"); next != NULL; next = strtok(NULL, " \n"), out->n++) {
        assert_in_range(out->n, 0, MAX_VALUES - 1);
        out->skip[out->n] = next[0] == '*';
        out->v[out->n] = strtod(next, NULL);
    }
    if (shaped) assert_int_equal(out->n, asc_shape_elems(&out->shape));
}

/* Reads up to `end`; false at the end of the file. */
static bool read_case(FILE *f, int *line, torch_case *c) {
    static char text[65536];
    *c = (torch_case){.line = *line + 1};
    values numbers;
    while (fgets(text, sizeof text, f) != NULL) {
        char *at = text + strcspn(text, " \n");
        ++*line;
        if (*at == ' ') *at++ = '\0';
        if (strcmp(text, "op") == 0) {
            at[strcspn(at, "\n")] = '\0';
            c->op = asc_op_find(asc_view_of(at));
            if (c->op == NULL) fail_msg("line %d: no op %s", *line, at);
        } else if (strcmp(text, "f") == 0) {
            parse(at, false, &numbers);
            for (int k = 0; k < numbers.n; k++) c->attrs.f[k] = numbers.v[k];
        } else if (strcmp(text, "i") == 0) {
            parse(at, false, &numbers);
            for (int k = 0; k < numbers.n; k++) c->attrs.i[k] = (int64_t)numbers.v[k];
        } else if (strcmp(text, "in") == 0) {
            assert_in_range(c->n_in, 0, MAX_INPUTS - 1);
            c->whole[c->n_in] = strncmp(at, "i32", 3) == 0;
            parse(at + 3, true, &c->in[c->n_in++]);
        } else if (strcmp(text, "y") == 0) {
            parse(at, true, &c->y);
        } else if (strcmp(text, "g") == 0) {
            parse(at, false, &c->g);
        } else if (strcmp(text, "d") == 0) {
            parse(at + 1, false, &c->d[at[0] - '0']);
        } else {
            return true; /* end */
        }
    }
    return false;
}

static asc_tensor *leaf(asc_ctx *ctx, const values *v, bool whole) {
    if (!whole) return asc_from_f64(ctx, v->shape, v->v);
    int32_t numbers[MAX_VALUES];
    for (int i = 0; i < v->n; i++) numbers[i] = (int32_t)v->v[i];
    return asc_from_i32(ctx, v->shape, numbers);
}

static void compare(asc_ctx *ctx, const torch_case *c, const char *what, asc_tensor *t, const values *want,
                    double eps) {
    double got[MAX_VALUES];
    const asc_shape shape = asc_tensor_shape(t);
    assert_ok(ctx, asc_run(ctx, &t, 1));
    assert_int_equal(asc_tensor_elems(t), want->n);
    if (want->shape.rank > 0 && !asc_shape_eq(&shape, &want->shape))
        fail_msg("line %d, %s: %s has another shape", c->line, c->op->name, what);
    if (t->dtype == ASC_DTYPE_I32) {
        int32_t whole[MAX_VALUES];
        assert_ok(ctx, asc_read_i32(ctx, t, whole, (size_t)want->n));
        for (int i = 0; i < want->n; i++) got[i] = whole[i];
    } else {
        assert_ok(ctx, asc_read_f64(ctx, t, got, (size_t)want->n));
    }
    const double largest = eps > 1e-10 ? 3.4028235e38 : INFINITY; /* an f32 device overflows earlier */
    for (int i = 0; i < want->n; i++) {
        const double w = fabs(want->v[i]) > largest ? copysign(INFINITY, want->v[i]) : want->v[i];
        const bool same = isnan(w)   ? isnan(got[i])
                          : isinf(w) ? got[i] == w
                                     : fabs(got[i] - w) <= eps * fmax(1, fabs(w));
        if (!want->skip[i] && !same)
            fail_msg("line %d, %s: %s %d is %.17g, torch says %.17g (input %.9g)", c->line, c->op->name, what,
                     i, got[i], want->v[i], i < c->in[0].n ? c->in[0].v[i] : 0.0);
    }
}

static void check(asc_ctx *ctx, const torch_case *c, double eps) {
    asc_tensor *x[MAX_INPUTS], *xs[MAX_INPUTS], *grad[MAX_INPUTS];
    size_t n = 0;
    asc_scope_begin(ctx);
    for (int k = 0; k < c->n_in; k++) {
        x[k] = leaf(ctx, &c->in[k], c->whole[k]);
        if (!c->whole[k]) xs[n++] = x[k];
    }
    asc_tensor *y = asc_apply(ctx, c->op, &c->attrs, x, c->n_in);
    compare(ctx, c, "value", y, &c->y, eps);
    if (c->g.given) {
        asc_grad(ctx, y, asc_from_f64(ctx, c->y.shape, c->g.v), xs, n, grad);
        for (size_t j = 0; j < n; j++) {
            int k = 0;
            while (x[k] != xs[j]) k++;
            assert_true(c->d[k].given);
            compare(ctx, c, "gradient", grad[j], &c->d[k], eps);
        }
    }
    assert_ok(ctx, asc_scope_end(ctx));
}

static void all(const char *device, double eps) {
    asc_ctx *ctx = test_ctx(device, "deferred");
    static torch_case c;
    FILE *f = fopen(test_data("ops/torch_ops.txt"), "r");
    int line = 0, n = 0;
    assert_non_null(f);
    for (; read_case(f, &line, &c); n++) check(ctx, &c, eps);
    fclose(f);
    assert_in_range(n, 80, 1000);
    test_ctx_end(ctx);
}

/* torch loses most in log_sum_exp at 1000: 2^-53 1000, in e^(a - y). */
static void reference(void **state) {
    (void)state;
    all("reference", 1e-13);
}

/* A gradient of five f32 operations on numbers up to 100. */
static void cpu(void **state) {
    (void)state;
    all("cpu", 1e-6);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(reference), cmocka_unit_test(cpu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
