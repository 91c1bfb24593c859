/* safetensors.c - the tensors of a safetensors file as arrays; the header is safetensors_header.c's. */
#include "half.h"
#include "safetensors.h"

typedef struct receiver {
    asc_ctx *ctx;
    const asc_array_sink *sink;
} receiver;

/* bf16 has no element type of arrays: it is expanded. */
static asc_status put(void *self, const asc_safetensor *t) {
    const receiver *r = self;
    asc_array a = {.elem = (asc_elem)t->elem, .shape = t->shape, .data = t->data};
    if (t->elem != ASC_SAFETENSORS_BF16) return r->sink->put(r->sink->self, t->name, &a, false);
    size_t n = t->bytes / 2;
    float *wide = asc_alloc_buffer(r->ctx, ASC_MEM_WEIGHTS, n * sizeof *wide + 1);
    if (wide == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) {
        uint16_t h;
        memcpy(&h, t->data + 2 * i, sizeof h);
        wide[i] = asc_bf16_to_f32(h);
    }
    a.elem = ASC_ELEM_F32;
    a.data = wide;
    return r->sink->put(r->sink->self, t->name, &a, true);
}

asc_status asc_safetensors_parse(asc_ctx *ctx, const void *data, size_t size, const asc_array_sink *sink) {
    receiver r = {ctx, sink};
    return asc_safetensors_each(ctx, data, size, put, &r);
}
