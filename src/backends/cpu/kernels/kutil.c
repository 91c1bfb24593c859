/* kutil.c - see kutil.h. */
#include <omp.h>

#include "kutil.h"
#include "shares.h"

void asc_kpar(int64_t n, int threads, bool uneven, void (*fn)(void *self, int64_t i, int thread),
              void *self) {
    if (threads > n) threads = (int)n;
    if (threads <= 1) {
        for (int64_t i = 0; i < n; i++) fn(self, i, 0);
        return;
    }
    if (uneven) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
        for (int64_t i = 0; i < n; i++) fn(self, i, omp_get_thread_num());
    } else {
        asc_share shares[ASC_SHARES_MOST];
        const int n_shares = asc_shares_init(shares, threads, n);
#pragma omp parallel num_threads(threads)
        {
            const int thread = omp_get_thread_num();
            int turn = 0;
            for (int64_t i; (i = asc_shares_next(shares, n_shares, thread, &turn)) >= 0;) fn(self, i, thread);
        }
    }
}

void asc_kwalk_push(asc_kwalk *w, int64_t dim, const int64_t *strides) {
    if (dim == 1 && w->rank > 0) return;
    if (w->rank > 0) {
        int last = w->rank - 1;
        bool merge = true;
        for (int k = 0; k < w->n_arrays; k++) merge = merge && w->strides[k][last] == strides[k] * dim;
        if (merge || w->dims[last] == 1) {
            w->dims[last] *= dim;
            for (int k = 0; k < w->n_arrays; k++) w->strides[k][last] = strides[k];
            return;
        }
    }
    w->dims[w->rank] = dim;
    for (int k = 0; k < w->n_arrays; k++) w->strides[k][w->rank] = strides[k];
    w->rank++;
}

void asc_kwalk_broadcast(asc_kwalk *w, const asc_call *c) {
    const asc_shape *out = &c->shape;
    int64_t full[ASC_K_MAX_ARRAYS][ASC_MAX_RANK] = {{0}};
    *w = (asc_kwalk){.n_arrays = c->n_in};
    for (int k = 0; k < c->n_in; k++) {
        const asc_shape *s = &c->in_shape[k];
        int64_t step = 1;
        for (int d = s->rank - 1; d >= 0; d--) {
            int at = out->rank - s->rank + d;
            full[k][at] = s->dims[d] == 1 ? 0 : step;
            step *= s->dims[d];
        }
    }
    for (int d = 0; d < out->rank; d++) {
        int64_t strides[ASC_K_MAX_ARRAYS];
        for (int k = 0; k < c->n_in; k++) strides[k] = full[k][d];
        asc_kwalk_push(w, out->dims[d], strides);
    }
    if (w->rank == 0) { /* a scalar */
        w->rank = 1;
        w->dims[0] = 1;
    }
}
