/* adapter_peft.c - adapters as PEFT saves them: adapter_config.json and adapter_model.safetensors. Names are
 * those of the model's Hugging Face files with "base_model.model." in front; the factor is lora_alpha / r, or
 * lora_alpha / sqrt(r) with use_rslora, and both numbers may differ by module (alpha_pattern, rank_pattern).
 * Kinds of adapters that do more than add B A are refused by the key that asks for them. Source: PEFT 0.21.
 */
#include "adapter.h"
#include "decoder_family.h"
#include "file.h"
#include "hf_family.h"
#include "view.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_CONFIG = 1 << 22 };

typedef struct peft {
    asc_lora_set *s;
    size_t i;
    const asc_lora_base *base;
    asc_hf_family family;
    const char *path;
    asc_hf_keys k;
    bool rslora;
    double alpha;
    int64_t rank;
} peft;

/* Keys that are fine when absent, null, false, empty or one of two words. */
static asc_status refuse_others(const peft *p) {
    static const char *const keys[] = {"use_dora",          "lora_bias",
                                       "use_qalora",        "modules_to_save",
                                       "layer_replication", "trainable_token_indices",
                                       "target_parameters", "alora_invocation_tokens",
                                       "megatron_config",   "arrow_config",
                                       "kasa_config",       "use_bdlora",
                                       "velora_config",     "monteclora_config"};
    static const char *const inits[] = {"pissa", "olora", "corda", "loftq", "lora_ga"};
    asc_view v;
    asc_status st = asc_hf_word(&p->k, "peft_type", NULL, &v);
    if (st != ASC_OK) return st;
    if (!asc_view_eqs(v, "LORA"))
        return asc_hf_refuse(&p->k, "peft_type", "only LORA adapters are supported");
    st = asc_hf_word(&p->k, "bias", "none", &v);
    if (st != ASC_OK) return st;
    if (!asc_view_eqs(v, "none"))
        return asc_hf_refuse(&p->k, "bias", "only adapters with bias none are supported");
    st = asc_hf_word(&p->k, "task_type", "CAUSAL_LM", &v);
    if (st != ASC_OK) return st;
    if (!asc_view_eqs(v, "CAUSAL_LM"))
        return asc_hf_refuse(&p->k, "task_type",
                             "only adapters of language models (CAUSAL_LM) are supported");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const asc_json *j = asc_hf_key(&p->k, keys[i]);
        const asc_json_type t = asc_json_typeof(j);
        bool off = t == ASC_JSON_NULL || (t == ASC_JSON_BOOL && !asc_json_bool(j, true)) ||
                   ((t == ASC_JSON_ARRAY || t == ASC_JSON_OBJECT) && asc_json_len(j) == 0);
        if (!off)
            return asc_hf_refuse(&p->k, keys[i],
                                 "ignoring it would change the numbers; merge the adapter into the "
                                 "model with PEFT (merge_and_unload) and open that");
    }
    asc_view init = asc_json_str(asc_hf_key(&p->k, "init_lora_weights"));
    for (size_t i = 0; i < sizeof inits / sizeof *inits; i++) {
        if (init.ptr != NULL && asc_view_starts(init, asc_view_of(inits[i])))
            return asc_hf_refuse(
                &p->k, "init_lora_weights",
                "such an adapter belongs to a changed model; save it as a plain one with PEFT "
                "(path_initial_model_for_weight_conversion)");
    }
    return ASC_OK;
}

/* A key of a pattern stands for the module of that name, or the end of it behind a dot. Keys may be regular
 * expressions; those that are more than a name are refused. */
static asc_status by_pattern(const peft *p, const char *table, asc_view module, double *out) {
    const asc_json *t = asc_hf_key(&p->k, table), *value;
    void *iter = NULL;
    asc_view key;
    while (asc_json_typeof(t) == ASC_JSON_OBJECT && asc_json_next(t, &iter, &key, &value)) {
        for (size_t i = 0; i < key.len; i++) {
            if (strchr("^$*+?()[]{}|\\", key.ptr[i]) == NULL && key.ptr[i] != '\0') continue;
            asc_view cut = asc_view_cut(key, 100);
            return ASC_FAIL(p->s->ctx, ASC_UNIMPLEMENTED,
                            "%s: %s has '" ASC_VIEW_FMT "', a pattern; only names of "
                            "modules are supported",
                            p->k.file, table, ASC_VIEW_ARG(cut));
        }
        if (key.len > module.len || memcmp(module.ptr + module.len - key.len, key.ptr, key.len) != 0)
            continue;
        if (key.len < module.len && module.ptr[module.len - key.len - 1] != '.') continue;
        *out = asc_json_num(value, NAN);
        if (isfinite(*out)) return ASC_OK;
        asc_view cut = asc_view_cut(key, 100);
        return ASC_FAIL(p->s->ctx, ASC_INVALID_ARGUMENT, "%s: %s." ASC_VIEW_FMT " is not a number", p->k.file,
                        table, ASC_VIEW_ARG(cut));
    }
    return ASC_OK;
}

