/* expert_matmul.c - rows that take the same matrix of a stack are put together and multiplied by the kernels
 * of matmul. A row's bits do not depend on which other rows take its matrix: with up to FEW_ROWS rows in all
 * every product is one of few rows, with more every product is one of many. */
#include "kutil.h"

enum { FEW_ROWS = 8, X = 0, W = 1, INDEX = 2 };

/* One expert's product as a call of matmul. */
static asc_call product(const asc_call *c, const asc_attrs *attrs, int64_t rows) {
    const asc_shape *w = &c->in_shape[W], *y = &c->shape;
    const int64_t n = y->dims[y->rank - 1], all = asc_kelems(&c->in_shape[INDEX]);
    asc_call m = {.op = asc_ops[ASC_OPCODE_MATMUL],
                  .attrs = attrs,
                  .n_in = 2,
                  .in_dtype = {ASC_DTYPE_F32, c->in_dtype[W]},
                  .dtype = ASC_DTYPE_F32,
                  .level = ASC_PRECISION_HIGHEST,
                  .many_rows = c->many_rows || all > FEW_ROWS};
    m.in_shape[0] = ASC_SHAPE(rows, asc_klast(&c->in_shape[X]));
    m.in_shape[1] = ASC_SHAPE(w->dims[1], w->dims[2]);
    m.shape = ASC_SHAPE(rows, n);
    return m;
}

static asc_attrs attrs_of(const asc_call *c) { return (asc_attrs){.i = {0, c->attrs->i[0]}}; }

/* Parts of the scratch, each 64-byte aligned. */
typedef struct layout {
    size_t x, y, order, count, inner, bytes;
} layout;

static size_t up(size_t n) { return (n + 63) & ~(size_t)63; }

static layout layout_of(const asc_call *c) {
    const size_t rows = (size_t)asc_kelems(&c->in_shape[INDEX]), k = (size_t)asc_klast(&c->in_shape[X]),
                 n = (size_t)asc_klast(&c->shape);
    layout l = {.x = 0};
    l.y = up(rows * k * sizeof(float));
    l.order = l.y + up(rows * n * sizeof(float));
    l.count = l.order + up(rows * sizeof(int64_t));
    l.inner = l.count + up(((size_t)c->in_shape[W].dims[0] + 1) * sizeof(int64_t));
    l.bytes = l.inner;
    return l;
}

static size_t scratch_for(const asc_call *c, int n_threads, asc_isa isa) {
    const asc_attrs attrs = attrs_of(c);
    const int64_t sizes[] = {1, FEW_ROWS, asc_kelems(&c->in_shape[INDEX])};
    size_t inner = 0;
    for (int i = 0; i < 3; i++) {
        const asc_call m = product(c, &attrs, sizes[i]);
        const asc_kernel *k = asc_kernel_pick(&m, isa);
        const size_t bytes = k != NULL && k->scratch != NULL ? k->scratch(&m, n_threads) : 0;
        if (bytes > inner) inner = bytes;
    }
    size_t total = layout_of(c).bytes;
    return asc_add_size(total, inner, &total) ? total : SIZE_MAX;
}

static int64_t expert_of(int32_t i, int64_t n) { return i < 0 ? 0 : asc_kmin(i, n - 1); }

/* order: positions of the rows of expert 0, then 1, ...; end[e]: behind the last of expert e - 1 on return.
 */
static void sort_rows(const int32_t *index, int64_t rows, int64_t n_experts, int64_t *order, int64_t *start) {
    memset(start, 0, ((size_t)n_experts + 1) * sizeof *start);
    for (int64_t r = 0; r < rows; r++) start[expert_of(index[r], n_experts) + 1]++;
    for (int64_t e = 0; e < n_experts; e++) start[e + 1] += start[e];
    for (int64_t r = 0; r < rows; r++) order[start[expert_of(index[r], n_experts)]++] = r;
    for (int64_t e = n_experts; e > 0; e--) start[e] = start[e - 1]; /* each moved to where the next began */
    start[0] = 0;
}

static void run_for(const asc_kargs *a, asc_isa isa) {
    const asc_call *c = a->call;
    const asc_shape *w = &c->in_shape[W];
    const asc_dtype_info *info = asc_dtype_of(c->in_dtype[W]);
    const layout l = layout_of(c);
    const asc_attrs attrs = attrs_of(c);
    const int64_t rows = asc_kelems(&c->in_shape[INDEX]), k = asc_klast(&c->in_shape[X]),
                  n = asc_klast(&c->shape);
    const size_t one = (size_t)(w->dims[1] * w->dims[2] / info->block_elems) * (size_t)info->block_bytes;
    uint8_t *base = a->scratch;
    float *x = (float *)(void *)(base + l.x), *y = (float *)(void *)(base + l.y), *out = a->out;
    int64_t *order = (int64_t *)(void *)(base + l.order), *start = (int64_t *)(void *)(base + l.count);
    sort_rows(a->in[INDEX], rows, w->dims[0], order, start);
    for (int64_t i = 0; i < rows; i++)
        memcpy(x + i * k, (const float *)a->in[X] + order[i] * k, (size_t)k * sizeof *x);
    for (int64_t e = 0; e < w->dims[0]; e++) {
        const int64_t first = start[e], some = start[e + 1] - first;
        if (some == 0) continue;
        const asc_call m = product(c, &attrs, some);
        const asc_kargs args = {.call = &m,
                                .in = {x + first * k, (const uint8_t *)a->in[W] + (size_t)e * one},
                                .out = y,
                                .scratch = base + l.inner,
                                .n_threads = a->n_threads};
        asc_kernel_pick(&m, isa)->run(&args);
        for (int64_t i = 0; i < some; i++)
            memcpy(out + order[first + i] * n, y + i * n, (size_t)n * sizeof *out);
    }
}

/* Some kernel of matmul takes every product: the last one in the table takes all of f32 and stored weights.
 */
static bool fits(const asc_call *c) { return asc_dtype_expand(c->in_dtype[W]) != NULL; }

#define KERNELS(suffix, level)                                                                               \
    static void run_##suffix(const asc_kargs *a) { run_for(a, level); }                                      \
    static size_t scratch_##suffix(const asc_call *c, int n) { return scratch_for(c, n, level); }            \
    const asc_kernel asc_kernel_expert_matmul_##suffix = {.name = "expert_matmul_" #suffix,                  \
                                                          .opcode = ASC_OPCODE_EXPERT_MATMUL,                \
                                                          .isa = level,                                      \
                                                          .fits = fits,                                      \
                                                          .scratch = scratch_##suffix,                       \
                                                          .run = run_##suffix};
KERNELS(avx512, ASC_ISA_AVX512)
KERNELS(avx2, ASC_ISA_AVX2)
KERNELS(base, ASC_ISA_BASELINE)
