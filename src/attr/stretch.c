/* stretch.c - see stretch.h. */
#include "stretch.h"

asc_status asc_array_stretch(asc_ctx *ctx, const asc_array *a, const asc_shape *full, double *out) {
    const int64_t n = asc_array_count(a), elems = asc_shape_elems(full);
    double *raw = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)n, sizeof *raw);
    if (raw == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_array_get(a, 0, n, raw);
    for (int64_t e = 0; e < elems; e++) {
        int64_t rest = e, at = 0, step = 1;
        for (int d = full->rank - 1; d >= 0; d--) {
            int64_t i = rest % full->dims[d];
            int own = d - (full->rank - a->shape.rank);
            rest /= full->dims[d];
            if (own < 0) continue;
            if (a->shape.dims[own] > 1) at += i * step;
            step *= a->shape.dims[own];
        }
        out[e] = raw[at];
    }
    asc_free(ctx, raw);
    return ASC_OK;
}
