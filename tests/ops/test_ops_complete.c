/* test_ops_complete.c - every op has every field, and what a descriptor says is true: names, flags, costs,
 * attribute slots, sample cases; and shape rules refuse what is wrong, naming the op, whatever the
 * attributes. */
#include "ops_doc.h"
#include "sampling.h"
#include "view.h"

static void fields(void **state) {
    (void)state;
    for (int i = 0; i < ASC_N_OPS; i++) {
        const asc_op *op = asc_ops[i];
        const char *n = op->name;
        if (n == NULL || n[0] == '\0') fail_msg("op %d has no name", i);
        if (op->opcode != i) fail_msg("%s: opcode %d, place %d in ops.def", n, op->opcode, i);
        if (asc_op_find(asc_view_of(n)) != op) fail_msg("%s: another op has this name", n);
        if (op->min_in < 0 || op->min_in > op->max_in || op->max_in > ASC_MAX_IN)
            fail_msg("%s: number of inputs", n);
        if (op->infer == NULL || op->ref == NULL || op->cost == NULL || op->sample == NULL)
            fail_msg("%s: a function is missing", n);
        if (op->doc == NULL || strlen(op->doc) < 5 || strchr(op->doc, '\n') != NULL) fail_msg("%s: doc", n);
        if (op->formula == NULL || strlen(op->formula) < 3 || strchr(op->formula, '\n') != NULL)
            fail_msg("%s: formula", n);
        bool no_grad = (op->flags & ASC_OP_NO_GRAD) != 0;
        if (!no_grad && (op->vjp == NULL || op->jvp == NULL)) fail_msg("%s: a derivative is missing", n);
        if (no_grad && (op->vjp != NULL || op->jvp != NULL))
            fail_msg("%s: has a derivative and says it has none", n);
        if (op->fuse < ASC_FUSE_NONE || op->fuse > ASC_FUSE_VIEW) fail_msg("%s: fusion class", n);
        if ((op->fuse == ASC_FUSE_POINTWISE) != (op->expr != NULL))
            fail_msg("%s: pointwise ops have an expression, others none", n);
        if ((op->flags & ASC_OP_INPLACE) != 0 && op->fuse != ASC_FUSE_POINTWISE)
            fail_msg("%s: only pointwise ops work in place", n);
    }
    assert_null(asc_op_find(asc_view_of("no_such_op")));
    assert_null(asc_op_find(asc_view_of("ad")));
}

static void attributes(void **state) {
    (void)state;
    for (int i = 0; i < ASC_N_OPS; i++) {
        const asc_op *op = asc_ops[i];
        bool used_i[ASC_N_IATTR] = {false}, used_f[ASC_N_FATTR] = {false};
        if ((op->attrs == NULL) != (op->n_attrs == 0)) fail_msg("%s: attribute table", op->name);
        for (int k = 0; k < op->n_attrs; k++) {
            const asc_attr_def *d = &op->attrs[k];
            bool is_float = d->kind == ASC_ATTR_FLOAT || d->kind == ASC_ATTR_SCALAR;
            int len = d->kind == ASC_ATTR_INTS ? 1 + ASC_MAX_RANK : d->kind == ASC_ATTR_AXES ? 3 : 1;
            if (d->name == NULL || d->name[0] == '\0') fail_msg("%s: attribute %d has no name", op->name, k);
            if (d->slot < 0 || d->slot + len > (is_float ? ASC_N_FATTR : ASC_N_IATTR))
                fail_msg("%s: slot of %s", op->name, d->name);
            for (int j = d->slot; j < d->slot + len; j++) {
                bool *used = is_float ? &used_f[j] : &used_i[j];
                if (*used) fail_msg("%s: %s shares a slot", op->name, d->name);
                *used = true;
            }
        }
        asc_sample s = {.n_in = 0};
        for (int c = 0; op->sample(c, &s); c++, s = (asc_sample){.n_in = 0}) {
            for (int j = 0; j < ASC_N_IATTR; j++)
                if (!used_i[j] && s.attrs.i[j] != 0)
                    fail_msg("%s, sample %d: i[%d] belongs to no attribute", op->name, c, j);
            for (int j = 0; j < ASC_N_FATTR; j++)
                if (!used_f[j] && s.attrs.f[j] != 0)
                    fail_msg("%s, sample %d: f[%d] belongs to no attribute", op->name, c, j);
        }
    }
}

