/* shape.c - shape arithmetic; see tensor.h. */
#include "tensor.h"
#include <stdio.h>

int64_t asc_shape_elems(const asc_shape *s) {
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++) {
        if (s->dims[i] < 0 || __builtin_mul_overflow(n, s->dims[i], &n)) return -1;
    }
    return n;
}

bool asc_shape_eq(const asc_shape *a, const asc_shape *b) {
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++) {
        if (a->dims[i] != b->dims[i]) return false;
    }
    return true;
}

const char *asc_shape_text(const asc_shape *s, char out[128]) {
    size_t n = 0;
    out[n++] = '[';
    for (int i = 0; i < s->rank; i++) {
        int w = snprintf(out + n, 128 - n, "%s%lld", i > 0 ? "," : "", (long long)s->dims[i]);
        if (w > 0) n += (size_t)w;
    }
    out[n++] = ']';
    out[n] = '\0';
    return out;
}

bool asc_shape_broadcast(const asc_shape *a, const asc_shape *b, asc_shape *out) {
    int rank = a->rank > b->rank ? a->rank : b->rank;
    asc_shape r = {.rank = rank};
    for (int i = 0; i < rank; i++) {
        int ia = i - (rank - a->rank), ib = i - (rank - b->rank);
        int64_t da = ia >= 0 ? a->dims[ia] : 1, db = ib >= 0 ? b->dims[ib] : 1;
        if (da != db && da != 1 && db != 1) return false;
        r.dims[i] = da == 1 ? db : da;
    }
    *out = r;
    return true;
}

void asc_shape_strides(const asc_shape *s, int64_t strides[ASC_MAX_RANK]) {
    int64_t n = 1;
    for (int i = s->rank - 1; i >= 0; i--) {
        strides[i] = n;
        n *= s->dims[i];
    }
}

asc_shape asc_tensor_shape(const asc_tensor *t) { return t->shape; }
int64_t asc_tensor_elems(const asc_tensor *t) { return asc_shape_elems(&t->shape); }
bool asc_tensor_poisoned(const asc_tensor *t) { return t->poison != ASC_OK; }
