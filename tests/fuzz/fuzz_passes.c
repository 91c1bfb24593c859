/* fuzz_passes.c - the passes over programs: what starts with '%' is a program's text, other bytes draw one.
 * It must verify after the passes, and small ones give the same bits before and after on the f64 device. */
#include "../ir/pass_equal.h"
#include "../ir/program_draw.h"
#include "view.h"

enum { MAX_ELEMS = 1 << 16, MAX_OPS = 200 };

/* Small, and made of inputs that the runner can draw. */
static bool runs(const asc_program *p) {
    int64_t elems = 0;
    for (size_t k = 0; k < p->n_nodes; k++) {
        const asc_node *n = &p->nodes[k];
        int64_t here = asc_shape_elems(&n->shape);
        if (n->op == NULL && n->dtype != ASC_DTYPE_F32 && n->dtype != ASC_DTYPE_I32) return false;
        if (n->group != 0 || n->many_rows || n->constant || here > MAX_ELEMS) return false;
        elems += here;
    }
    /* a sum over what was broadcast, or a product, may take long although its result is small */
    return p->n_nodes <= MAX_OPS && elems <= MAX_ELEMS && asc_program_cost(p).flops < 1e8;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    asc_ctx_options o = {.struct_size = sizeof o, .device = "reference", .n_threads = 1};
    asc_ctx *ctx;
    asc_program p;
    size_t at = 0;
    bool text = size > 0 && data[0] == '%', ok = true;
    if (asc_ctx_create(&o, &ctx) != ASC_OK) return 0;
    if (text) {
        ok = asc_program_parse(ctx, asc_view_make((const char *)data, size), &p) == ASC_OK;
    } else {
        asc_program_init(&p, ctx);
        program_draw(ctx, data, size, &p);
    }
    if (ok && asc_program_verify(ctx, &p) != ASC_OK) abort();
    if (ok && runs(&p) && pass_equal(ctx, &p, 0, NULL, &at) == 2) abort();
    if (ok && !runs(&p)) {
        asc_pass_env env = {.storage_bytes = asc_exec_device(ctx)->storage_bytes, .alias = true};
        if (asc_passes_run(ctx, &p, &env) == ASC_INTERNAL) abort();
        if (asc_program_verify(ctx, &p) != ASC_OK) abort();
    }
    asc_program_deinit(&p);
    if (asc_memory(ctx).live_allocs != 0) abort();
    asc_ctx_destroy(ctx);
    return 0;
}