/* At least three cases; a rank of 0 or 1 or a dimension of 1 among them; costs that make sense. */
static void samples(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    for (int i = 0; i < ASC_N_OPS; i++) {
        const asc_op *op = asc_ops[i];
        asc_sample s = {.n_in = 0};
        bool odd = false;
        int n = 0;
        for (; op->sample(n, &s); n++, s = (asc_sample){.n_in = 0}) {
            if (s.n_in < op->min_in || s.n_in > op->max_in)
                fail_msg("%s, sample %d: number of inputs", op->name, n);
            asc_call c = test_call(ctx, op, &s);
            if (asc_shape_elems(&c.shape) < 0 || (c.dtype != ASC_DTYPE_F32 && c.dtype != ASC_DTYPE_I32))
                fail_msg("%s, sample %d: result", op->name, n);
            for (int k = 0; k < s.n_in; k++) {
                odd = odd || s.in_shape[k].rank <= 1;
                for (int d = 0; d < s.in_shape[k].rank; d++) odd = odd || s.in_shape[k].dims[d] % 2 == 1;
            }
            asc_cost cost = {.flops = -1, .bytes_read = -1, .bytes_written = -1};
            op->cost(&c, &cost);
            if (!(cost.flops >= 0 && cost.bytes_read >= 0 && cost.flops < 1e9 && cost.bytes_read < 1e9))
                fail_msg("%s, sample %d: cost", op->name, n);
            if (cost.bytes_written != 4.0 * (double)asc_shape_elems(&c.shape))
                fail_msg("%s, sample %d: bytes written", op->name, n);
        }
        if (n < 3) fail_msg("%s: %d samples, at least 3", op->name, n);
        if (!odd && op->max_in > 0) fail_msg("%s: no small or odd shape among the samples", op->name);
        if (op->sample(1000, &s)) fail_msg("%s: samples without end", op->name);
    }
    test_ctx_end(ctx);
}

/* f(p x + q z) = p f(x) + q f(z) in input k, the others fixed. */
static void check_linear(asc_ctx *ctx, const asc_op *op, const asc_sample *s, int k, const char *name) {
    asc_call c = test_call(ctx, op, s);
    int64_t n = asc_shape_elems(&c.shape), n_x = asc_shape_elems(&s->in_shape[k]);
    test_inputs in = test_inputs_draw(s, 3), other = test_inputs_draw(s, 4);
    double *y[3], *mixed = calloc((size_t)n_x + 1, sizeof *mixed), *x = in.value[k], most = 1;
    for (int j = 0; j < 3; j++) y[j] = calloc((size_t)n + 1, sizeof(double));
    for (int64_t i = 0; i < n_x; i++) mixed[i] = 2 * x[i] - 3 * other.value[k][i];
    test_ref(&c, in.value, y[0]);
    in.value[k] = other.value[k];
    test_ref(&c, in.value, y[1]);
    in.value[k] = mixed;
    test_ref(&c, in.value, y[2]);
    in.value[k] = x;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(y[0][i]) + fabs(y[1][i]));
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(y[2][i] - 2 * y[0][i] + 3 * y[1][i]) <= 1e-12 * most))
            fail_msg("%s: not linear in input %d", name, k);
    for (int j = 0; j < 3; j++) free(y[j]);
    free(mixed);
    test_inputs_free(&in);
    test_inputs_free(&other);
}

static void linear_flags(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    int n_checked = 0;
    for (int i = 0; i < ASC_N_OPS; i++) {
        asc_sample s = {.n_in = 0};
        for (int c = 0; asc_ops[i]->sample(c, &s); c++, s = (asc_sample){.n_in = 0}) {
            char name[64];
            snprintf(name, sizeof name, "%s, sample %d", asc_ops[i]->name, c);
            for (int k = 0; k < 4; k++) {
                if ((asc_ops[i]->flags & (1u << k)) == 0) continue;
                if (k >= asc_ops[i]->max_in) fail_msg("%s: linear in an input that it does not have", name);
                if (k >= s.n_in || s.in_dtype[k] != ASC_DTYPE_F32) continue;
                check_linear(ctx, asc_ops[i], &s, k, name);
                n_checked++;
            }
        }
    }
    assert_true(n_checked > 50);
    test_ctx_end(ctx);
}

