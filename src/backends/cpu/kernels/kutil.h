/* kutil.h - what kernels share: attributes by name, row counts, a plan of broadcasting, and the one parallel
 * loop. */
#ifndef ASC_KUTIL_H
#define ASC_KUTIL_H

#include <string.h>

#include "kernel.h"

/* Below this many elements of work a kernel stays on one thread: forking costs more than it saves. */
enum { ASC_K_FORK_ELEMS = 32768, ASC_K_BLOCK = 8192 };

/* Runs fn(self, i, thread) for i in [0, n), each i on one thread; thread < threads. With `uneven` the units
 * are handed out one by one as threads become free; else each begins with a run of its own (shares.h). fn
 * must not depend on which thread runs it. */
void asc_kpar(int64_t n, int threads, bool uneven, void (*fn)(void *self, int64_t i, int thread), void *self);

static inline int asc_kthreads(const asc_kargs *a, double elems) {
    return a->n_threads > 1 && elems > ASC_K_FORK_ELEMS ? a->n_threads : 1;
}

/* Slot of the attribute `name` in the op's own table; 0 if it has none (the op's tests would show it). */
static inline int asc_kslot(const asc_call *c, const char *name) {
    for (int i = 0; i < c->op->n_attrs; i++)
        if (strcmp(c->op->attrs[i].name, name) == 0) return c->op->attrs[i].slot;
    return 0;
}
static inline int64_t asc_kint(const asc_call *c, const char *name) {
    return c->attrs->i[asc_kslot(c, name)];
}
static inline double asc_kfloat(const asc_call *c, const char *name) {
    return c->attrs->f[asc_kslot(c, name)];
}

static inline int64_t asc_kmin(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t asc_kmax(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t asc_kceil(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t asc_kround(int64_t a, int64_t b) { return asc_kceil(a, b) * b; }

/* Elements of dims [from, to). */
static inline int64_t asc_kspan(const asc_shape *s, int from, int to) {
    int64_t n = 1;
    for (int i = from; i < to; i++) n *= s->dims[i];
    return n;
}
static inline int64_t asc_kelems(const asc_shape *s) { return asc_kspan(s, 0, s->rank); }
static inline int64_t asc_klast(const asc_shape *s) { return s->rank > 0 ? s->dims[s->rank - 1] : 1; }
static inline int asc_kaxis(const asc_shape *s, int64_t axis) {
    return (int)(axis < 0 ? axis + s->rank : axis);
}

static inline bool asc_kfits_f32(const asc_call *c) {
    if (c->dtype != ASC_DTYPE_F32) return false;
    for (int i = 0; i < c->n_in; i++)
        if (c->in_dtype[i] != ASC_DTYPE_F32) return false;
    return true;
}

/* Result dimensions with neighbours merged where every array runs through them evenly; strides of array k in
 * elements, 0 where it repeats. Never rank 0. The innermost stride of contiguous inputs is 0 or 1. */
enum { ASC_K_MAX_ARRAYS = 3 };
typedef struct asc_kwalk {
    int rank, n_arrays;
    int64_t dims[ASC_MAX_RANK];
    int64_t strides[ASC_K_MAX_ARRAYS][ASC_MAX_RANK];
} asc_kwalk;

/* Appends a dimension, or merges it into the last one. */
void asc_kwalk_push(asc_kwalk *w, int64_t dim, const int64_t *strides);
/* The inputs of c broadcast to its result. */
void asc_kwalk_broadcast(asc_kwalk *w, const asc_call *c);
/* Offsets of every array at row-major index i of the dimensions [0, rank). */
static inline void asc_kwalk_at(const asc_kwalk *w, int rank, int64_t i, int64_t *off) {
    for (int k = 0; k < w->n_arrays; k++) off[k] = 0;
    for (int d = rank - 1; d >= 0; d--) {
        int64_t x = i % w->dims[d];
        i /= w->dims[d];
        for (int k = 0; k < w->n_arrays; k++) off[k] += x * w->strides[k][d];
    }
}

#endif
