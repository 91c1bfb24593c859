/* encoder_tokens.c - texts to the tokens that an encoder reads: framed by its special tokens, two texts with
 * a separator between them, as the folder's tokenizer.json says. */
#include "encoder.h"
#include "model.h"
#include "view.h"

/* Ranges that tile each text, as asc_tokenize gives them: what the tokenizer drops (blanks) belongs to the
 * token behind it. */
static void tile(const asc_encoding *e, size_t shift, asc_token *out) {
    size_t end[2] = {0, shift}, at = 0;
    for (size_t i = 0; i < e->n; i++) {
        int s = e->sequence[i];
        if (s < 0 || e->special[i]) {
            out[i] = (asc_token){.id = e->ids[i], .start = at, .end = at};
            continue;
        }
        size_t to = e->spans[i].end + (s > 0 ? shift : 0);
        out[i] = (asc_token){.id = e->ids[i], .start = end[s > 0], .end = to > end[s > 0] ? to : end[s > 0]};
        at = end[s > 0] = out[i].end;
    }
}

void asc_encoder_text_free(asc_ctx *ctx, asc_encoder_text *t) {
    asc_free(ctx, t->tokens);
    asc_free(ctx, t->types);
    asc_free(ctx, t->special);
    *t = (asc_encoder_text){0};
}

asc_status asc_encoder_tokens(asc_model *m, asc_view text, asc_view second, size_t shift,
                              asc_encoder_text *out) {
    asc_ctx *ctx = m->ctx;
    const asc_encoder_config *c = &m->encoder->cfg;
    asc_encoding e = {0};
    asc_status st = ASC_OK;
    asc_tokenize_options o = {.struct_size = sizeof o, .parse_special = true, .add_bos_eos = true};
    *out = (asc_encoder_text){0};
    ASC_TRY(asc_encode(ctx, m->tokenizer, text, second.ptr != NULL ? &second : NULL, &o, &e));
    out->tokens = asc_calloc(ctx, ASC_MEM_TOKENIZER, e.n + 1, sizeof *out->tokens);
    out->types = asc_calloc(ctx, ASC_MEM_TOKENIZER, e.n + 1, sizeof *out->types);
    out->special = asc_calloc(ctx, ASC_MEM_TOKENIZER, e.n + 1, sizeof *out->special);
    if (out->tokens == NULL || out->types == NULL || out->special == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    out->n = e.n;
    tile(&e, shift, out->tokens);
    for (size_t i = 0; i < e.n; i++) {
        out->special[i] = e.special[i] != 0;
        out->types[i] = e.type_ids[i] > 0 && e.type_ids[i] < c->n_types ? e.type_ids[i] : 0;
    }
done:
    asc_encoding_free(ctx, &e);
    if (st != ASC_OK) asc_encoder_text_free(ctx, out);
    return st;
}

static int32_t find(const asc_model *m, const char *a, const char *b) {
    int32_t id = asc_token_find(m->tokenizer, asc_view_of(a));
    return id >= 0 ? id : asc_token_find(m->tokenizer, asc_view_of(b));
}

/* The tokenizer's names go before the config's numbers, which are often left over from elsewhere. */
void asc_encoder_special_tokens(asc_model *m) {
    asc_encoder_config *c = &m->encoder->cfg;
    if (m->tokenizer == NULL) return;
    const int32_t cls = find(m, "[CLS]", "<s>"), sep = find(m, "[SEP]", "</s>"),
                  mask = find(m, "[MASK]", "<mask>"), pad = find(m, "[PAD]", "<pad>");
    if (cls >= 0 && cls < c->n_vocab) c->cls = cls;
    if (sep >= 0 && sep < c->n_vocab) c->sep = sep;
    if (mask >= 0 && mask < c->n_vocab) c->mask = mask;
    if (pad >= 0 && pad < c->n_vocab) c->pad = pad;
}
