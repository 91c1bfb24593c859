/* fuzz_npy.c - any bytes as an .npy file: what is accepted is copied, written and read again, with equal
 * bytes. */
#include "npy.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(asc_ctx *ctx, const uint8_t *data, const asc_npy *npy) {
    asc_array a, b;
    asc_npy again;
    asc_strbuf out;
    if (asc_npy_copy(ctx, data, npy, &a) != ASC_OK) abort();
    asc_strbuf_init(&out, ctx);
    if (asc_npy_print(ctx, &a, &out) != ASC_OK || asc_npy_parse(ctx, out.ptr, out.len, &again) != ASC_OK)
        abort();
    if (asc_npy_copy(ctx, out.ptr, &again, &b) != ASC_OK) abort();
    if (again.bytes != npy->bytes || memcmp(a.data, b.data, npy->bytes) != 0) abort();
    asc_strbuf_deinit(&out);
    asc_array_free(ctx, &a);
    asc_array_free(ctx, &b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    asc_ctx_options o = {.struct_size = sizeof o};
    asc_ctx *ctx = NULL;
    asc_npy npy;
    if (asc_ctx_create(&o, &ctx) != ASC_OK) abort();
    if (asc_npy_parse(ctx, data, size, &npy) == ASC_OK) {
        check(ctx, data, &npy);
    } else if (asc_error_message(ctx)[0] == '\0' || asc_error_hint(ctx)[0] == '\0') {
        abort(); /* every refusal says what is wrong and what to do */
    }
    if (asc_memory(ctx).live_allocs != 0) abort();
    asc_ctx_destroy(ctx);
    return 0;
}
