/* nn_linear.c - layers that are a table of numbers: linear maps and embeddings. */
#include "compiled.h"
#include "exec.h"
#include "layer.h"
#include "ops.h"

asc_tensor *asc_nn_linear(asc_frame *f, const char *name, asc_tensor *x) {
    asc_layer l = asc_layer_begin(f, name, &x);
    asc_tensor *w = asc_layer_weight(&l, "weight", false), *bias = asc_layer_weight(&l, "bias", true);
    return asc_layer_end(&l, asc_layer_affine(&l, x, w, bias));
}

/* The op reads the nearest row for an id that is none. Ids that are known now (the usual case: they are an
 * input) are therefore checked. */
static bool ids_fit(const asc_layer *l, asc_tensor *ids, int64_t n_rows) {
    while (ids->op == &asc_op_cast) ids = ids->in[0];
    const int64_t n = asc_tensor_elems(ids);
    if (ids->op != NULL || ids->buf == NULL || n <= 0 || !asc_exec_device(l->ctx)->has_data) return true;
    asc_capture_check_below(l->ctx, ids, n_rows, l->name); /* and before each later run of a capture */
    double *v = asc_calloc(l->ctx, ASC_MEM_GENERAL, (size_t)n, sizeof *v);
    asc_status st = v != NULL ? asc_read_f64(l->ctx, ids, v, (size_t)n) : ASC_RESOURCE_EXHAUSTED;
    for (int64_t i = 0; st == ASC_OK && i < n; i++) {
        if (v[i] >= 0 && v[i] < (double)n_rows) continue;
        ASC_FAIL(l->ctx, ASC_OUT_OF_RANGE, "%.200s: id %g; the table has %lld rows", l->name, v[i],
                 (long long)n_rows);
        st = asc_hint(l->ctx, "ids count from 0");
    }
    asc_free(l->ctx, v);
    return st == ASC_OK;
}

asc_tensor *asc_nn_embedding(asc_frame *f, const char *name, asc_tensor *ids) {
    asc_layer l = asc_layer_begin(f, name, &ids);
    asc_tensor *w = asc_layer_weight(&l, "weight", false), *y = w;
    if (ids->poison == ASC_OK && w->poison == ASC_OK) {
        if (w->shape.rank == 2 && !ids_fit(&l, ids, w->shape.dims[0])) {
            y = asc_graph_poison(asc_graph_of(l.ctx));
        } else {
            y = asc_gather(l.ctx, w, ids->dtype == ASC_DTYPE_I32 ? ids : asc_cast(l.ctx, ids, ASC_DTYPE_I32));
        }
    }
    return asc_layer_end(&l, y);
}
