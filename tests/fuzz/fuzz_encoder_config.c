/* fuzz_encoder_config.c - any bytes as config.json of a text encoder and of an image classifier. */
#include "ctx.h"
#include "encoder.h"
#include "vision.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    asc_ctx_options o = {.struct_size = sizeof o};
    asc_ctx *ctx = NULL;
    asc_json *root = NULL;
    asc_encoder_config text;
    asc_vision_config image;
    char path[] = "folder";
    if (asc_ctx_create_base(&o, &ctx) != ASC_OK) abort();
    if (asc_json_parse(ctx, (const char *)data, size, &root) == ASC_OK) {
        if (asc_encoder_configure(ctx, path, root, &text) == ASC_OK) {
            if (text.n_layers < 1 || text.head_dim < 1 || text.context < 1) abort();
            asc_encoder_config_deinit(ctx, &text);
        } else if (asc_error_message(ctx)[0] == '\0' || asc_error_hint(ctx)[0] == '\0') {
            abort();
        }
        asc_hf_folder f = {.ctx = ctx, .path = path, .config = root};
        if (asc_vision_configure(ctx, &f, &image) != ASC_OK && asc_error_hint(ctx)[0] == '\0') abort();
    }
    asc_json_free(root);
    if (asc_memory(ctx).live_allocs != 0) abort();
    asc_ctx_destroy(ctx);
    return 0;
}
