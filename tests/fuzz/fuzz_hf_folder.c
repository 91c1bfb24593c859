/* fuzz_hf_folder.c - any bytes as a model folder: lengths of config.json and of an index (two bytes each,
 * little-endian; an index of length 0 is none), both texts, and the weight file. What is accepted must also
 * run. */
#include "hf_family.h"
#include "view.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t number(const uint8_t *p) { return (size_t)p[0] | (size_t)p[1] << 8; }

static asc_status run(asc_ctx *ctx, asc_decoder *d) {
    const int32_t ids[2] = {0, 0};
    float out;
    asc_scope_begin(ctx);
    asc_decoder_run r = {.x = asc_decoder_embed(d, ids, 1, d->cfg.context > 1 ? 2 : 1), .tail = 1};
    asc_tensor *y = asc_decoder_logits(d, asc_decoder_hidden(d, &r), NULL, NULL);
    asc_status st =
        asc_read_f32(ctx, asc_slice(ctx, asc_reshape(ctx, y, ASC_SHAPE(d->cfg.n_vocab)), 0, 0, 1), &out, 1);
    return asc_scope_close(ctx, st);
}

static asc_status open_model(asc_ctx *ctx, asc_hf_folder *f) {
    asc_status st = ASC_OK;
    asc_weights *w = NULL;
    asc_hf_family family;
    asc_decoder_config cfg = {0};
    asc_decoder d = {0};
    ASC_TRY(asc_weights_create(ctx, "memory", &w));
    ASC_TRY(asc_hf_configure(f, &w->arena, &family, &cfg));
    ASC_TRY(asc_hf_fill(f, &family, &cfg, w));
    ASC_TRY(asc_decoder_load(ctx, w, &cfg, false, NULL, &d));
    if (f->file_bytes < 100000) ASC_TRY(run(ctx, &d));
done:
    asc_decoder_config_deinit(ctx, &cfg);
    asc_decoder_unload(&d);
    asc_weights_close(w);
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    asc_ctx_options o = {.struct_size = sizeof o, .device = "cpu", .n_threads = 1};
    asc_ctx *ctx = NULL;
    asc_hf_folder *f = NULL;
    if (size < 4) return 0;
    size_t n_config = number(data), n_index = number(data + 2);
    if (n_config + n_index + 4 > size) return 0;
    if (asc_ctx_create(&o, &ctx) != ASC_OK) abort();
    const char *text = (const char *)data + 4;
    size_t skip = 4 + n_config + n_index;
    asc_status st = asc_hf_folder_parse(ctx, asc_view_make(text, n_config),
                                        asc_view_make(n_index > 0 ? text + n_config : NULL, n_index),
                                        data + skip, size - skip, &f);
    if (st == ASC_OK) st = open_model(ctx, f);
    if (st != ASC_OK && asc_error_message(ctx)[0] == '\0') abort(); /* every refusal says why */
    asc_hf_folder_close(f);
    asc_ctx_destroy(ctx);
    return 0;
}
