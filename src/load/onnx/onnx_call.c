/* onnx_call.c - what mapping functions ask for; see onnx_call.h. */
#include "onnx_run.h"
#include "plain.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

const asc_onnx_op asc_onnx_ops[] = {
#define ONNX_OP(name, domain, since, until, flags) {#name, domain, since, until, flags, asc_onnx_##name},
#include "onnx_ops.def"
#undef ONNX_OP
};
const size_t asc_onnx_n_ops = sizeof asc_onnx_ops / sizeof asc_onnx_ops[0];

const asc_onnx_op *asc_onnx_op_find(asc_view op_type, asc_view domain, int opset) {
    for (size_t i = 0; i < asc_onnx_n_ops; i++) {
        const asc_onnx_op *o = &asc_onnx_ops[i];
        if (opset >= o->since && (o->until == 0 || opset <= o->until) && asc_view_eqs(op_type, o->name) &&
            asc_view_eqs(domain, o->domain))
            return o;
    }
    return NULL;
}

asc_status asc_onnx_fail(asc_onnx_call *c, asc_status code, const char *fmt, ...) {
    char text[512];
    if (c->st != ASC_OK) return c->st;
    va_list ap;
    va_start(ap, fmt);
    asc_vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    c->st = ASC_FAIL(c->run->ctx, code, "%s", text);
    return asc_hint(c->run->ctx, "%s",
                    code == ASC_UNIMPLEMENTED ? "export the model without it, or in another form"
                                              : "check the model with onnx.checker, and the inputs' shapes");
}

/* An error that is recorded in the main context already. */
static void note(asc_onnx_call *c, asc_status st) {
    if (c->st == ASC_OK) c->st = st;
}

bool asc_onnx_has(const asc_onnx_call *c, size_t i) {
    return i < c->n_in && c->in[i] != NULL && c->in[i]->kind != ASC_ONNX_NOTHING;
}

asc_onnx_value *asc_onnx_new_value(asc_onnx_call *c) {
    asc_onnx_value *v = asc_onnx_run_value(c->run);
    if (v == NULL) note(c, ASC_RESOURCE_EXHAUSTED);
    return v;
}

void *asc_onnx_memory(asc_onnx_call *c, size_t n, size_t size) {
    size_t bytes;
    void *p = NULL;
    if (asc_mul_size(n, size, &bytes) && bytes < SIZE_MAX / 2) p = asc_arena_alloc(&c->run->arena, bytes + 1);
    if (p == NULL) asc_onnx_fail(c, ASC_RESOURCE_EXHAUSTED, "out of memory");
    return p;
}

asc_onnx_value *asc_onnx_in(asc_onnx_call *c, size_t i) {
    if (i < c->n_in && c->in[i] != NULL) return c->in[i];
    asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "input %zu is missing", i);
    c->none = (asc_onnx_value){.kind = ASC_ONNX_NOTHING}; /* getters may write to it */
    return &c->none;
}

asc_shape asc_onnx_shape(asc_onnx_call *c, size_t i) { return asc_onnx_in(c, i)->shape; }
int asc_onnx_elem(asc_onnx_call *c, size_t i) { return asc_onnx_in(c, i)->elem; }

asc_tensor *asc_onnx_value_t(asc_onnx_call *c, asc_onnx_value *v) {
    asc_tensor *t;
    if (c->on_host) {
        const double *d = v->t_on_host ? NULL : asc_onnx_run_doubles(c->run, v);
        if (!v->t_on_host && d == NULL) {
            note(c, c->run->ctx->error.code != ASC_OK ? c->run->ctx->error.code : ASC_RESOURCE_EXHAUSTED);
            return asc_graph_poison(asc_graph_of(c->ctx));
        }
        t = v->t_on_host ? v->t : asc_from_f64(c->ctx, v->shape, d);
    } else {
        t = asc_onnx_main_tensor(c->run, v);
    }
    if (asc_tensor_poisoned(t)) return t;
    return t->dtype == ASC_DTYPE_F32 ? t : asc_cast(c->ctx, t, ASC_DTYPE_F32);
}

asc_tensor *asc_onnx_t(asc_onnx_call *c, size_t i) {
    asc_onnx_value *v = asc_onnx_in(c, i);
    if (c->st != ASC_OK) return asc_graph_poison(asc_graph_of(c->ctx));
    return asc_onnx_value_t(c, v);
}

asc_tensor *asc_onnx_index(asc_onnx_call *c, size_t i) {
    asc_onnx_value *v = asc_onnx_in(c, i);
    if (c->st != ASC_OK) return asc_graph_poison(asc_graph_of(c->ctx));
    if (!c->on_host && v->t != NULL && v->t->dtype == ASC_DTYPE_I32) return v->t;
    return asc_cast(c->ctx, asc_onnx_value_t(c, v), ASC_DTYPE_I32);
}

const double *asc_onnx_value_doubles(asc_onnx_call *c, asc_onnx_value *v) {
    if (c->st != ASC_OK) return NULL;
    const double *d = asc_onnx_run_doubles(c->run, v);
    if (d == NULL)
        note(c, c->run->ctx->error.code != ASC_OK ? c->run->ctx->error.code : ASC_RESOURCE_EXHAUSTED);
    return d;
}

const double *asc_onnx_doubles(asc_onnx_call *c, size_t i) {
    return asc_onnx_value_doubles(c, asc_onnx_in(c, i));
}

static int64_t to_int(double x) {
    if (isnan(x)) return 0;
    return x >= 9.2233720368547748e18 ? INT64_MAX : x <= -9.2233720368547758e18 ? INT64_MIN : (int64_t)x;
}