static void must_refuse(asc_ctx *ctx, const asc_call *c, const char *what) {
    asc_call call = *c;
    asc_error_clear(ctx);
    asc_status st = call.op->infer(ctx, &call);
    if (st != ASC_INVALID_ARGUMENT) fail_msg("%s: accepts %s", call.op->name, what);
    if (strstr(asc_error_message(ctx), call.op->name) == NULL)
        fail_msg("%s: %s: the message does not name the op: %s", call.op->name, what, asc_error_message(ctx));
}

static void wrong_types(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    for (int i = 0; i < ASC_N_OPS; i++) {
        asc_sample s = {.n_in = 0};
        assert_true(asc_ops[i]->sample(0, &s));
        asc_call c = test_call(ctx, asc_ops[i], &s);
        for (int k = 0; k < s.n_in; k++) {
            static const asc_dtype never[] = {ASC_DTYPE_BOOL, ASC_DTYPE_F64, ASC_DTYPE_I64, ASC_DTYPE_Q8_K};
            for (size_t t = 0; t < sizeof never / sizeof never[0]; t++) {
                c.in_dtype[k] = never[t];
                must_refuse(ctx, &c, asc_dtype_of(never[t])->name);
            }
            if (s.in_dtype[k] == ASC_DTYPE_I32 && asc_ops[i] != &asc_op_cast) {
                c.in_dtype[k] = ASC_DTYPE_F32;
                must_refuse(ctx, &c, "f32 for an index");
            }
            c.in_dtype[k] = s.in_dtype[k];
        }
    }
    test_ctx_end(ctx);
}

static void wrong_arity(void **state) {
    (void)state;
    for (int i = 0; i < ASC_N_OPS; i++) {
        const asc_op *op = asc_ops[i];
        for (int n = op->min_in - 1; n <= op->max_in + 1; n += op->max_in - op->min_in + 2) {
            if (n < 0) continue;
            asc_ctx *ctx = test_ctx("reference", "deferred");
            asc_sample s = {.n_in = 0};
            assert_true(op->sample(0, &s));
            asc_tensor *in[ASC_MAX_IN + 1], *leaf = asc_from_f64(ctx, ASC_SCALAR_SHAPE, (double[]){1});
            for (int k = 0; k <= ASC_MAX_IN; k++) in[k] = leaf;
            asc_tensor *y = asc_apply(ctx, op, &s.attrs, in, n);
            if (!asc_tensor_poisoned(y)) fail_msg("%s takes %d inputs", op->name, n);
            if (asc_run(ctx, &y, 1) != ASC_INVALID_ARGUMENT)
                fail_msg("%s with %d inputs: wrong status", op->name, n);
            if (strstr(asc_error_message(ctx), op->name) == NULL) fail_msg("%s", asc_error_message(ctx));
            test_ctx_end(ctx);
        }
    }
}

typedef struct bad_row {
    const asc_op *op;
    asc_attrs attrs;
    int n_in;
    asc_shape in[3];
    const char *says; /* part of the message */
} bad_row;

#define S(...)                                                                                               \
    {                                                                                                        \
        .rank = (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), .dims = { __VA_ARGS__ }                   \
    }
#define A(...)                                                                                               \
    {                                                                                                        \
        .i = { __VA_ARGS__ }                                                                                 \
    }

