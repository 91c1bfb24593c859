/* fuzz_gguf.c - any bytes as a GGUF file: parsed, and when accepted, everything in it read. */
#include "alloc.h"
#include "gguf.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink; /* keeps the reads */

static uint64_t read_everything(const asc_gguf *g) {
    uint64_t sum = 0;
    for (size_t i = 0; i < asc_gguf_kv_count(g); i++) {
        const asc_gguf_kv *kv = asc_gguf_kv_at(g, i);
        for (size_t b = 0; b < kv->key.len; b++) sum += (unsigned char)kv->key.ptr[b];
        for (size_t e = 0; e < kv->values.count; e++) {
            asc_view v = asc_gguf_str_at(kv->values, e);
            for (size_t b = 0; b < v.len; b++) sum += (unsigned char)v.ptr[b];
            sum += (uint64_t)asc_gguf_int_at(kv->values, e) + (asc_gguf_num_at(kv->values, e) > 0);
        }
    }
    for (size_t i = 0; i < asc_gguf_tensor_count(g); i++) {
        const asc_gguf_tensor *t = asc_gguf_tensor_at(g, i);
        const uint8_t *p = t->data;
        if (t->rank < 1 || t->rank > ASC_GGUF_MAX_RANK) abort();
        if (t->bytes > 0) sum += p[0] + p[t->bytes - 1];
        /* Expanding one block proves that the type's size and the expansion agree. */
        asc_expand_fn expand = asc_dtype_expand(t->dtype);
        float block[256];
        if (expand != NULL) expand(p, block, asc_dtype_of(t->dtype)->block_elems);
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    asc_ctx_options o = {.struct_size = sizeof o};
    asc_ctx *ctx = NULL;
    asc_gguf *g = NULL;
    if (asc_ctx_create(&o, &ctx) != ASC_OK) abort();
    asc_status st = asc_gguf_parse(ctx, data, size, &g);
    if ((st == ASC_OK) != (g != NULL)) abort();
    if (st == ASC_OK) {
        sink += read_everything(g);
    } else if (asc_error_message(ctx)[0] == '\0' || asc_error_hint(ctx)[0] == '\0') {
        abort(); /* every refusal says what is wrong and what to do */
    }
    asc_gguf_close(ctx, g);
    if (asc_memory(ctx).live_allocs != 0) abort();
    asc_ctx_destroy(ctx);
    return 0;
}
