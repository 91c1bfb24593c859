/* array.c - arrays in host memory: element types, counts and reading; see ascribe/array.h.
 * Data may lie anywhere in a file, so every element is copied out bytewise before it is used. */
#include "alloc.h"
#include "ascribe/array.h"
#include "half.h"

static const struct {
    const char *name;
    size_t bytes;
} elems[ASC_N_ELEMS] = {
#define ROW(e, text, size) [ASC_ELEM_##e] = {text, size},
    ASC_ELEM_TABLE(ROW)
#undef ROW
};

static bool known(asc_elem e) { return (unsigned)e < ASC_N_ELEMS; }

const char *asc_elem_name(asc_elem e) { return known(e) ? elems[e].name : NULL; }
size_t asc_elem_bytes(asc_elem e) { return known(e) ? elems[e].bytes : 0; }
bool asc_elem_is_float(asc_elem e) { return e == ASC_ELEM_F32 || e == ASC_ELEM_F64 || e == ASC_ELEM_F16; }

int64_t asc_array_count(const asc_array *a) {
    int64_t n = 1;
    bool empty = false, big = false;
    if (a->shape.rank < 0 || a->shape.rank > ASC_MAX_RANK) return -1;
    for (int i = 0; i < a->shape.rank; i++) {
        if (a->shape.dims[i] < 0) return -1;
        empty = empty || a->shape.dims[i] == 0;
        big = big || __builtin_mul_overflow(n, a->shape.dims[i], &n);
    }
    return empty ? 0 : big ? -1 : n;
}

/* One loop a type: the switch is outside it. */
#define EACH(type, expr)                                                                                     \
    for (int64_t i = 0; i < n; i++) {                                                                        \
        type v;                                                                                              \
        memcpy(&v, p + (size_t)i * sizeof v, sizeof v);                                                      \
        out[i] = (expr);                                                                                     \
    }                                                                                                        \
    break

void asc_array_get(const asc_array *a, int64_t first, int64_t n, double *out) {
    const char *p = (const char *)a->data + (size_t)first * asc_elem_bytes(a->elem);
    switch (a->elem) {
    case ASC_ELEM_F32:
        EACH(float, (double)v);
    case ASC_ELEM_F64:
        EACH(double, v);
    case ASC_ELEM_F16:
        EACH(uint16_t, (double)asc_f16_to_f32(v));
    case ASC_ELEM_I8:
        EACH(int8_t, (double)v);
    case ASC_ELEM_I16:
        EACH(int16_t, (double)v);
    case ASC_ELEM_I32:
        EACH(int32_t, (double)v);
    case ASC_ELEM_I64:
        EACH(int64_t, (double)v);
    case ASC_ELEM_U8:
        EACH(uint8_t, (double)v);
    case ASC_ELEM_U16:
        EACH(uint16_t, (double)v);
    case ASC_ELEM_U32:
        EACH(uint32_t, (double)v);
    case ASC_ELEM_U64:
        EACH(uint64_t, (double)v);
    case ASC_ELEM_BOOL:
        EACH(uint8_t, v != 0 ? 1.0 : 0.0);
    case ASC_N_ELEMS:
        break;
    }
}

void asc_array_free(asc_ctx *ctx, asc_array *a) {
    void *data; /* made by a reader of this library, so it was not const */
    memcpy(&data, &a->data, sizeof data);
    asc_free(ctx, data);
    *a = (asc_array){0};
}