static const bad_row BAD[] = {
    {&asc_op_add, A(0), 2, {S(2, 3), S(2)}, "broadcast"},
    {&asc_op_where, A(0), 3, {S(2), S(3), S(1)}, "broadcast"},
    {&asc_op_swiglu, A(0), 2, {S(2, 3), S(3)}, "differ in shape"},
    {&asc_op_swiglu_grad, A(0), 3, {S(2), S(2), S(1)}, "differ in shape"},
    {&asc_op_swiglu_grad, A(0), 3, {S(1, 1, 1, 1, 1, 1), S(1, 1, 1, 1, 1, 1), S(1, 1, 1, 1, 1, 1)}, "5 axes"},
    {&asc_op_sum, A(1, 2), 1, {S(2, 3)}, "no axis 2"},
    {&asc_op_sum, A(2, 1, 1), 1, {S(2, 3)}, "twice"},
    {&asc_op_mean, A(3, 0, 1, 2), 1, {S(2, 3)}, "3 axes"},
    {&asc_op_max, A(-1), 1, {S(2, 3)}, "no axis -1"},
    {&asc_op_max, A(1), 1, {S(2, 0)}, "empty"},
    {&asc_op_arg_max, A(0), 1, {{.rank = 0}}, "no axis 0"},
    {&asc_op_reshape, A(1, 5), 1, {S(2, 3)}, "[5]"},
    {&asc_op_reshape, A(2, 4, -1), 1, {S(2, 3)}, "-1"},
    {&asc_op_reshape, A(7, 1, 1, 1, 1, 1, 1), 1, {S(1)}, "not a shape"},
    {&asc_op_transpose, A(2, 0, 0), 1, {S(2, 3)}, "twice"},
    {&asc_op_transpose, A(1, 0), 1, {S(2, 3)}, "rank 2"},
    {&asc_op_broadcast, A(1, 3), 1, {S(2, 3)}, "[3]"},
    {&asc_op_broadcast, A(2, 2, 3), 1, {S(2)}, "[2,3]"},
    {&asc_op_slice, A(1, 2, 2), 1, {S(2, 3)}, "2 from 2"},
    {&asc_op_slice, A(1, -1, 1), 1, {S(2, 3)}, "from -1"},
    {&asc_op_slice, A(0, INT64_MAX, INT64_MAX), 1, {S(2, 3)}, "does not fit"},
    {&asc_op_pad, A(0, -1, 0), 1, {S(2)}, "cannot pad"},
    {&asc_op_pad, A(0, INT64_MAX, 1), 1, {S(2)}, "cannot pad"},
    {&asc_op_concat, A(0), 2, {S(2, 3), S(2, 2)}, "input 1"},
    {&asc_op_concat, A(0), 2, {S(2, 3), S(2)}, "rank"},
    {&asc_op_concat, A(2), 2, {S(2, 3), S(2, 3)}, "no axis 2"},
    {&asc_op_cast, A(ASC_DTYPE_F16), 1, {S(2)}, "f16"},
    {&asc_op_cast, A(-5), 1, {S(2)}, "unknown type"},
    {&asc_op_full, A(1, -3), 0, {S(0)}, "not a shape"},
    {&asc_op_iota, A(-3), 0, {S(0)}, "-3"},
    {&asc_op_gather, A(0), 2, {{.rank = 0}, S(2)}, "no axis"},
    {&asc_op_gather, A(0), 2, {S(0, 2), S(2)}, "empty"},
    {&asc_op_gather, A(0), 2, {S(2, 1, 1, 1, 1), S(1, 1, 1)}, "axes"},
    {&asc_op_scatter_add, A(3), 2, {S(2, 3), S(3)}, "begin with"},
    {&asc_op_scatter_add, A(0), 2, {S(2, 3), S(2)}, "no room"},
    {&asc_op_take_last, A(0), 2, {S(2, 3), S(3)}, "without its last axis"},
    {&asc_op_take_last, A(0), 2, {S(2, 0), S(2)}, "empty"},
    {&asc_op_put_last, A(3), 2, {S(2), S(3)}, "differ in shape"},
    {&asc_op_put_last, A(0), 2, {S(2), S(2)}, "no room"},
    {&asc_op_min, A(0), 1, {S(0, 3)}, "empty"},
    {&asc_op_arg_min, A(-1), 1, {S(2, 3)}, "no axis -1"},
    {&asc_op_prod, A(2), 1, {S(2, 3)}, "no axis 2"},
    {&asc_op_log_sum_exp, A(2, 1, 1), 1, {S(2, 3)}, "twice"},
    {&asc_op_cumsum, A(2), 1, {S(2, 3)}, "no axis 2"},
    {&asc_op_top_k, A(4, 1), 1, {S(2, 3)}, "4 of 3"},
    {&asc_op_top_k, A(-1, 1), 1, {S(2, 3)}, "-1 of 3"},
    {&asc_op_top_k, A(0, 1), 1, {{.rank = 0}}, "no axis"},
    {&asc_op_take_along, A(0), 2, {S(2, 3), S(2)}, "rank"},
    {&asc_op_take_along, A(0), 2, {S(2, 3), S(4, 4)}, "other axes"},
    {&asc_op_take_along, A(1), 2, {S(2, 0), S(2, 1)}, "empty"},
    {&asc_op_put_along, A(2, 2, 3, 0, 0, 0, 0, 1), 2, {S(2, 1), S(1, 2)}, "differ in shape"},
    {&asc_op_put_along, A(2, 2, 3, 0, 0, 0, 0, 1), 2, {S(3, 1), S(3, 1)}, "other axes"},
    {&asc_op_put_along, A(2, 2, 0, 0, 0, 0, 0, 1), 2, {S(2, 1), S(2, 1)}, "no room"},
    {&asc_op_bitwise, A(9), 2, {S(2), S(2)}, "kind 9"},
    {&asc_op_random, A(1, 2, 0, 0, 0, 0, 0, 5), 0, {S(0)}, "kind 5"},
    {&asc_op_matmul_bias, A(0), 3, {S(2, 3), S(3, 4), S(3)}, "must be [4]"},
};

