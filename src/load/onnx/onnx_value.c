/* onnx_value.c - values of a run on either side: as tensors of the main context, as numbers on the host. */
#include "exec.h"
#include "onnx_run.h"

bool asc_onnx_is_known(const asc_onnx_value *v) {
    return v->kind == ASC_ONNX_TENSOR && (v->host != NULL || v->init != NULL) &&
           asc_shape_elems(&v->shape) <= ASC_ONNX_HOST_ELEMS;
}

asc_status asc_onnx_keep(asc_onnx_net *on, asc_tensor *t) {
    asc_status st = asc_grow(on->net->ctx, ASC_MEM_GENERAL, (void **)&on->kept, &on->cap_kept, on->n_kept + 1,
                             sizeof *on->kept);
    if (st != ASC_OK) return st;
    asc_tensor_retain(t);
    on->kept[on->n_kept++] = t;
    return ASC_OK;
}

asc_onnx_value *asc_onnx_init_value(asc_onnx_run *run, asc_onnx_def *d) {
    if (d->folded != NULL) return d->folded;
    asc_onnx_value *v = asc_arena_alloc(&run->on->arena, sizeof *v);
    if (v == NULL) return NULL;
    *v = (asc_onnx_value){.kind = ASC_ONNX_TENSOR, .elem = d->init->elem, .shape = d->init->shape};
    v->init = d->init;
    v->persistent = true;
    if (d->init->elem == ASC_ONNX_STRING) {
        v->kind = ASC_ONNX_STRINGS;
        v->strings = d->init->strings;
    }
    return d->folded = v;
}

asc_onnx_value *asc_onnx_run_value(asc_onnx_run *run) {
    return asc_arena_alloc(&run->arena, sizeof(asc_onnx_value));
}

static asc_tensor *from_init(asc_onnx_run *run, const asc_onnx_tensor *t) {
    asc_ctx *ctx = run->ctx;
    if (t->elem == ASC_ONNX_FLOAT && t->n > 1) return asc_from_stored(ctx, ASC_DTYPE_F32, t->shape, t->data);
    double *all = asc_calloc(ctx, ASC_MEM_SCRATCH, (size_t)t->n + 1, sizeof *all);
    if (all == NULL) return asc_graph_poison(asc_graph_of(ctx));
    asc_onnx_tensor_get(t, 0, t->n, all);
    asc_tensor *out = asc_from_f64(ctx, t->shape, all);
    asc_free(ctx, all);
    return out;
}

static asc_tensor *wrong_kind(asc_onnx_run *run, const asc_onnx_value *v) {
    static const char *const kinds[] = {"nothing", "a tensor", "strings", "a sequence", "an empty optional"};
    ASC_FAIL(run->ctx, ASC_INVALID_ARGUMENT, "a tensor of numbers is wanted, not %s", kinds[v->kind]);
    return asc_graph_poison(asc_graph_of(run->ctx));
}

asc_tensor *asc_onnx_main_tensor(asc_onnx_run *run, asc_onnx_value *v) {
    if (v->t != NULL) return v->t;
    if (v->kind != ASC_ONNX_TENSOR) return wrong_kind(run, v);
    asc_tensor *t = v->init != NULL ? from_init(run, v->init) : asc_from_f64(run->ctx, v->shape, v->host);
    if (asc_tensor_poisoned(t)) return t;
    if (v->persistent && asc_onnx_keep(run->on, t) != ASC_OK) return asc_graph_poison(asc_graph_of(run->ctx));
    return v->t = t;
}

const double *asc_onnx_run_doubles(asc_onnx_run *run, asc_onnx_value *v) {
    if (v->host != NULL) return v->host;
    if (v->kind != ASC_ONNX_TENSOR) {
        (void)wrong_kind(run, v);
        (void)asc_graph_take_error(asc_graph_of(run->ctx));
        return NULL;
    }
    int64_t n = asc_shape_elems(&v->shape);
    bool small = n <= ASC_ONNX_HOST_ELEMS;
    asc_arena *arena = v->persistent && small ? &run->on->arena : &run->arena;
    double *out = n < 0 ? NULL : asc_arena_alloc(arena, ((size_t)n + 1) * sizeof *out);
    if (out == NULL) return NULL;
    if (v->init != NULL) {
        asc_onnx_tensor_get(v->init, 0, n, out);
    } else {
        if (asc_read_f64(run->ctx, v->t, out, (size_t)n) != ASC_OK) return NULL;
        return out; /* not remembered: the tensor may be replaced at its site */
    }
    if (!v->persistent || small) v->host = out;
    return out;
}
