/* null.c - the device that computes nothing: shapes, plans and cost only. Also the file to copy for a new
 * device. */
#include "device.h"

static asc_status null_open(asc_ctx *ctx, void **out_state) {
    (void)ctx;
    *out_state = NULL; /* no state */
    return ASC_OK;
}
static void null_close(asc_ctx *ctx, void *state) {
    (void)ctx;
    (void)state;
}
static size_t null_storage_bytes(asc_dtype dtype, int64_t n) { /* as the cpu device would need */
    size_t bytes = 0;
    return asc_dtype_bytes(dtype, n, &bytes) ? bytes : 0;
}
static void null_upload(asc_dtype dtype, void *dst, asc_dtype host_dtype, const void *host, int64_t n) {
    (void)dtype, (void)dst, (void)host_dtype, (void)host, (void)n;
}
static void null_download(asc_dtype dtype, const void *src, asc_dtype host_dtype, void *host, int64_t n) {
    (void)dtype, (void)src, (void)host_dtype, (void)host, (void)n;
}
static asc_status null_supports(asc_ctx *ctx, void *state, const asc_call *c) {
    (void)ctx, (void)state, (void)c;
    return ASC_OK;
}
static size_t null_scratch_bytes(asc_ctx *ctx, void *state, const asc_call *c) {
    (void)ctx, (void)state, (void)c;
    return 0;
}
static asc_status null_run(asc_ctx *ctx, void *state, const asc_run_args *a) {
    (void)state, (void)a;
    return asc_poll_cancel(ctx);
}

const asc_device asc_device_null = {
    .name = "null",
    .doc = "computes nothing; shapes, memory and cost only",
    .has_data = false,
    .open = null_open,
    .close = null_close,
    .storage_bytes = null_storage_bytes,
    .upload = null_upload,
    .download = null_download,
    .borrows_weights = true,
    .aliases_views = true,
    .fuses = true, /* prices what the cpu device runs */
    .supports = null_supports,
    .scratch_bytes = null_scratch_bytes,
    .run = null_run,
};