static void wrong_shapes(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        const bad_row *r = &BAD[i];
        asc_call c = {.op = r->op, .attrs = &r->attrs, .n_in = r->n_in};
        asc_sample like = {.n_in = 0}; /* which inputs are indices */
        assert_true(r->op->sample(0, &like));
        for (int k = 0; k < r->n_in; k++) {
            c.in_dtype[k] = like.in_dtype[k] == ASC_DTYPE_I32 ? ASC_DTYPE_I32 : ASC_DTYPE_F32;
            c.in_shape[k] = r->in[k];
        }
        must_refuse(ctx, &c, r->says);
        if (strstr(asc_error_message(ctx), r->says) == NULL)
            fail_msg("no '%s' in: %s", r->says, asc_error_message(ctx));
    }
    test_ctx_end(ctx);
}

static int64_t wild(test_rng *r) {
    static const int64_t edges[] = {INT64_MIN, INT64_MAX, -1, 0, 1, 2, 3, 6, 7, INT32_MAX, (int64_t)1 << 40};
    return edges[(int)test_uniform(r, 0, sizeof edges / sizeof edges[0])];
}

/* Programs are parsed from text, so a shape rule sees any attributes and shapes: it refuses, or says a shape.
 */
static void wild_attributes(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    test_rng rng = {.seed = 8};
    long n_refused = 0, n_accepted = 0;
    for (int round = 0; round < 40000; round++) {
        const asc_op *op = asc_ops[round % ASC_N_OPS];
        asc_sample s = {.n_in = 0};
        assert_true(op->sample((int)test_uniform(&rng, 0, 3), &s));
        asc_call c = {.op = op, .attrs = &s.attrs, .n_in = s.n_in};
        for (int j = 0; j < ASC_N_IATTR; j++)
            if (test_uniform(&rng, 0, 1) < 0.3) s.attrs.i[j] = wild(&rng);
        for (int k = 0; k < s.n_in; k++) {
            c.in_dtype[k] = test_uniform(&rng, 0, 1) < 0.1 ? (asc_dtype)test_uniform(&rng, 0, ASC_N_DTYPES)
                                                           : s.in_dtype[k];
            c.in_shape[k] = s.in_shape[k];
            if (test_uniform(&rng, 0, 1) > 0.2) continue;
            c.in_shape[k].rank = (int)test_uniform(&rng, 0, ASC_MAX_RANK + 1);
            for (int d = 0; d < c.in_shape[k].rank; d++)
                c.in_shape[k].dims[d] = (int64_t)test_uniform(&rng, 0, 4);
        }
        asc_error_clear(ctx);
        asc_status st = op->infer(ctx, &c);
        if (st != ASC_OK) {
            n_refused++;
            if (strstr(asc_error_message(ctx), op->name) == NULL)
                fail_msg("%s: %s", op->name, asc_error_message(ctx));
            continue;
        }
        n_accepted++;
        assert_in_range(c.shape.rank, 0, ASC_MAX_RANK);
        for (int d = 0; d < c.shape.rank; d++)
            if (c.shape.dims[d] < 0) fail_msg("%s: a negative dimension", op->name);
        asc_cost cost = {0};
        if (asc_shape_elems(&c.shape) >= 0) op->cost(&c, &cost);
    }
    print_message("%ld refused, %ld accepted\n", n_refused, n_accepted);
    assert_true(n_refused > 1000 && n_accepted > 1000);
    test_ctx_end(ctx);
}

