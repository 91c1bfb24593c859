/* test_ops_strides.c - reference kernels of all ops give the same bits for any strides and number of threads.
 */
#include "sampling.h"

/* An array spread out in memory: axes in another order, every other stride negative, gaps between elements.
 */
static asc_nd spread(const asc_shape *shape, double **storage) {
    asc_nd nd = {.rank = shape->rank};
    int64_t step = 3, first = 0;
    for (int k = 0; k < shape->rank; k++) { /* the first axis varies fastest */
        nd.dims[k] = shape->dims[k];
        nd.strides[k] = k % 2 == 0 ? -step : step;
        if (k % 2 == 0 && shape->dims[k] > 0) first += step * (shape->dims[k] - 1);
        step *= shape->dims[k] + 1;
    }
    *storage = calloc((size_t)step + 1, sizeof(double));
    for (int64_t i = 0; i < step + 1; i++) (*storage)[i] = 7e77;
    nd.data = *storage + first;
    return nd;
}

static double *element(const asc_nd *nd, int64_t i) {
    double *p = nd->data;
    for (int k = nd->rank - 1; k >= 0; i /= nd->dims[k], k--) p += i % nd->dims[k] * nd->strides[k];
    return p;
}

static void check_strides(const asc_call *c, const test_inputs *in, const char *name, int n_threads) {
    int64_t n = asc_shape_elems(&c->shape);
    double *plain = calloc((size_t)n + 1, sizeof *plain), *memory[ASC_MAX_IN + 1] = {NULL};
    test_ref(c, in->value, plain);
    asc_ref_args a = {.attrs = c->attrs, .n_in = c->n_in, .n_threads = n_threads};
    for (int k = 0; k < c->n_in; k++) {
        a.in[k] = spread(&c->in_shape[k], &memory[k]);
        for (int64_t i = 0; i < in->elems[k]; i++) *element(&a.in[k], i) = in->value[k][i];
    }
    a.out = spread(&c->shape, &memory[c->n_in]);
    c->op->ref(&a);
    for (int64_t i = 0; i < n; i++)
        if (memcmp(element(&a.out, i), &plain[i], sizeof(double)) != 0)
            fail_msg("%s: element %lld is %.17g with strides, %.17g without", name, (long long)i,
                     *element(&a.out, i), plain[i]);
    for (int k = 0; k <= c->n_in; k++) free(memory[k]);
    free(plain);
}

static void strides(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    for (int o = 0; o < ASC_N_OPS; o++) {
        asc_sample s = {.n_in = 0};
        for (int i = 0; asc_ops[o]->sample(i, &s); i++, s = (asc_sample){.n_in = 0}) {
            test_inputs in = test_inputs_draw(&s, 5);
            asc_call c = test_call(ctx, asc_ops[o], &s);
            char name[64];
            snprintf(name, sizeof name, "%s, sample %d", asc_ops[o]->name, i);
            for (int n_threads = 1; n_threads < 4; n_threads++) check_strides(&c, &in, name, n_threads);
            test_inputs_free(&in);
        }
    }
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(strides)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
