/* encoder_tokens.c - texts to the tokens that an encoder reads: framed by its special tokens, two texts with
 * a separator between them. */
#include "encoder.h"
#include "model.h"
#include "view.h"

/* Puts tokens of the second text and a separator behind those of the first. */
static asc_status append(asc_model *m, asc_token **first, size_t *n, const asc_token *second, size_t n_second,
                         size_t shift) {
    const asc_encoder_config *c = &m->encoder->cfg;
    size_t extra = c->pair_seps, total = *n + n_second + extra, at = *n;
    asc_token *all = asc_calloc(m->ctx, ASC_MEM_TOKENIZER, total + 1, sizeof *all);
    if (all == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < *n; i++) all[i] = (*first)[i];
    size_t border = at > 0 ? all[at - 1].end : 0, end = border;
    for (size_t k = 0; k + 1 < extra; k++)
        all[at++] = (asc_token){.id = c->sep, .start = border, .end = border};
    for (size_t i = 0; i < n_second; i++) {
        all[at] = second[i];
        all[at].start += shift;
        all[at].end += shift;
        end = all[at++].end;
    }
    all[at++] = (asc_token){.id = c->sep, .start = end, .end = end};
    asc_tokens_free(m->ctx, *first);
    *first = all;
    *n = at;
    return ASC_OK;
}

asc_status asc_encoder_tokens(asc_model *m, asc_view text, asc_view second, size_t shift, asc_token **out,
                              size_t *n, size_t *n_separators) {
    asc_ctx *ctx = m->ctx;
    asc_status st = ASC_OK;
    const asc_encoder_config *c = &m->encoder->cfg;
    asc_token *more = NULL;
    size_t n_more = 0;
    *out = NULL;
    *n = *n_separators = 0;
    asc_tokenize_options o = {.struct_size = sizeof o, .parse_special = true, .add_bos_eos = true};
    ASC_TRY(asc_tokenize(ctx, m->tokenizer, text, &o, out, n));
    if (second.ptr == NULL) goto done;
    if (c->sep < 0) {
        ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "'%s': two texts, but the tokenizer has no separator", m->path);
        st = asc_hint(ctx, "leave the second text out");
        goto done;
    }
    o.add_bos_eos = false;
    ASC_TRY(asc_tokenize(ctx, m->tokenizer, second, &o, &more, &n_more));
    for (size_t i = 0; i < *n; i++) *n_separators += (*out)[i].id == c->sep;
    ASC_TRY(append(m, out, n, more, n_more, shift));
done:
    asc_tokens_free(ctx, more);
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
