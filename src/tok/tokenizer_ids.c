/* tokenizer_ids.c - see tokenizer_ids.h. */
#include "tokenizer_ids.h"
#include "tokenizer.h"
#include <stdio.h>

static asc_view name_of(void *self, size_t i) {
    char *text = self;
    return asc_view_make(text, (size_t)snprintf(text, 24, "<%zu>", i));
}

static float no_score(void *self, size_t i) {
    (void)self;
    (void)i;
    return 0.0f;
}

asc_status asc_tokenizer_of_ids(asc_ctx *ctx, size_t n, const char *why, asc_tokenizer **out) {
    char text[24];
    asc_vocab_spec spec = asc_vocab_spec_empty();
    spec.model = asc_view_of("llama");
    spec.self = text;
    spec.n_tokens = spec.n_scores = n;
    spec.token = name_of;
    spec.score = no_score;
    spec.add_bos = spec.add_eos = spec.add_space_prefix = 0;
    asc_status st = asc_tokenizer_create(ctx, &spec, out);
    if (st != ASC_OK) return st;
    (*out)->info.model = "ids";
    (*out)->no_text = why;
    return st;
}

static void set(const asc_tokenizer *tk, int32_t *to, int64_t id) {
    if (id >= 0 && (uint64_t)id < tk->info.n_vocab) *to = (int32_t)id;
}

void asc_tokenizer_set_bos(asc_tokenizer *tk, int64_t id) { set(tk, &tk->info.bos, id); }
void asc_tokenizer_set_eos(asc_tokenizer *tk, int64_t id) { set(tk, &tk->info.eos, id); }
void asc_tokenizer_set_eot(asc_tokenizer *tk, int64_t id) { set(tk, &tk->info.eot, id); }
void asc_tokenizer_set_pad(asc_tokenizer *tk, int64_t id) { set(tk, &tk->info.pad, id); }
