/* safetensors.c - the tensors of a safetensors file as arrays; the header is safetensors_header.c's. */
#include "dtype.h"
#include "half.h"
#include "safetensors.h"

typedef struct receiver {
    asc_ctx *ctx;
    const asc_array_sink *sink;
} receiver;

asc_status asc_safetensors_widen(asc_ctx *ctx, const uint8_t *bf16, size_t n, asc_array *a) {
    float *wide = asc_alloc_buffer(ctx, ASC_MEM_WEIGHTS, n * sizeof *wide + 1);
    if (wide == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) {
        uint16_t h;
        memcpy(&h, bf16 + 2 * i, sizeof h);
        wide[i] = asc_bf16_to_f32(h);
    }
    a->elem = ASC_ELEM_F32;
    a->data = wide;
    return ASC_OK;
}

int asc_safetensors_dtype(int elem) {
    return elem == ASC_ELEM_F32           ? ASC_DTYPE_F32
           : elem == ASC_ELEM_F16         ? ASC_DTYPE_F16
           : elem == ASC_SAFETENSORS_BF16 ? ASC_DTYPE_BF16
                                          : -1;
}

static asc_status put(void *self, const asc_safetensor *t) {
    const receiver *r = self;
    asc_array a = {.elem = (asc_elem)t->elem, .shape = t->shape, .data = t->data};
    if (t->elem != ASC_SAFETENSORS_BF16) return r->sink->put(r->sink->self, t->name, &a, false);
    asc_status st = asc_safetensors_widen(r->ctx, t->data, t->bytes / 2, &a);
    return st == ASC_OK ? r->sink->put(r->sink->self, t->name, &a, true) : st;
}

asc_status asc_safetensors_parse(asc_ctx *ctx, const void *data, size_t size, const asc_array_sink *sink) {
    receiver r = {ctx, sink};
    return asc_safetensors_each(ctx, data, size, put, &r);
}