/* What builders add: axes from the end, a dimension worked out, lists in order. */
static void builders(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    double v[24] = {0};
    asc_tensor *a = asc_from_f64(ctx, ASC_SHAPE(2, 3, 4), v);
    asc_shape shapes[] = {
        asc_tensor_shape(asc_sum(ctx, a, 2, (int[]){-1, 0}, false)),
        ASC_SHAPE(3),
        asc_tensor_shape(asc_max(ctx, a, -2, true)),
        ASC_SHAPE(2, 1, 4),
        asc_tensor_shape(asc_arg_max(ctx, a, -1)),
        ASC_SHAPE(2, 3),
        asc_tensor_shape(asc_reshape(ctx, a, ASC_SHAPE(4, -1))),
        ASC_SHAPE(4, 6),
        asc_tensor_shape(asc_transpose(ctx, a, 3, (int[]){-1, 0, 1})),
        ASC_SHAPE(4, 2, 3),
        asc_tensor_shape(asc_slice(ctx, a, -1, 1, 2)),
        ASC_SHAPE(2, 3, 2),
        asc_tensor_shape(asc_pad(ctx, a, -3, 1, 1)),
        ASC_SHAPE(4, 3, 4),
        asc_tensor_shape(asc_concat(ctx, (asc_tensor *[]){a, a}, 2, -2)),
        ASC_SHAPE(2, 6, 4),
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i += 2)
        if (!asc_shape_eq(&shapes[i], &shapes[i + 1])) fail_msg("builder %zu", i / 2);
    asc_tensor *one = asc_sum(ctx, a, 2, (int[]){2, 0}, false),
               *other = asc_sum(ctx, a, 2, (int[]){0, -1}, false);
    assert_memory_equal(&one->attrs, &other->attrs, sizeof one->attrs);
    assert_false(asc_tensor_poisoned(one));
    assert_true(asc_tensor_poisoned(asc_reshape(ctx, a, ASC_SHAPE(5, -1))));
    assert_true(asc_tensor_poisoned(asc_sum(ctx, a, 7, (int[]){0, 1, 2, 0, 1, 2, 0}, false)));
    assert_true(asc_tensor_poisoned(asc_concat(ctx, &a, 0, 0)));
    assert_int_equal(asc_run(ctx, &one, 1), ASC_INVALID_ARGUMENT); /* the first error, at the boundary */
    test_ctx_end(ctx);
}

static void markdown(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    asc_strbuf page;
    asc_strbuf_init(&page, ctx);
    asc_ops_markdown(&page);
    assert_ok(ctx, asc_strbuf_status(&page));
    int n_rows = 0;
    for (const char *line = page.ptr; line != NULL && *line != '\0'; line = strchr(line, '\n') + 1) {
        int n_bars = 0;
        if (strncmp(line, "| `", 3) != 0) continue;
        for (const char *p = line; *p != '\n'; p++) n_bars += *p == '|' && p[-1] != '\\';
        assert_int_equal(n_bars, 9);
        n_rows++;
    }
    assert_int_equal(n_rows, ASC_N_OPS);
    for (int i = 0; i < ASC_N_OPS; i++) assert_non_null(strstr(page.ptr, asc_ops[i]->doc));
    asc_strbuf_deinit(&page);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(fields),       cmocka_unit_test(attributes),
                                       cmocka_unit_test(samples),      cmocka_unit_test(linear_flags),
                                       cmocka_unit_test(wrong_types),  cmocka_unit_test(wrong_arity),
                                       cmocka_unit_test(wrong_shapes), cmocka_unit_test(wild_attributes),
                                       cmocka_unit_test(builders),     cmocka_unit_test(markdown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
