/* hf_config_layers.c - what differs from layer to layer: windows, rotary embedding or none, experts. */
#include "hf_family.h"
#include "view.h"
#include <stdio.h>

/* attention_types: [[["global", "local"], 12], ...], names that are repeated (GPT-Neo). */
static asc_status expand_types(asc_hf_reading *r, bool *out) {
    const asc_json *list = asc_hf_key(&r->k, "attention_types");
    int64_t n = 0;
    bool ok = asc_json_typeof(list) == ASC_JSON_ARRAY;
    for (size_t i = 0; ok && i < asc_json_len(list); i++) {
        const asc_json *names = asc_json_at(asc_json_at(list, i), 0);
        const int64_t times = asc_json_int(asc_json_at(asc_json_at(list, i), 1), -1);
        const size_t each = asc_json_len(names);
        ok = asc_json_typeof(names) == ASC_JSON_ARRAY && each > 0 && times >= 0 && times <= r->c->n_layers;
        for (size_t k = 0; ok && k < (size_t)times * each; k++) {
            const asc_view v = asc_json_str(asc_json_at(names, k % each));
            const bool local = asc_view_eqs(v, r->f.local_word);
            ok = n < r->c->n_layers && (local || asc_view_eqs(v, r->f.full_word));
            if (ok) out[n++] = local;
        }
    }
    if (ok && n == r->c->n_layers) return ASC_OK;
    return asc_hf_invalid(&r->k, "attention_types",
                          "pairs of a list of names and how often it is repeated, in all one name a layer");
}

/* layer_types: 1 = sliding_attention, 0 = full_attention, into out[n_layers]. *given: the key is there. */
static asc_status read_types(asc_hf_reading *r, bool *out, bool *given) {
    const asc_hf_family *f = &r->f;
    const asc_json *list = asc_hf_key(&r->k, f->types_key);
    *given = list != NULL;
    if (list == NULL && f->types_needed && asc_hf_key(&r->k, "attention_types") != NULL) {
        *given = true;
        return expand_types(r, out);
    }
    if (list == NULL && !f->types_needed) return ASC_OK;
    if (asc_json_typeof(list) != ASC_JSON_ARRAY || (int64_t)asc_json_len(list) != r->c->n_layers) {
        char want[96];
        snprintf(want, sizeof want, "a list with one name for each of %s",
                 asc_hf_key_name(f, "num_hidden_layers"));
        return asc_hf_invalid(&r->k, f->types_key, want);
    }
    for (size_t i = 0; i < asc_json_len(list); i++) {
        asc_view v = asc_json_str(asc_json_at(list, i)), cut = asc_view_cut(v, 60);
        out[i] = asc_view_eqs(v, f->local_word);
        if (out[i] || asc_view_eqs(v, f->full_word)) continue;
        ASC_FAIL(r->k.ctx, ASC_UNIMPLEMENTED, "'%s': %s[%zu] is \"" ASC_VIEW_FMT "\", which is not supported",
                 r->k.file, f->types_key, i, ASC_VIEW_ARG(cut));
        return asc_hint(r->k.ctx, "supported: %s, %s", f->full_word, f->local_word);
    }
    return ASC_OK;
}

/* A key that lists layers by number or by flag. */
static asc_status list_of(asc_hf_reading *r, const char *key, bool per_layer, const asc_json **out) {
    *out = asc_hf_key(&r->k, key);
    if (*out == NULL) return ASC_OK;
    bool ok = asc_json_typeof(*out) == ASC_JSON_ARRAY &&
              (!per_layer || asc_json_len(*out) == 0 || (int64_t)asc_json_len(*out) == r->c->n_layers);
    for (size_t i = 0; ok && i < asc_json_len(*out); i++) {
        const asc_json *v = asc_json_at(*out, i);
        ok = asc_json_typeof(v) == ASC_JSON_INT || asc_json_typeof(v) == ASC_JSON_BOOL;
    }
    return ok ? ASC_OK
              : asc_hf_invalid(&r->k, key,
                               per_layer ? "a list with 0 or 1 for each layer" : "a list of layers");
}

