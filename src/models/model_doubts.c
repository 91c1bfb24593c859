/* model_doubts.c - what a GGUF file's metadata says that makes no sense, although every number can be
 * computed without it: a warning in the context's log each, and the file is used as if the entry were not
 * there. What would change numbers is refused where it is read; the tokenizers warn of what they read. */
#include "model_doubts.h"
#include "chat.h"
#include "ctx.h"
#include "view.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* An integer value, NAN for a value of another kind. */
static double whole(const asc_gguf_kv *kv) {
    asc_gguf_type t = kv->values.type;
    bool number = t != ASC_GGUF_STRING && t != ASC_GGUF_BOOL && t != ASC_GGUF_F32 && t != ASC_GGUF_F64;
    return kv->is_array || !number ? (double)NAN : asc_gguf_num_at(kv->values, 0);
}

/* The integer of a key; NAN as above, or where the key is absent. */
static double whole_of(const asc_gguf *g, const char *key, bool *there) {
    const asc_gguf_kv *kv = asc_gguf_kv_find(g, key);
    *there = kv != NULL;
    return kv != NULL ? whole(kv) : (double)NAN;
}

static void warn(asc_ctx *ctx, const asc_gguf *g, const char *key, const char *what) {
    asc_logf(ctx, ASC_LOG_WARN, "'%s': %s %s", asc_gguf_name(g), key, what);
}

/* What llama-gguf-split writes; a joined file keeps the keys, with a count of 0. */
static void split(asc_ctx *ctx, const asc_gguf *g) {
    bool has_no, has_count, has_tensors;
    double no = whole_of(g, "split.no", &has_no), count = whole_of(g, "split.count", &has_count),
           tensors = whole_of(g, "split.tensors.count", &has_tensors);
    double parts = has_count && count > 0.0 ? count : 1.0;
    if (has_no && !(no >= 0.0 && no < parts))
        warn(ctx, g, "split.no", "is not the number of a part, yet the file is not split; it is not used");
    if (has_tensors && !(fabs(tensors - (double)asc_gguf_tensor_count(g)) < 0.5))
        warn(ctx, g, "split.tensors.count", "is not the number of tensors; some may be lost");
}

/* Files are named after the type that most of their tensors have (llama.cpp, enum llama_ftype); only those
 * are here that are always among the tensors. */
static const struct {
    int file_type;
    asc_dtype type;
} file_types[] = {{0, ASC_DTYPE_F32},  {1, ASC_DTYPE_F16},   {2, ASC_DTYPE_Q4_0},
                  {3, ASC_DTYPE_Q4_1}, {7, ASC_DTYPE_Q8_0},  {8, ASC_DTYPE_Q5_0},
                  {9, ASC_DTYPE_Q5_1}, {18, ASC_DTYPE_Q6_K}, {32, ASC_DTYPE_BF16}};

static void types(asc_ctx *ctx, const asc_gguf *g) {
    enum { GUESSED = 1024, /* a bit: the type was not said but counted */ MOST = 256 };
    bool there, quantised = false;
    double version = whole_of(g, "general.quantization_version", &there);
    for (size_t i = 0; i < asc_gguf_tensor_count(g); i++)
        quantised = quantised || asc_dtype_of(asc_gguf_tensor_at(g, i)->dtype)->block_elems > 1;
    if (there && !(fabs(version - 2.0) < 0.5))
        warn(ctx, g, "general.quantization_version",
             quantised ? "is not 2: blocks of another version hold other numbers; they are read as 2"
                       : "is not 2, the one that is known; no tensor is quantised, so it is not used");
    double file_type = whole_of(g, "general.file_type", &there);
    if (!there) return;
    if (!(file_type >= 0.0 && file_type < GUESSED + MOST) || (file_type >= MOST && file_type < GUESSED)) {
        warn(ctx, g, "general.file_type", "is the number of no type of files; it is not used");
        return;
    }
    int of = (int)file_type % GUESSED;
    for (size_t k = 0; k < sizeof file_types / sizeof *file_types; k++) {
        bool found = of != file_types[k].file_type;
        for (size_t i = 0; !found && i < asc_gguf_tensor_count(g); i++)
            found = asc_gguf_tensor_at(g, i)->dtype == file_types[k].type;
        if (!found) warn(ctx, g, "general.file_type", "names a type that no tensor has; it is not used");
    }
}

