/* model_doubts.c - what a GGUF file's metadata says that makes no sense, although every number can be
 * computed without it: a warning in the context's log each, and the file is used as if the entry were not
 * there. What would change numbers is refused where it is read; token ids are warned of by the tokenizers. */
#include "model_doubts.h"
#include "ctx.h"
#include "view.h"
#include <math.h>
#include <stdio.h>

/* An integer value, NAN for a value of another kind. */
static double whole(const asc_gguf_kv *kv) {
    asc_gguf_type t = kv->values.type;
    bool number = t != ASC_GGUF_STRING && t != ASC_GGUF_BOOL && t != ASC_GGUF_F32 && t != ASC_GGUF_F64;
    return kv->is_array || !number ? (double)NAN : asc_gguf_num_at(kv->values, 0);
}

void asc_model_doubts(asc_ctx *ctx, const asc_gguf *g, const char *architecture, int64_t n_vocab) {
    char key[128];
    const asc_gguf_kv *kv;
    snprintf(key, sizeof key, "%s.vocab_size", architecture);
    kv = asc_gguf_kv_find(g, key);
    if (kv != NULL && !(fabs(whole(kv) - (double)n_vocab) < 0.5))
        asc_logf(ctx, ASC_LOG_WARN, "'%s': %s is not %lld, the rows of its embedding table; it is not used",
                 asc_gguf_name(g), key, (long long)n_vocab);
    kv = asc_gguf_kv_find(g, "tokenizer.chat_template");
    if (kv != NULL && (kv->is_array || kv->values.type != ASC_GGUF_STRING))
        asc_logf(ctx, ASC_LOG_WARN, "'%s': tokenizer.chat_template is not a string; it is not used",
                 asc_gguf_name(g));
    kv = asc_gguf_kv_find(g, "general.type");
    if (kv != NULL && (kv->is_array || kv->values.type != ASC_GGUF_STRING ||
                       !asc_view_eqs(asc_gguf_str_at(kv->values, 0), "model")))
        asc_logf(ctx, ASC_LOG_WARN,
                 "'%s': general.type is not \"model\", yet its tensors are a model's; it is used as one",
                 asc_gguf_name(g));
}