/* Rows of B in the order in which a GGUF file has them: of q and k, row 2i of a head is row i of the head,
 * row 2i + 1 is row i + half; of GPT-NeoX's fused rows, first all heads' q, then k, then v. */
static asc_status reorder(const peft *p, asc_lora_part *part) {
    const asc_decoder_config *c = p->base->cfg;
    const asc_family *f = asc_family_find(asc_view_of(c->architecture));
    if (!p->base->gguf || f == NULL) return ASC_OK;
    asc_view stem = part->name;
    while (stem.len > 0 && !asc_view_starts(stem, asc_view_of("attn_")))
        stem = asc_view_make(stem.ptr + 1, stem.len - 1);
    const bool q = f->permuted && asc_view_eqs(stem, "attn_q.weight"),
               k = f->permuted && asc_view_eqs(stem, "attn_k.weight"),
               by_head = strcmp(f->name, "gptneox") == 0 && asc_view_eqs(stem, "attn_qkv.weight");
    const int64_t heads = k ? c->n_kv : c->n_heads, d = c->head_dim, n = by_head ? 3 * heads * d : heads * d;
    if ((!q && !k && !by_head) || part->out != n)
        return ASC_OK; /* other sizes are refused where they are bound */
    float *to = asc_arena_alloc(&p->s->arena, (size_t)(n * part->rank) * sizeof *to);
    if (to == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (int64_t r = 0; r < n; r++) {
        int64_t from;
        if (by_head)
            from = (r / d % heads * 3 + r / (heads * d)) * d + r % d;
        else
            from = r / d * d + r % d / 2 + (r % 2 != 0 ? d / 2 : 0);
        memcpy(to + r * part->rank, part->b + from * part->rank, (size_t)part->rank * sizeof *to);
    }
    part->b = to;
    return ASC_OK;
}

static asc_status finish(const peft *p, asc_lora_part *part) {
    double alpha = p->alpha, rank = (double)p->rank;
    asc_view module = part->source, cut = asc_view_cut(part->source, 200);
    asc_status st = by_pattern(p, "alpha_pattern", module, &alpha);
    if (st == ASC_OK) st = by_pattern(p, "rank_pattern", module, &rank);
    if (st != ASC_OK || part->a == NULL || part->b == NULL) return st;
    if (fabs(rank - (double)part->rank) > 0.25)
        return ASC_FAIL(p->s->ctx, ASC_INVALID_ARGUMENT,
                        "'%s': the matrices of " ASC_VIEW_FMT
                        " are of rank %lld, but adapter_config.json says %g",
                        p->path, ASC_VIEW_ARG(cut), (long long)part->rank, rank);
    part->scale = p->s->list[p->i].scale * alpha / (p->rslora ? sqrt(rank) : rank);
    return reorder(p, part);
}

/* MODULE.lora_A.weight or MODULE.lora_A.default.weight. Errors get the tensor's name in front. */
static asc_status add(void *self, const asc_safetensor *t) {
    peft *p = self;
    asc_ctx *ctx = p->s->ctx;
    asc_view name = t->name, start = asc_view_of("base_model.model.");
    static const char *const marks[] = {".lora_A.weight", ".lora_B.weight", ".lora_A.default.weight",
                                        ".lora_B.default.weight"};
    char weight[300], gguf[200];
    asc_lora_part *part;
    int which = -1;
    if (asc_view_starts(name, start)) name = asc_view_make(name.ptr + start.len, name.len - start.len);
    for (int i = 0; i < 4 && which < 0; i++) {
        size_t n = strlen(marks[i]);
        if (name.len <= n || memcmp(name.ptr + name.len - n, marks[i], n) != 0) continue;
        which = i;
        name.len -= n;
    }
    if (which < 0 || name.len > 250) {
        ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "it is no part of a plain LoRA adapter");
        return asc_hint(
            ctx, "DoRA, embeddings, biases and whole modules are not supported; merge the adapter with "
                 "PEFT (merge_and_unload) and open that");
    }
    snprintf(weight, sizeof weight, ASC_VIEW_FMT ".weight", ASC_VIEW_ARG(name));
    if (!asc_hf_gguf_name(&p->family, asc_view_of(weight), gguf, sizeof gguf))
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "it is no part of a %s model that can be adapted",
                        p->family.model_type);
    if (t->shape.rank != 2 || t->bytes == 0) return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "it is no matrix");
    const int dtype = asc_safetensors_dtype(t->elem);
    if (dtype < 0)
        return ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "it is stored as %s; expected f32, f16 or bf16",
                        asc_elem_name((asc_elem)t->elem));
    const bool is_a = which % 2 == 0;
    const int64_t *dims = t->shape.dims, rank = is_a ? dims[0] : dims[1];
    asc_status st = asc_lora_part_of(p->s, p->i, asc_view_of(gguf), name, &part);
    if (st == ASC_OK)
        st = asc_lora_copy(p->s, t->name, (asc_dtype)dtype, t->data, dims[0], dims[1],
                           is_a ? &part->a : &part->b);
    if (st != ASC_OK) return st;
    if (part->rank != 0 && part->rank != rank)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "its rank is %lld, that of the other matrix %lld",
                        (long long)rank, (long long)part->rank);
    part->rank = rank;
    if (is_a) part->in = dims[1];
    if (!is_a) part->out = dims[0];
    return ASC_OK;
}

