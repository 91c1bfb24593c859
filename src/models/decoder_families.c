/* decoder_families.c - the table of model families. Facts and their sources: docs/formats/gguf.md. Rows are
 * in the order in which messages list them. */
#include "decoder_family.h"
#include "view.h"

static const asc_family families[] = {
    {.name = "llama", .interleaved = true, .permuted = true, .act = ASC_MLP_SILU},
    {.name = "qwen2", .act = ASC_MLP_SILU},
    {.name = "qwen3", .qk_norm = ASC_QK_NORM_HEAD, .act = ASC_MLP_SILU},
    {.name = "qwen3moe",
     .model_type = "qwen3_moe",
     .qk_norm = ASC_QK_NORM_HEAD,
     .experts = true,
     .act = ASC_MLP_SILU},
    {.name = "gemma", .embed_scale = true, .act = ASC_MLP_GELU_TANH},
    {.name = "gemma2",
     .post_norms = true,
     .embed_scale = true,
     .local_of = 2,
     .wide_scale_layers = 46,
     .act = ASC_MLP_GELU_TANH},
    {.name = "gemma3",
     .model_type = "gemma3_text",
     .post_norms = true,
     .embed_scale = true,
     .qk_norm = ASC_QK_NORM_HEAD,
     .local_of = 6,
     .local_rope = true,
     .local_rope_base = 10000.0,
     .wide_scale_layers = 62,
     .act = ASC_MLP_GELU_TANH},
    {.name = "phi3", .act = ASC_MLP_SILU},
    {.name = "gpt2",
     .layer_norm = true,
     .plain_mlp = true,
     .learned_positions = true,
     .act = ASC_MLP_GELU_TANH},
    {.name = "gptneox",
     .model_type = "gpt_neox",
     .layer_norm = true,
     .plain_mlp = true,
     .parallel = true,
     .act = ASC_MLP_GELU},
    {.name = "olmo2",
     .no_pre_norms = true,
     .post_norms = true,
     .qk_norm = ASC_QK_NORM_WIDE,
     .local_of = 4,
     .local_rope = true,
     .act = ASC_MLP_SILU},
    {.name = "granite", .interleaved = true, .permuted = true, .logits_divided = true, .act = ASC_MLP_SILU},
    {.name = "starcoder2", .layer_norm = true, .plain_mlp = true, .act = ASC_MLP_GELU_TANH},
    {.name = "command-r",
     .model_type = "cohere",
     .qk_norm = ASC_QK_NORM_EACH, /* where the file has their weights */
     .interleaved = true,
     .layer_norm = true,
     .parallel = true,
     .act = ASC_MLP_SILU},
    {.name = "cohere2",
     .interleaved = true,
     .layer_norm = true,
     .parallel = true,
     .local_of = 4,
     .nope_full = true,
     .act = ASC_MLP_SILU},
    {.name = "smollm3", .interleaved = true, .permuted = true, .nope_of = 4, .act = ASC_MLP_SILU},
};

const asc_family *asc_family_find(asc_view name) {
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (asc_view_eqs(name, families[i].name)) return &families[i];
    }
    return NULL;
}

const char *asc_family_model_type(const char *name) {
    const asc_family *f = asc_family_find(asc_view_of(name));
    return f != NULL && f->model_type != NULL ? f->model_type : name;
}

const char *asc_family_names(void) {
    return "llama, qwen2, qwen3, qwen3moe, gemma, gemma2, gemma3, phi3, gpt2, gptneox, olmo2, granite, "
           "starcoder2, command-r, cohere2, smollm3";
}
