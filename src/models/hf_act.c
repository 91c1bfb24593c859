/* hf_act.c - see hf_act.h. */
#include "hf_act.h"
#include "view.h"

asc_status asc_hf_read_act(const asc_hf_keys *k, const char *key, const char *fallback, asc_mlp_act *out) {
    static const struct {
        const char *name;
        asc_mlp_act act;
    } acts[] = {
        {"silu", ASC_MLP_SILU},
        {"swish", ASC_MLP_SILU},
        {"gelu", ASC_MLP_GELU},
        {"gelu_python", ASC_MLP_GELU},
        {"gelu_new", ASC_MLP_GELU_TANH},
        {"gelu_fast", ASC_MLP_GELU_TANH},
        {"gelu_accurate", ASC_MLP_GELU_TANH},
        {"gelu_pytorch_tanh", ASC_MLP_GELU_TANH},
        {"gelu_python_tanh", ASC_MLP_GELU_TANH},
        {"relu", ASC_MLP_RELU},
        {"relu2", ASC_MLP_RELU_SQUARED},
        {"quick_gelu", ASC_MLP_QUICK_GELU},
        {"tanh", ASC_MLP_TANH},
    };
    asc_view name;
    asc_status st = asc_hf_word(k, key, fallback, &name);
    for (size_t i = 0; st == ASC_OK && i < sizeof acts / sizeof acts[0]; i++) {
        if (!asc_view_eqs(name, acts[i].name)) continue;
        *out = acts[i].act;
        return ASC_OK;
    }
    return st != ASC_OK
               ? st
               : asc_hf_refuse(k, key, "supported: silu, gelu and its forms, relu, relu2, quick_gelu, tanh");
}
