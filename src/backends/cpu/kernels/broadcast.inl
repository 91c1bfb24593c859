/* broadcast.inl - ops of two or three inputs with broadcasting. Dimensions are merged first (asc_kwalk), so
 * the usual cases (equal shapes, a scalar, a row, a column) become few long rows whose operands have stride 1
 * or 0. In place is safe: an input that shares storage with the result has its shape, so element i is read
 * before it is written. */
#include "kutil.h"
#include "vec.h"

typedef void row_fn(float *y, const float *const *p, const int64_t *step, int64_t n);
typedef struct row_job {
    row_fn *fn;
    asc_kwalk w;
    const float *in[ASC_K_MAX_ARRAYS];
    float *y;
    int64_t rows, n;      /* rows of n elements */
    int64_t group, split; /* a unit is `group` rows, or one of `split` pieces of a row */
} row_job;

static void row_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const row_job *j = self;
    const int inner = j->w.rank - 1;
    int64_t begin = 0, len = j->n, row = u * j->group, end = asc_kmin(row + j->group, j->rows);
    if (j->split > 1) {
        row = u / j->split;
        end = row + 1;
        begin = u % j->split * ASC_K_BLOCK;
        len = asc_kmin(ASC_K_BLOCK, j->n - begin);
    }
    for (; row < end; row++) {
        int64_t off[ASC_K_MAX_ARRAYS], step[ASC_K_MAX_ARRAYS] = {0};
        const float *p[ASC_K_MAX_ARRAYS] = {0};
        asc_kwalk_at(&j->w, inner, row, off);
        for (int k = 0; k < j->w.n_arrays; k++) {
            step[k] = j->w.strides[k][inner];
            p[k] = j->in[k] + off[k] + begin * step[k];
        }
        j->fn(j->y + row * j->n + begin, p, step, len);
    }
}

static void row_run(const asc_kargs *a, row_fn *fn) {
    row_job j = {.fn = fn, .y = a->out};
    int64_t elems = asc_kelems(&a->call->shape);
    if (elems == 0) return;
    asc_kwalk_broadcast(&j.w, a->call);
    for (int k = 0; k < a->call->n_in; k++) j.in[k] = a->in[k];
    j.n = j.w.dims[j.w.rank - 1];
    j.rows = elems / j.n;
    j.group = asc_kmax(1, ASC_K_BLOCK / j.n);
    j.split = j.n > 2 * ASC_K_BLOCK ? asc_kceil(j.n, ASC_K_BLOCK) : 1;
    int64_t units = j.split > 1 ? j.rows * j.split : asc_kceil(j.rows, j.group);
    asc_kpar(units, asc_kthreads(a, (double)elems), false, row_unit, &j);
}

VEC_INLINE vf row_get(const float *p, int64_t step, int64_t i, int64_t n) {
    if (step == 0) return vset1(*p);
    return n == VW ? vload(p + i) : vloadn(p + i, n);
}

#define ROW_KERNEL(OPCODE, op, EXPR)                                                                         \
    VEC_INLINE void row_loop_##op(float *y, const float *pa, int64_t sa, const float *pb, int64_t sb,        \
                                  int64_t n) {                                                               \
        int64_t i = 0;                                                                                       \
        for (; i + VW <= n; i += VW) {                                                                       \
            vf a = row_get(pa, sa, i, VW), b = row_get(pb, sb, i, VW);                                       \
            vstore(y + i, EXPR);                                                                             \
        }                                                                                                    \
        if (i < n) {                                                                                         \
            vf a = row_get(pa, sa, i, n - i), b = row_get(pb, sb, i, n - i);                                 \
            vstoren(y + i, EXPR, n - i);                                                                     \
        }                                                                                                    \
    }                                                                                                        \
    static void row_##op(float *y, const float *const *p, const int64_t *step, int64_t n) {                  \
        if (step[0] != 0 && step[1] != 0)                                                                    \
            row_loop_##op(y, p[0], 1, p[1], 1, n);                                                           \
        else if (step[0] != 0)                                                                               \
            row_loop_##op(y, p[0], 1, p[1], 0, n);                                                           \
        else if (step[1] != 0)                                                                               \
            row_loop_##op(y, p[0], 0, p[1], 1, n);                                                           \
        else                                                                                                 \
            row_loop_##op(y, p[0], 0, p[1], 0, n);                                                           \
    }                                                                                                        \
    static void run_##op(const asc_kargs *a) { row_run(a, row_##op); }                                       \
    static void strip_##op(const asc_strip *a) { row_##op(a->y, a->in, a->step, a->n); }                     \
    const asc_kernel VEC_NAME(asc_kernel_##op) = {.name = #op,                                               \
                                                  .opcode = ASC_OPCODE_##OPCODE,                             \
                                                  .isa = VEC_ISA_ENUM,                                       \
                                                  .fits = asc_kfits_f32,                                     \
                                                  .run = run_##op,                                           \
                                                  .strip = strip_##op};

/* A NaN on either side wins. */
VEC_INLINE vf row_pick(vf a, vf m) { return vsel(vnan(a), a, m); }
VEC_INLINE vf row_bool(vm m) { return vsel(m, vset1(1.0f), vzero()); }

ROW_KERNEL(ADD, add, a + b)
ROW_KERNEL(SUB, sub, a - b)
ROW_KERNEL(MUL, mul, a *b)
ROW_KERNEL(DIV, div, a / b)
ROW_KERNEL(MAXIMUM, maximum, row_pick(a, vmax(a, b)))
ROW_KERNEL(MINIMUM, minimum, row_pick(a, vmin(a, b)))
ROW_KERNEL(EQUAL, equal, row_bool(veq(a, b)))
ROW_KERNEL(LESS, less, row_bool(vlt(a, b)))
ROW_KERNEL(LESS_EQUAL, less_equal, row_bool(vle(a, b)))
ROW_KERNEL(PRELU, prelu, vsel(vlt(vzero(), a), a, a *b))

/* cond != 0 ? a : b; a NaN condition is not 0. */
static void row_where(float *y, const float *const *p, const int64_t *step, int64_t n) {
    for (int64_t i = 0; i < n; i += VW) {
        int64_t k = asc_kmin(VW, n - i);
        vf c = row_get(p[0], step[0], i, k), a = row_get(p[1], step[1], i, k),
           b = row_get(p[2], step[2], i, k);
        vstoren(y + i, vsel(veq(c, vzero()), b, a), k);
    }
}
static void run_where(const asc_kargs *a) { row_run(a, row_where); }
static void strip_where(const asc_strip *a) { row_where(a->y, a->in, a->step, a->n); }
const asc_kernel VEC_NAME(asc_kernel_where) = {.name = "where",
                                               .opcode = ASC_OPCODE_WHERE,
                                               .isa = VEC_ISA_ENUM,
                                               .fits = asc_kfits_f32,
                                               .run = run_where,
                                               .strip = strip_where};
