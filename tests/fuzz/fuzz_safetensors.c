/* fuzz_safetensors.c - any bytes as a file of named arrays: every element of what is accepted can be read. */
#include "array_files.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile double sink_of_values;

static asc_status put(void *self, asc_view name, const asc_array *a, bool take_array) {
    asc_array mine = *a;
    int64_t n = asc_array_count(a);
    if (n < 0 || (name.len > 0 && name.ptr == NULL)) abort();
    for (int64_t i = 0; i < n; i++) {
        double v;
        asc_array_get(a, i, 1, &v);
        sink_of_values = v;
    }
    if (take_array) asc_array_free(self, &mine);
    return ASC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    asc_ctx_options o = {.struct_size = sizeof o};
    asc_ctx *ctx = NULL;
    if (asc_ctx_create(&o, &ctx) != ASC_OK) abort();
    asc_array_sink sink = {put, ctx};
    if (asc_safetensors_parse(ctx, data, size, &sink) != ASC_OK &&
        (asc_error_message(ctx)[0] == '\0' || asc_error_hint(ctx)[0] == '\0'))
        abort(); /* every refusal says what is wrong and what to do */
    if (asc_memory(ctx).live_allocs != 0) abort();
    asc_ctx_destroy(ctx);
    return 0;
}