static asc_status read_config(peft *p) {
    asc_status st = refuse_others(p);
    if (st == ASC_OK) st = asc_hf_count(&p->k, "r", 0, 1 << 20, &p->rank);
    if (st == ASC_OK) st = asc_hf_number(&p->k, "lora_alpha", (double)NAN, -1e9, 1e9, &p->alpha);
    if (st == ASC_OK) st = asc_hf_flag(&p->k, "use_rslora", false, &p->rslora);
    return st;
}

asc_status asc_lora_parse_peft(asc_lora_set *s, size_t i, const asc_lora_base *base, asc_view config,
                               const void *weights, size_t size) {
    asc_ctx *ctx = s->ctx;
    char file[4200];
    asc_json *root = NULL;
    peft p = {.s = s, .i = i, .base = base, .path = s->list[i].path};
    asc_status st = ASC_OK;
    const asc_hf_family *f = asc_hf_family_find(asc_view_of(base->model_type));
    if (f == NULL)
        return ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "'%s': adapters of '%s' models are not supported", p.path,
                        base->model_type);
    p.family = asc_hf_family_filled(f);
    snprintf(file, sizeof file, "%s/adapter_config.json", p.path);
    if ((st = asc_json_parse(ctx, config.ptr, config.len, &root)) != ASC_OK)
        return asc_fail_context(ctx, "'%s'", file);
    p.k = (asc_hf_keys){ctx, root, file, ""};
    ASC_TRY(read_config(&p));
    if ((st = asc_safetensors_each(ctx, weights, size, add, &p)) != ASC_OK) {
        st = asc_fail_context(ctx, "'%s/adapter_model.safetensors'", p.path);
        goto done;
    }
    for (size_t k = 0; k < s->n; k++) {
        if (s->v[k].adapter == i) ASC_TRY(finish(&p, &s->v[k]));
    }
done:
    asc_json_free(root);
    return st;
}

asc_status asc_lora_read_peft(asc_lora_set *s, size_t i, const asc_lora_base *base) {
    asc_ctx *ctx = s->ctx;
    char path[4200], *text = NULL;
    size_t len = 0;
    asc_map map = {0};
    asc_status st = ASC_OK;
    snprintf(path, sizeof path, "%s/adapter_config.json", s->list[i].path);
    ASC_TRY(asc_file_read(ctx, path, MAX_CONFIG, &text, &len));
    snprintf(path, sizeof path, "%s/adapter_model.safetensors", s->list[i].path);
    ASC_TRY(asc_map_open(ctx, path, &map));
    ASC_TRY(asc_lora_parse_peft(s, i, base, asc_view_make(text, len), map.data, map.size));
done:
    asc_map_close(ctx, &map);
    asc_free(ctx, text);
    return st;
}
