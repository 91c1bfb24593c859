/* fuzz_adapter.c - adapters in memory: a GGUF file, or two bytes for the length of adapter_config.json, that,
 * and adapter_model.safetensors. Read for a llama with interleaved rows, a GPT-NeoX and a Granite. */
#include "adapter.h"
#include "view.h"
#include <stdlib.h>
#include <string.h>

static asc_status read_adapter(asc_lora_set *s, const asc_lora_base *base, const uint8_t *data, size_t size) {
    if (memcmp(data, "GGUF", 4) == 0) {
        asc_gguf *g = NULL;
        asc_status st = asc_gguf_parse(s->ctx, data, size, &g);
        if (st == ASC_OK) st = asc_lora_parse_gguf(s, 0, base, g);
        asc_gguf_close(s->ctx, g);
        return st;
    }
    size_t n = (size_t)data[0] | (size_t)data[1] << 8;
    if (n + 2 > size) n = size - 2;
    return asc_lora_parse_peft(s, 0, base, asc_view_make((const char *)data + 2, n), data + 2 + n,
                               size - 2 - n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const families[][2] = {
        {"llama", "mixtral"}, {"gptneox", "gpt_neox"}, {"granite", "granite"}};
    asc_ctx_options o = {.struct_size = sizeof o, .device = "null", .n_threads = 1};
    asc_ctx *ctx = NULL;
    if (size < 4) return 0;
    if (asc_ctx_create(&o, &ctx) != ASC_OK) abort();
    for (int f = 0; f < 3; f++) {
        asc_decoder_config cfg = {.architecture = families[f][0],
                                  .n_layers = 2,
                                  .d_model = 16,
                                  .n_heads = 4,
                                  .n_kv = 2,
                                  .head_dim = 4};
        const asc_lora_base base = {
            .path = "memory", .cfg = &cfg, .gguf = true, .model_type = families[f][1]};
        asc_adapter one = {"adapter", 1.0};
        asc_lora_set s = {.ctx = ctx, .list = &one, .n_list = 1};
        asc_arena_init(&s.arena, ctx, ASC_MEM_WEIGHTS);
        asc_error_clear(ctx);
        asc_status st = read_adapter(&s, &base, data, size);
        if (st != ASC_OK && asc_error_message(ctx)[0] == '\0') abort(); /* every refusal says why */
        for (size_t i = 0; i < s.n && st == ASC_OK; i++) { /* all of it can be read, and is numbers */
            const asc_lora_part *p = &s.v[i];
            int64_t odd = 0;
            for (int64_t k = 0; p->a != NULL && k < p->rank * p->in; k++)
                odd += p->a[k] - p->a[k] < 1.0f ? 0 : 1;
            for (int64_t k = 0; p->b != NULL && k < p->rank * p->out; k++)
                odd += p->b[k] - p->b[k] < 1.0f ? 0 : 1;
            if (odd > 0) abort();
        }
        asc_free(ctx, s.v);
        asc_arena_deinit(&s.arena);
    }
    asc_ctx_destroy(ctx);
    return 0;
}
