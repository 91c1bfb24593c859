/* test_cpu_bias.c - kernels of matmul_bias: the bits of the matmul kernel of the same name, which
 * test_cpu_matmul.c compares with the reference, plus the bias in one f32 addition; for odd shapes, stored
 * weights, 1 and 2 threads. */
#include "kernel_check.h"

static const asc_kernel *product_kernel(const asc_kernel *bias) {
    for (size_t i = 0; i < asc_n_kernels; i++)
        if (asc_kernels[i]->opcode == ASC_OPCODE_MATMUL && strcmp(bias->name + 5, asc_kernels[i]->name) == 0)
            return asc_kernels[i];
    fail_msg("%s: no product of this name", bias->name);
    return NULL;
}

static void run(const asc_kernel *k, const asc_call *c, const void *const *in, float *out, int threads) {
    asc_kargs a = {.call = c, .out = out, .n_threads = threads};
    for (int i = 0; i < c->n_in; i++) a.in[i] = in[i];
    a.scratch = kc_alloc(k->scratch != NULL ? k->scratch(c, threads) : 0);
    k->run(&a);
    free(a.scratch);
}

/* Numbers in place of random bits: f16 and q8_0 see patterns that are finite. */
static void *weights(asc_dtype t, int64_t n) {
    size_t bytes = 0;
    assert_true(asc_dtype_bytes(t, n, &bytes));
    uint8_t *w = kc_alloc(bytes);
    if (t == ASC_DTYPE_F32) {
        for (int64_t i = 0; i < n; i++) ((float *)(void *)w)[i] = (float)kc_uniform(-1, 1);
    } else {
        for (size_t i = 0; i < bytes; i++) w[i] = (uint8_t)(i * 37 % 61); /* exponents stay small */
    }
    return w;
}

static int compare(asc_ctx *ctx, asc_dtype t, asc_shape a, asc_shape b, bool ta, bool tb) {
    const asc_attrs attrs = {.i = {ta, tb}};
    asc_call product = {.op = &asc_op_matmul, .attrs = &attrs, .n_in = 2};
    product.in_dtype[1] = t;
    product.in_shape[0] = a;
    product.in_shape[1] = b;
    product.in_dtype[0] = product.in_dtype[2] = ASC_DTYPE_F32;
    assert_ok(ctx, asc_op_matmul.infer(ctx, &product));
    asc_call whole = product;
    const int64_t n = product.shape.dims[product.shape.rank - 1], elems = kc_elems(&product.shape);
    whole.op = &asc_op_matmul_bias;
    whole.n_in = 3;
    whole.in_shape[2] = ASC_SHAPE(n);
    assert_ok(ctx, asc_op_matmul_bias.infer(ctx, &whole));
    void *in[3] = {weights(ASC_DTYPE_F32, kc_elems(&a)), weights(t, kc_elems(&b)), weights(ASC_DTYPE_F32, n)};
    int compared = 0;
    for (size_t i = 0; i < asc_n_kernels; i++) {
        const asc_kernel *k = asc_kernels[i];
        if (k->opcode != ASC_OPCODE_MATMUL_BIAS || k->isa > asc_cpu_best_isa()) continue;
        const asc_kernel *p = product_kernel(k);
        assert_int_equal(k->isa, p->isa);
        assert_int_equal(k->fits(&whole), p->fits(&product));
        if (!k->fits(&whole)) continue;
        for (int threads = 1; threads < 3; threads++) {
            float *y = kc_out(elems), *got = kc_out(elems);
            run(p, &product, (const void *const *)in, y, threads);
            run(k, &whole, (const void *const *)in, got, threads);
            for (int64_t e = 0; e < elems; e++) {
                const float want = y[e] + ((float *)in[2])[e % n];
                if (memcmp(&got[e], &want, sizeof want) != 0)
                    fail_msg("%s: element %lld is %.9g, not %.9g", k->name, (long long)e, (double)got[e],
                             (double)want);
            }
            free(y);
            free(got);
            compared++;
        }
    }
    for (int k = 0; k < 3; k++) free(in[k]);
    return compared;
}

static void bias(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "eager");
    int n = 0;
    for (int tb = 0; tb < 2; tb++) {
        const asc_shape w = tb != 0 ? ASC_SHAPE(67, 96) : ASC_SHAPE(96, 67);
        n += compare(ctx, ASC_DTYPE_F32, ASC_SHAPE(1, 96), w, false, tb != 0);
        n += compare(ctx, ASC_DTYPE_F32, ASC_SHAPE(5, 96), w, false, tb != 0);
        n += compare(ctx, ASC_DTYPE_F32, ASC_SHAPE(2, 31, 96), w, false, tb != 0);
        n += compare(ctx, ASC_DTYPE_F32, ASC_SHAPE(96, 33), w, true, tb != 0);
        n += compare(ctx, ASC_DTYPE_F16, ASC_SHAPE(40, 96), w, false, tb != 0);
    }
    n += compare(ctx, ASC_DTYPE_Q8_0, ASC_SHAPE(3, 96), ASC_SHAPE(67, 96), false, true);
    n += compare(ctx, ASC_DTYPE_Q8_0, ASC_SHAPE(300, 96), ASC_SHAPE(67, 96), false, true);
    n += compare(ctx, ASC_DTYPE_F32, ASC_SHAPE(3, 4, 9), ASC_SHAPE(3, 9, 5), false, false);
    n += compare(ctx, ASC_DTYPE_F32, ASC_SHAPE(4, 0), ASC_SHAPE(0, 5), false, false); /* the bias alone */
    n += compare(ctx, ASC_DTYPE_F32, ASC_SHAPE(700, 96), ASC_SHAPE(96, 130), false, false);
    assert_in_range(n, 30, 1000);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(bias)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
