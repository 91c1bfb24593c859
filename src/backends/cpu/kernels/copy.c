/* copy.c - kernels that only move 32-bit words (f32 or i32): transpose, broadcast, slice, reshape, pad,
 * concat. The first three are one strided copy: dimensions are merged, and then rows are copied, filled, or
 * turned in blocks. */
#include "kutil.h"

typedef uint32_t word;

enum { MOVE_TURN = 16 }; /* side of a block that is transposed in L1: 16 words are a cache line */

typedef struct move_job {
    asc_kwalk w; /* dims of the result, strides of the input */
    const word *in;
    word *out;
    int64_t rows, n, group;
    int turn;          /* dimension with stride 1 when the innermost has another stride; -1 = none */
    int64_t turn_step; /* its stride in the result */
} move_job;

static void move_row(word *out, const word *in, int64_t step, int64_t n) {
    if (step == 1) {
        memcpy(out, in, (size_t)n * sizeof *out);
    } else if (step == 0) {
        for (int64_t i = 0; i < n; i++) out[i] = in[0];
    } else {
        for (int64_t i = 0; i < n; i++) out[i] = in[i * step];
    }
}

static void move_rows_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const move_job *j = self;
    const int inner = j->w.rank - 1;
    int64_t end = asc_kmin((u + 1) * j->group, j->rows), off;
    for (int64_t r = u * j->group; r < end; r++) {
        asc_kwalk_at(&j->w, inner, r, &off);
        move_row(j->out + r * j->n, j->in + off, j->w.strides[0][inner], j->n);
    }
}

/* Unit u: a strip of MOVE_TURN indices of dimension `turn`, for one index of all dimensions but it and the
 * innermost. */
static void move_turn_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const move_job *j = self;
    const int inner = j->w.rank - 1;
    const int64_t n_turn = j->w.dims[j->turn], strips = asc_kceil(n_turn, MOVE_TURN);
    const int64_t i0 = u % strips * MOVE_TURN, i1 = asc_kmin(i0 + MOVE_TURN, n_turn),
                  step = j->w.strides[0][inner];
    int64_t rest = u / strips, in = 0, out = 0, out_step = j->n;
    for (int d = inner - 1; d >= 0; d--) {
        if (d != j->turn) {
            in += rest % j->w.dims[d] * j->w.strides[0][d];
            out += rest % j->w.dims[d] * out_step;
            rest /= j->w.dims[d];
        }
        out_step *= j->w.dims[d];
    }
    for (int64_t k0 = 0; k0 < j->n; k0 += MOVE_TURN) {
        int64_t k1 = asc_kmin(k0 + MOVE_TURN, j->n);
        for (int64_t i = i0; i < i1; i++) {
            word *to = j->out + out + i * j->turn_step;
            const word *from = j->in + in + i;
            for (int64_t k = k0; k < k1; k++) to[k] = from[k * step];
        }
    }
}

static void move_strided(const asc_kargs *a, int64_t offset, const int64_t *strides) {
    const asc_shape *s = &a->call->shape;
    move_job j = {.w.n_arrays = 1, .in = (const word *)a->in[0] + offset, .out = a->out, .turn = -1};
    int64_t elems = asc_kelems(s), one = 1;
    if (elems == 0) return;
    for (int d = 0; d < s->rank; d++)
        if (s->dims[d] != 1) asc_kwalk_push(&j.w, s->dims[d], &strides[d]);
    if (j.w.rank == 0) asc_kwalk_push(&j.w, 1, &one);
    const int inner = j.w.rank - 1;
    j.n = j.w.dims[inner];
    j.rows = elems / j.n;
    int threads = asc_kthreads(a, (double)elems);
    if (j.w.strides[0][inner] > 1) {
        int64_t step = j.n;
        for (int d = inner - 1; d >= 0; d--) {
            if (j.w.strides[0][d] == 1 && j.turn < 0) {
                j.turn = d;
                j.turn_step = step;
            }
            step *= j.w.dims[d];
        }
    }
    if (j.turn >= 0) {
        int64_t n_turn = j.w.dims[j.turn];
        asc_kpar(j.rows / n_turn * asc_kceil(n_turn, MOVE_TURN), threads, false, move_turn_unit, &j);
        return;
    }
    j.group = asc_kmax(1, ASC_K_BLOCK / j.n);
    asc_kpar(asc_kceil(j.rows, j.group), threads, false, move_rows_unit, &j);
}