int asc_onnx_ints(asc_onnx_call *c, size_t i, int64_t *out, int cap) {
    asc_onnx_value *v = asc_onnx_in(c, i);
    if (c->st != ASC_OK) return -1;
    int64_t n = asc_shape_elems(&v->shape);
    if (v->kind != ASC_ONNX_TENSOR || n > cap) {
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "input %zu: at most %d numbers are wanted", i, cap);
        return -1;
    }
    const double *d = asc_onnx_value_doubles(c, v);
    if (d == NULL) return -1;
    for (int64_t k = 0; k < n; k++) out[k] = to_int(d[k]);
    return (int)n;
}

int64_t asc_onnx_int(asc_onnx_call *c, size_t i, int64_t fallback) {
    int64_t v = fallback;
    if (!asc_onnx_has(c, i)) return fallback;
    return asc_onnx_ints(c, i, &v, 1) == 1 ? v : fallback;
}

double asc_onnx_number(asc_onnx_call *c, size_t i, double fallback) {
    if (!asc_onnx_has(c, i)) return fallback;
    if (asc_shape_elems(&asc_onnx_in(c, i)->shape) != 1) {
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "input %zu: one number is wanted", i);
        return fallback;
    }
    const double *d = asc_onnx_doubles(c, i);
    return d != NULL ? d[0] : fallback;
}

const asc_onnx_attr *asc_onnx_attr_find(const asc_onnx_call *c, const char *name) {
    return asc_onnx_node_attr(c->node, name);
}

/* The attribute, or NULL when it is absent or of another type (an error). */
static const asc_onnx_attr *typed(asc_onnx_call *c, const char *name, int type) {
    const asc_onnx_attr *a = asc_onnx_node_attr(c->node, name);
    if (a == NULL || a->type == type) return a;
    asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "attribute '%s' has type %d, not %d", name, a->type, type);
    return NULL;
}

int64_t asc_onnx_attr_int(asc_onnx_call *c, const char *name, int64_t fallback) {
    const asc_onnx_attr *a = typed(c, name, ASC_ONNX_ATTR_INT);
    return a != NULL ? a->i : fallback;
}

double asc_onnx_attr_float(asc_onnx_call *c, const char *name, double fallback) {
    const asc_onnx_attr *a = typed(c, name, ASC_ONNX_ATTR_FLOAT);
    return a != NULL ? a->f : fallback;
}

asc_view asc_onnx_attr_string(asc_onnx_call *c, const char *name, const char *fallback) {
    const asc_onnx_attr *a = typed(c, name, ASC_ONNX_ATTR_STRING);
    if (a == NULL) return asc_view_of(fallback);
    return a->s.ptr != NULL ? a->s : asc_view_of("");
}

bool asc_onnx_attr_is(asc_onnx_call *c, const char *name, const char *fallback, const char *wanted) {
    return asc_view_eqs(asc_onnx_attr_string(c, name, fallback), wanted);
}

int asc_onnx_attr_ints(asc_onnx_call *c, const char *name, int64_t *out, int cap) {
    const asc_onnx_attr *a = typed(c, name, ASC_ONNX_ATTR_INTS);
    if (a == NULL) return -1;
    if (a->n > (size_t)cap) {
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "attribute '%s': %zu numbers, at most %d", name, a->n, cap);
        return -1;
    }
    for (size_t i = 0; i < a->n; i++) out[i] = a->ints[i];
    return (int)a->n;
}

bool asc_onnx_wants(const asc_onnx_call *c, size_t i) {
    return i < c->n_out && c->node->out[i] != UINT32_MAX;
}

asc_status asc_onnx_set_value(asc_onnx_call *c, size_t i, asc_onnx_value *v) {
    if (i < c->n_out && c->st == ASC_OK) c->out[i] = v;
    return c->st;
}

asc_status asc_onnx_set(asc_onnx_call *c, size_t i, asc_tensor *t, int elem) {
    if (i >= c->n_out) return c->st;
    asc_onnx_value *v = asc_onnx_new_value(c);
    if (v == NULL) return c->st;
    *v = (asc_onnx_value){.kind = ASC_ONNX_TENSOR, .elem = elem, .shape = t->shape, .t = t};
    v->t_on_host = c->on_host;
    return asc_onnx_set_value(c, i, v);
}

asc_status asc_onnx_set_like(asc_onnx_call *c, size_t i, asc_tensor *t) {
    return asc_onnx_set(c, i, t, asc_onnx_elem(c, 0));
}

asc_status asc_onnx_set_host(asc_onnx_call *c, size_t i, asc_shape shape, const double *data, int elem) {
    int64_t n = asc_shape_elems(&shape);
    if (n < 0) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "a result with too many elements");
    asc_onnx_value *v = asc_onnx_new_value(c);
    double *copy = asc_onnx_memory(c, (size_t)n + 1, sizeof *copy);
    if (v == NULL || copy == NULL) return c->st;
    if (n > 0) memcpy(copy, data, (size_t)n * sizeof *copy);
    *v = (asc_onnx_value){.kind = ASC_ONNX_TENSOR, .elem = elem, .shape = shape, .host = copy};
    return asc_onnx_set_value(c, i, v);
}

int asc_onnx_axis(asc_onnx_call *c, int64_t axis, int rank) {
    if (axis >= -rank && axis < rank) return (int)(axis < 0 ? axis + rank : axis);
    asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "axis %lld of %d dimensions", (long long)axis, rank);
    return 0;
}
