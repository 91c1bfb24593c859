/* gemm_onednn.c - matrix products by oneDNN's sgemm; the only file that knows oneDNN (2.x and 3.x agree on
 * this call).
 *
 * The result is cut into tasks whose sizes depend on the shapes alone, one thread each: oneDNN sees that it
 * is called inside a parallel region and keeps to one thread. So the bits do not depend on the number of
 * threads. Stored weights are expanded to f32 in a panel of scratch just before their task. */
#include "expand.h"
#include "flush.h"
#include "kernel.h"
#include "matmul_shape.h"
#include <oneapi/dnnl/dnnl.h>
#include <string.h>

enum { PANEL = 96, ROWS = 256 }; /* columns (and, for f32, rows) of a task */

/* A panel must be whole blocks, since for stored [k,n] it is cut out of rows. */
static int64_t panel_columns(asc_dtype t) {
    int64_t block = asc_dtype_of(t)->block_elems;
    return block > PANEL ? block : PANEL / block * block;
}

static size_t panel_bytes(const asc_matmul_shape *s, asc_dtype t) {
    size_t bytes = 0;
    if (!asc_mul_size((size_t)s->k, (size_t)panel_columns(t) * sizeof(float), &bytes)) return SIZE_MAX / 4096;
    return (bytes + 4096 + 63) & ~(size_t)63; /* apart, so that threads do not share pages */
}

static size_t scratch(const asc_call *c, int n_threads) {
    if (c->in_dtype[1] == ASC_DTYPE_F32) return 0;
    asc_matmul_shape s;
    asc_matmul_shape_of(c, &s);
    return (size_t)n_threads * panel_bytes(&s, c->in_dtype[1]);
}

/* For the case that oneDNN gets no memory for its own buffers. */
static void plain_gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                       const float *b, int64_t ldb, float *y, int64_t ldy) {
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            float sum = 0;
            for (int64_t q = 0; q < k; q++) {
                sum += (ta ? a[q * lda + i] : a[i * lda + q]) * (tb ? b[j * ldb + q] : b[q * ldb + j]);
            }
            y[i * ldy + j] = sum;
        }
    }
}

static void gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                 const float *b, int64_t ldb, float *y, int64_t ldy) {
    const unsigned int mode = asc_flush_enter();
    dnnl_status_t st =
        dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, 1.0f, a, lda, b, ldb, 0.0f, y, ldy);
    if (st != dnnl_success) plain_gemm(ta, tb, m, n, k, a, lda, b, ldb, y, ldy);
    asc_flush_leave(mode);
}

/* Columns [n0, n0 + n) of a stored matrix as f32; *ldb is the row length of the copy. */
static void expand_panel(const asc_matmul_shape *s, asc_dtype t, const uint8_t *w, int64_t n0, int64_t n,
                         float *out, int64_t *ldb) {
    const asc_dtype_info *info = asc_dtype_of(t);
    asc_expand_fn expand = asc_expand_for(t, asc_cpu_vector_isa());
    if (s->tb) {
        *ldb = s->k;
        expand(w + n0 * s->k / info->block_elems * info->block_bytes, out, n * s->k);
        return;
    }
    *ldb = n;
    for (int64_t q = 0; q < s->k; q++) {
        expand(w + (q * s->n + n0) / info->block_elems * info->block_bytes, out + q * n, n);
    }
}

static void run_stored(const asc_kargs *args, const asc_matmul_shape *s) {
    const asc_dtype t = args->call->in_dtype[1];
    const float *a = args->in[0];
    float *y = args->out;
    const int64_t panel = panel_columns(t), tasks = (s->n + panel - 1) / panel;
    const size_t bytes = panel_bytes(s, t);
    const int64_t per_thread = (tasks + args->n_threads - 1) / args->n_threads;
#pragma omp parallel for num_threads(args->n_threads) schedule(static)
    for (int thread = 0; thread < args->n_threads; thread++) {
        float *pan = (float *)(void *)((uint8_t *)args->scratch + (size_t)thread * bytes);
        for (int64_t i = thread * per_thread; i < (thread + 1) * per_thread && i < tasks; i++) {
            int64_t n0 = i * panel, n = s->n - n0 < panel ? s->n - n0 : panel, ldb;
            expand_panel(s, t, args->in[1], n0, n, pan, &ldb);
            gemm(s->ta, s->tb, s->m, n, s->k, a, s->ta ? s->m : s->k, pan, ldb, y + n0, s->n);
        }
    }
}

static void run_f32(const asc_kargs *args, const asc_matmul_shape *s) {
    const int64_t cols = (s->n + PANEL - 1) / PANEL, rows = (s->m + ROWS - 1) / ROWS;
    const int64_t tasks = s->batch * cols * rows, lda = s->ta ? s->m : s->k, ldb = s->tb ? s->k : s->n;
#pragma omp parallel for num_threads(args->n_threads) schedule(dynamic)
    for (int64_t i = 0; i < tasks; i++) {
        int64_t product = i / (cols * rows), n0 = i / rows % cols * PANEL, m0 = i % rows * ROWS, ia, ib;
        int64_t n = s->n - n0 < PANEL ? s->n - n0 : PANEL, m = s->m - m0 < ROWS ? s->m - m0 : ROWS;
        asc_matmul_operands(s, product, &ia, &ib);
        const float *a = (const float *)args->in[0] + ia * s->m * s->k + (s->ta ? m0 : m0 * lda);
        const float *b = (const float *)args->in[1] + ib * s->k * s->n + (s->tb ? n0 * ldb : n0);
        float *y = (float *)args->out + (product * s->m + m0) * s->n + n0;
        gemm(s->ta, s->tb, m, n, s->k, a, lda, b, ldb, y, s->n);
    }
}

static void run(const asc_kargs *args) {
    asc_matmul_shape s;
    asc_matmul_shape_of(args->call, &s);
    if (s.k == 0) {
        memset(args->out, 0, (size_t)(s.batch * s.m * s.n) * sizeof(float));
    } else if (args->call->in_dtype[1] == ASC_DTYPE_F32) {
        run_f32(args, &s);
    } else {
        run_stored(args, &s);
    }
}

/* Stored [k,n] with rows that are no whole blocks would need blocks cut apart: the format forbids them. */
static bool fits(const asc_call *c) { return asc_dtype_expand(c->in_dtype[1]) != NULL; }

const asc_kernel asc_kernel_matmul_onednn = {
    .name = "matmul_onednn",
    .opcode = ASC_OPCODE_MATMUL,
    .isa = ASC_ISA_BASELINE,
    .fits = fits,
    .scratch = scratch,
    .run = run,
};