static void run_transpose(const asc_kargs *a) {
    const asc_shape *s = &a->call->in_shape[0];
    const int64_t *perm = a->call->attrs->i + asc_kslot(a->call, "perm") + 1;
    int64_t strides[ASC_MAX_RANK] = {0};
    for (int k = 0; k < s->rank; k++) strides[k] = asc_kspan(s, (int)perm[k] + 1, s->rank);
    move_strided(a, 0, strides);
}

static void run_broadcast(const asc_kargs *a) {
    const asc_shape *s = &a->call->in_shape[0], *o = &a->call->shape;
    int64_t strides[ASC_MAX_RANK] = {0};
    for (int k = 0; k < s->rank; k++)
        if (s->dims[k] != 1) strides[o->rank - s->rank + k] = asc_kspan(s, k + 1, s->rank);
    move_strided(a, 0, strides);
}

static void run_slice(const asc_kargs *a) {
    const asc_shape *s = &a->call->in_shape[0];
    int axis = asc_kaxis(s, asc_kint(a->call, "axis"));
    int64_t strides[ASC_MAX_RANK] = {0};
    for (int k = 0; k < s->rank; k++) strides[k] = asc_kspan(s, k + 1, s->rank);
    move_strided(a, asc_kint(a->call, "start") * strides[axis], strides);
}

static void run_reshape(const asc_kargs *a) {
    size_t bytes = (size_t)asc_kelems(&a->call->shape) * sizeof(word);
    if (bytes > 0 && a->out != a->in[0]) memcpy(a->out, a->in[0], bytes);
}

/* pad and concat: for each index of the dimensions before the axis, runs one after another. */
typedef struct run_job {
    const word *in[ASC_MAX_IN];
    int64_t len[ASC_MAX_IN]; /* words of a run; in NULL = zeros */
    int n;
    int64_t total;
    word *out;
} run_job;

static void runs_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const run_job *j = self;
    word *out = j->out + u * j->total;
    for (int k = 0; k < j->n; k++) {
        size_t bytes = (size_t)j->len[k] * sizeof(word);
        if (bytes == 0) continue;
        if (j->in[k] == NULL)
            memset(out, 0, bytes);
        else
            memcpy(out, j->in[k] + u * j->len[k], bytes);
        out += j->len[k];
    }
}

static void runs_go(const asc_kargs *a, run_job *j, int axis) {
    j->out = a->out;
    for (int k = 0; k < j->n; k++) j->total += j->len[k];
    asc_kpar(asc_kspan(&a->call->shape, 0, axis), asc_kthreads(a, (double)asc_kelems(&a->call->shape)), false,
             runs_unit, j);
}

static void run_pad(const asc_kargs *a) {
    const asc_shape *s = &a->call->in_shape[0];
    int axis = asc_kaxis(s, asc_kint(a->call, "axis"));
    int64_t inner = asc_kspan(s, axis + 1, s->rank);
    run_job j = {.n = 3, .in = {NULL, a->in[0], NULL}};
    j.len[0] = asc_kint(a->call, "before") * inner;
    j.len[1] = s->dims[axis] * inner;
    j.len[2] = asc_kint(a->call, "after") * inner;
    runs_go(a, &j, axis);
}

static void run_concat(const asc_kargs *a) {
    int axis = asc_kaxis(&a->call->shape, asc_kint(a->call, "axis"));
    run_job j = {.n = a->call->n_in};
    for (int k = 0; k < j.n; k++) {
        j.in[k] = a->in[k];
        j.len[k] = asc_kspan(&a->call->in_shape[k], axis, a->call->shape.rank);
    }
    runs_go(a, &j, axis);
}

static bool move_fits(const asc_call *c) {
    bool ok = c->dtype == ASC_DTYPE_F32 || c->dtype == ASC_DTYPE_I32;
    for (int k = 0; k < c->n_in; k++) ok = ok && c->in_dtype[k] == c->dtype;
    return ok;
}

#define MOVE_KERNEL(OPCODE, op)                                                                              \
    const asc_kernel asc_kernel_##op = {.name = #op,                                                         \
                                        .opcode = ASC_OPCODE_##OPCODE,                                       \
                                        .isa = ASC_ISA_BASELINE,                                             \
                                        .fits = move_fits,                                                   \
                                        .run = run_##op};
MOVE_KERNEL(TRANSPOSE, transpose)
MOVE_KERNEL(BROADCAST, broadcast)
MOVE_KERNEL(SLICE, slice)
MOVE_KERNEL(RESHAPE, reshape)
MOVE_KERNEL(PAD, pad)
MOVE_KERNEL(CONCAT, concat)