/* tokenizer.ggml.*_token_id: ids that are no token's. Those of the tokenizer it warns of itself. */
static void token_ids(asc_ctx *ctx, const asc_gguf *g, int64_t n_vocab) {
    static const char *const known[] = {"bos", "eos", "eot", "padding", "unknown"};
    asc_view head = asc_view_of("tokenizer.ggml."), tail = asc_view_of("_token_id");
    for (size_t i = 0; i < asc_gguf_kv_count(g); i++) {
        const asc_gguf_kv *kv = asc_gguf_kv_at(g, i);
        if (!asc_view_starts(kv->key, head) || kv->key.len <= head.len + tail.len ||
            memcmp(kv->key.ptr + kv->key.len - tail.len, tail.ptr, tail.len) != 0)
            continue;
        asc_view name = {kv->key.ptr + head.len, kv->key.len - head.len - tail.len};
        bool theirs = false;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            theirs = theirs || asc_view_eqs(name, known[k]);
        double id = whole(kv);
        if (theirs || (id >= -1.0 && id < (double)n_vocab)) continue;
        name = asc_view_cut(kv->key, 100);
        asc_logf(ctx, ASC_LOG_WARN, "'%s': " ASC_VIEW_FMT " is the number of no token; it is not used",
                 asc_gguf_name(g), ASC_VIEW_ARG(name));
    }
}

/* Names, licences, templates: texts are UTF-8. */
static void texts(asc_ctx *ctx, const asc_gguf *g) {
    for (size_t i = 0; i < asc_gguf_kv_count(g); i++) {
        const asc_gguf_kv *kv = asc_gguf_kv_at(g, i);
        if (kv->is_array || kv->values.type != ASC_GGUF_STRING) continue;
        asc_view v = asc_gguf_str_at(kv->values, 0), key = asc_view_cut(kv->key, 100);
        size_t at = asc_utf8_check(v);
        if (at != v.len)
            asc_logf(ctx, ASC_LOG_WARN, "'%s': " ASC_VIEW_FMT " is not UTF-8 from its byte %zu on",
                     asc_gguf_name(g), ASC_VIEW_ARG(key), at);
    }
}

static void chat_template(asc_ctx *ctx, const asc_gguf *g) {
    const char *key = "tokenizer.chat_template";
    const asc_gguf_kv *kv = asc_gguf_kv_find(g, key);
    if (kv == NULL) return;
    if (kv->is_array || kv->values.type != ASC_GGUF_STRING) {
        warn(ctx, g, key, "is not a string; it is not used");
        return;
    }
    if (asc_chat_check(ctx, asc_gguf_str_at(kv->values, 0)) == ASC_OK) return;
    asc_logf(ctx, ASC_LOG_WARN, "'%s': %s cannot be read, so chats will be refused: %s", asc_gguf_name(g),
             key, asc_error_message(ctx));
    asc_error_clear(ctx);
}

static void architecture_keys(asc_ctx *ctx, const asc_gguf *g, const char *architecture, int64_t n_vocab) {
    char key[128];
    bool there, experts;
    snprintf(key, sizeof key, "%s.vocab_size", architecture);
    double n = whole_of(g, key, &there);
    if (there && !(fabs(n - (double)n_vocab) < 0.5))
        asc_logf(ctx, ASC_LOG_WARN, "'%s': %s is not %lld, the rows of its embedding table; it is not used",
                 asc_gguf_name(g), key, (long long)n_vocab);
    snprintf(key, sizeof key, "%s.expert_count", architecture);
    experts = whole_of(g, key, &there) > 0.0;
    snprintf(key, sizeof key, "%s.expert_used_count", architecture);
    if (!experts && whole_of(g, key, &there) > 0.0)
        warn(ctx, g, key, "is given, yet the model has no experts; it is not used");
    static const char *const eps[] = {"layer_norm_rms_epsilon", "layer_norm_epsilon"};
    for (size_t i = 0; i < sizeof eps / sizeof *eps; i++) {
        snprintf(key, sizeof key, "%s.attention.%s", architecture, eps[i]);
        const asc_gguf_kv *kv = asc_gguf_kv_find(g, key);
        if (kv != NULL && asc_gguf_num_at(kv->values, 0) == 0.0)
            warn(ctx, g, key, "is 0: rows of zeros, such as a baseline of zeros, have no norm");
    }
}

void asc_model_doubts(asc_ctx *ctx, const asc_gguf *g, const char *architecture, int64_t n_vocab) {
    const asc_gguf_kv *kv = asc_gguf_kv_find(g, "general.type");
    architecture_keys(ctx, g, architecture, n_vocab);
    if (kv != NULL && (kv->is_array || kv->values.type != ASC_GGUF_STRING ||
                       !asc_view_eqs(asc_gguf_str_at(kv->values, 0), "model")))
        warn(ctx, g, "general.type", "is not \"model\", yet its tensors are a model's; it is used as one");
    split(ctx, g);
    types(ctx, g);
    token_ids(ctx, g, n_vocab);
    texts(ctx, g);
    chat_template(ctx, g);
}
