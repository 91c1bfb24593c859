/* hf_text.c - see hf_text.h. */
#include "hf_text.h"
#include "alloc.h"
#include "tokenizer_ids.h"
#include "tokenizer_json.h"
#include "view.h"

/* The text of bos_token and its like: a string, or an object with `content`. */
static asc_view token_text(const asc_json *obj, const char *key) {
    const asc_json *v = asc_json_get(obj, key);
    return asc_json_str(asc_json_typeof(v) == ASC_JSON_OBJECT ? asc_json_get(v, "content") : v);
}

/* An id, or the first of a list of them; -1 when there is none. */
static int64_t token_id(const asc_json *obj, const char *key) {
    const asc_json *v = asc_json_get(obj, key);
    if (asc_json_typeof(v) == ASC_JSON_ARRAY) v = asc_json_at(v, 0);
    double d = asc_json_num(v, -1.0);
    return d >= 0.0 && d < 1e9 ? (int64_t)d : -1;
}

/* The id of a role: by name in the tokenizer's files first, then by number in the model's. */
static int64_t role(const asc_model *m, const asc_json *const by_name[2], const asc_json *const by_id[2],
                    const char *name, const char *id) {
    for (size_t i = 0; i < 2; i++) {
        asc_view text = token_text(by_name[i], name);
        int32_t found = text.len > 0 ? asc_token_find(m->tokenizer, text) : -1;
        if (found >= 0) return found;
    }
    int64_t n = token_id(by_id[0], id);
    return n >= 0 ? n : token_id(by_id[1], id);
}

/* Names of the tokens that end a turn, for files that do not say which it is. */
static int64_t end_of_turn(const asc_model *m) {
    static const char *const names[] = {"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>",
                                        "<|endoftext|>"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int32_t id = asc_token_find(m->tokenizer, asc_view_of(names[i]));
        if (id >= 0) return id;
    }
    return -1;
}

asc_status asc_hf_read_tokenizer(asc_model *m, const asc_hf_folder *f, int64_t n_vocab) {
    asc_status st = ASC_OK;
    asc_json *config = NULL, *map = NULL, *generation = NULL;
    char *text = NULL;
    size_t len = 0;
    ASC_TRY(asc_hf_json(f, "tokenizer_config.json", &config));
    ASC_TRY(asc_hf_json(f, "special_tokens_map.json", &map));
    ASC_TRY(asc_hf_json(f, "generation_config.json", &generation));
    ASC_TRY(asc_hf_text(f, "tokenizer.json", ASC_TOKENIZER_JSON_MAX, &text, &len));
    if (text != NULL) {
        ASC_TRY(asc_tokenizer_from_json(m->ctx, asc_view_make(text, len), "tokenizer.json", &m->tokenizer));
        ASC_TRY(asc_tokenizer_json_rows(m->ctx, m->tokenizer, (size_t)n_vocab));
    } else {
        ASC_TRY(asc_tokenizer_of_ids(m->ctx, (size_t)n_vocab, "the model's folder has no tokenizer.json",
                                     &m->tokenizer));
    }
    const asc_json *const by_name[2] = {config, map}, *const by_id[2] = {generation, f->config};
    asc_tokenizer_set_bos(m->tokenizer, role(m, by_name, by_id, "bos_token", "bos_token_id"));
    asc_tokenizer_set_eos(m->tokenizer, role(m, by_name, by_id, "eos_token", "eos_token_id"));
    asc_tokenizer_set_pad(m->tokenizer, role(m, by_name, by_id, "pad_token", "pad_token_id"));
    asc_tokenizer_set_eot(m->tokenizer, end_of_turn(m));
done:
    asc_free(m->ctx, text);
    asc_json_free(config);
    asc_json_free(map);
    asc_json_free(generation);
    return st;
}

/* A template as a text, or the one called "default" of a list. */
static asc_view template_of(const asc_json *v) {
    for (size_t i = 0; i < asc_json_len(v); i++) {
        const asc_json *e = asc_json_at(v, i);
        if (asc_view_eqs(asc_json_str(asc_json_get(e, "name")), "default"))
            return asc_json_str(asc_json_get(e, "template"));
    }
    return asc_json_str(v);
}

asc_status asc_hf_read_template(asc_model *m, const asc_hf_folder *f) {
    size_t len;
    asc_json *config;
    asc_status st = asc_hf_text(f, "chat_template.jinja", ASC_HF_MAX_CONFIG, &m->owned_template, &len);
    if (st != ASC_OK) return st;
    if (m->owned_template != NULL) {
        m->chat_template = asc_view_make(m->owned_template, len);
        return ASC_OK;
    }
    st = asc_hf_json(f, "tokenizer_config.json", &config);
    asc_view text = st == ASC_OK ? template_of(asc_json_get(config, "chat_template")) : asc_view_of(NULL);
    if (text.ptr != NULL) {
        m->owned_template = asc_strdup_view(m->ctx, ASC_MEM_GENERAL, text);
        if (m->owned_template == NULL) st = ASC_RESOURCE_EXHAUSTED;
        if (st == ASC_OK) m->chat_template = asc_view_make(m->owned_template, text.len);
    }
    asc_json_free(config);
    return st;
}