static bool truth(const asc_json *v) { return asc_json_bool(v, false) || asc_json_int(v, 0) != 0; }

static asc_status read_ropes_of_layers(asc_hf_reading *r, const bool *sliding) {
    asc_status st = ASC_OK;
    asc_decoder_config *c = r->c;
    const asc_json *list = NULL;
    int64_t interval = 4;
    /* null and absent differ: an absent key is the default's window */
    const bool unbound =
        asc_json_get(r->k.obj, r->f.window_key) != NULL && asc_hf_key(&r->k, r->f.window_key) == NULL;
    if (r->f.rope_layers == ASC_HF_ROPE_LISTED) {
        ASC_TRY(list_of(r, "no_rope_layers", true, &list));
        if (asc_json_len(list) == 0) list = NULL;
        ASC_TRY(asc_hf_count(&r->k, "no_rope_layer_interval", 4, 1 << 20, &interval));
    }
    for (int64_t l = 0; l < c->n_layers; l++) {
        switch (r->f.rope_layers) {
        case ASC_HF_ROPE_TWO:
            c->plan[l].rope = sliding[l] ? 1 : 0;
            break;
        case ASC_HF_ROPE_LOCAL:
        case ASC_HF_ROPE_WINDOW:
            if (r->f.rope_layers == ASC_HF_ROPE_LOCAL && unbound) break;
            c->plan[l].rope = sliding[l] ? 0 : ASC_ROPE_OFF;
            break;
        case ASC_HF_ROPE_LISTED:
            c->plan[l].rope = (list != NULL ? truth(asc_json_at(list, (size_t)l)) : (l + 1) % interval != 0)
                                  ? 0
                                  : ASC_ROPE_OFF;
            break;
        case ASC_HF_ROPE_NEVER:
            c->plan[l].rope = ASC_ROPE_OFF;
            break;
        case ASC_HF_ROPE_ALL:
            break;
        }
    }
done:
    return st;
}

/* Fills sliding[n_layers]: whether the layer has a window. NoPE layers are known already. */
static asc_status read_windows(asc_hf_reading *r, bool *sliding) {
    asc_status st = ASC_OK;
    asc_decoder_config *c = r->c;
    const asc_hf_family *f = &r->f;
    int64_t window = 0, first = 28, pattern = f->pattern;
    bool on = true, given = false;
    if (f->windows == ASC_HF_WINDOW_NONE) return ASC_OK;
    if (f->windows == ASC_HF_WINDOW_QWEN || f->windows == ASC_HF_WINDOW_SWITCH ||
        f->windows == ASC_HF_WINDOW_NOPE)
        ASC_TRY(asc_hf_flag(&r->k, "use_sliding_window", false, &on));
    if (f->windows == ASC_HF_WINDOW_QWEN || f->windows == ASC_HF_WINDOW_TYPES ||
        f->windows == ASC_HF_WINDOW_NOPE)
        ASC_TRY(read_types(r, sliding, &given));
    if (on) {
        bool absent = asc_json_get(r->k.obj, f->window_key) == NULL && f->window > 0;
        ASC_TRY(asc_hf_count(&r->k, f->window_key, absent ? f->window : -1, (int64_t)1 << 40, &window));
    }
    if (f->windows == ASC_HF_WINDOW_QWEN && on && asc_hf_key(&r->k, "max_window_layers") != NULL) {
        double layers; /* 0 is a number of layers too */
        ASC_TRY(asc_hf_number(&r->k, "max_window_layers", 28.0, 0.0, 1e6, &layers));
        first = (int64_t)layers;
    }
    if (f->windows == ASC_HF_WINDOW_TYPES && f->pattern > 0 && !f->pattern_fixed && !given)
        ASC_TRY(asc_hf_count(&r->k, "sliding_window_pattern", f->pattern, 1 << 20, &pattern));
    for (int64_t l = 0; l < c->n_layers; l++) {
        if (!given) {
            sliding[l] = f->windows == ASC_HF_WINDOW_TYPES  ? pattern == 0 || (l + 1) % pattern != 0
                         : f->windows == ASC_HF_WINDOW_QWEN ? window > 0 && l >= first
                         : f->windows == ASC_HF_WINDOW_NOPE ? window > 0 && c->plan[l].rope == ASC_ROPE_OFF
                                                            : true;
        }
        if (sliding[l] && on && window == 0 && given)
            return asc_hf_invalid(&r->k, f->window_key, "a number, since some layers have windows");
        c->plan[l].window = sliding[l] && window <= c->context ? window : 0;
    }
done:
    return st;
}

/* Layers that see their own chunk only: as layer_types says, else those that turn. */
static asc_status read_chunks(asc_hf_reading *r, bool *chunked) {
    asc_decoder_config *c = r->c;
    const char *key = r->f.chunk_key;
    int64_t chunk = 0;
    bool given = false;
    if (key == NULL) return ASC_OK;
    const bool absent = asc_json_get(r->k.obj, key) == NULL;
    r->f.local_word = "chunked_attention";
    asc_status st = read_types(r, chunked, &given);
    if (st == ASC_OK) st = asc_hf_count(&r->k, key, absent ? r->f.chunk : -1, (int64_t)1 << 40, &chunk);
    for (int64_t l = 0; st == ASC_OK && l < c->n_layers; l++) {
        if (given && chunked[l] && chunk == 0)
            return asc_hf_invalid(&r->k, key, "a number, since some layers have chunks");
        const bool on = given ? chunked[l] : c->plan[l].rope != ASC_ROPE_OFF;
        c->plan[l].chunk = on && chunk < c->context ? chunk : 0;
    }
    return st;
}

static asc_status read_moe(asc_hf_reading *r) {
    asc_status st = ASC_OK;
    asc_decoder_config *c = r->c;
    const asc_json *dense, *sparse = NULL;
    int64_t step = 1;
    if (c->n_experts == 0) return ASC_OK;
    ASC_TRY(asc_hf_count(&r->k, r->f.moe_step_key, 1, 1 << 20, &step));
    if (r->f.moe_list_key != NULL) ASC_TRY(list_of(r, r->f.moe_list_key, false, &sparse));
    ASC_TRY(list_of(r, "mlp_only_layers", false, &dense));
    for (int64_t l = 0; l < c->n_layers; l++) c->plan[l].moe = sparse == NULL && (l + 1) % step == 0;
    for (size_t i = 0; i < asc_json_len(sparse); i++) {
        int64_t l = asc_json_int(asc_json_at(sparse, i), -1);
        if (l >= 0 && l < c->n_layers) c->plan[l].moe = true;
    }
    const int64_t end = r->moe_end > 0 ? r->moe_end : c->n_layers;
    for (int64_t l = 0; l < c->n_layers; l++) {
        if (l < r->moe_first || l >= end) c->plan[l].moe = false;
    }
    for (size_t i = 0; i < asc_json_len(dense); i++) {
        int64_t l = asc_json_int(asc_json_at(dense, i), -1);
        if (l >= 0 && l < c->n_layers) c->plan[l].moe = false;
    }
done:
    return st;
}

asc_status asc_hf_read_layers(asc_hf_reading *r) {
    asc_status st = ASC_OK;
    asc_decoder_config *c = r->c;
    c->plan = asc_calloc(r->k.ctx, ASC_MEM_WEIGHTS, (size_t)c->n_layers, sizeof *c->plan);
    bool *sliding = asc_calloc(r->k.ctx, ASC_MEM_GENERAL, (size_t)c->n_layers, sizeof *sliding);
    if (c->plan == NULL || sliding == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    if (r->f.rope_layers == ASC_HF_ROPE_LISTED) ASC_TRY(read_ropes_of_layers(r, sliding));
    ASC_TRY(read_windows(r, sliding));
    ASC_TRY(read_chunks(r, sliding));
    if (r->f.rope_layers != ASC_HF_ROPE_LISTED) ASC_TRY(read_ropes_of_layers(r, sliding));
    ASC_TRY(read_moe(r));
done:
    asc_free(r->k.ctx, sliding);
    return st;
}
