/* tokenize.c - text to tokens: cuts the text at special tokens, encodes what lies between, makes the ranges
 * tile. */
#include "merge_heap.h"
#include "tokenizer.h"

typedef struct job {
    asc_ctx *ctx;
    const asc_tokenizer *tk;
    asc_view text;
    asc_tokenize_options opts;
    asc_merge_scratch scratch;
    asc_token_list list;
    size_t covered; /* bytes [0, covered) lie in the range of some token */
    bool prefix;    /* a space goes before what comes next, unless that is a control token */
} job;

static asc_status check_plain(asc_ctx *ctx, const asc_tokenize_options *o, size_t len) {
    for (size_t i = 0, end = 0; i < o->n_plain; end = o->plain[i++].end) {
        asc_span p = o->plain[i];
        if (p.start < end || p.end < p.start || p.end > len) {
            return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                            "plain span %zu [%zu, %zu) is not in order or leaves the text of %zu bytes", i,
                            p.start, p.end, len);
        }
    }
    return ASC_OK;
}

/* Encodes text[part), which holds no special token. Bytes without a token go to the token before them, at the
 * begin of the part to the one behind. */
static asc_status encode_part(job *j, asc_span part) {
    bool space = j->prefix;
    if (part.start == part.end && !space) return ASC_OK;
    size_t first = j->list.n;
    asc_status st = ASC_OK;
    j->prefix = false;
    if (j->tk->spm) {
        ASC_TRY(asc_spm_encode(j->ctx, j->tk, j->text, part, space, &j->scratch, &j->list));
    } else {
        ASC_TRY(asc_bpe_encode(j->ctx, j->tk, j->text, part, &j->scratch, &j->list));
    }
    if (j->list.n == first) return ASC_OK; /* nothing but such bytes: whoever comes next takes them */
    asc_token *v = j->list.v;
    v[first].start = j->covered;
    for (size_t i = first; i + 1 < j->list.n; i++) v[i].end = v[i + 1].start;
    v[j->list.n - 1].end = j->covered = part.end;
done:
    return st;
}

static asc_status add_special(job *j, int32_t id, size_t end) {
    asc_status st = asc_token_list_add(j->ctx, &j->list, id, j->covered);
    if (st != ASC_OK) return st;
    j->list.v[j->list.n - 1].end = j->covered = end;
    return ASC_OK;
}

/* The next special token at or behind `from`: its id and place, or -1 at the end of the text. */
static int32_t next_special(const job *j, size_t from, size_t *span, size_t *at) {
    const asc_tokenize_options *o = &j->opts;
    for (size_t pos = from; pos < j->text.len; pos++) {
        while (*span < o->n_plain && o->plain[*span].end <= pos) ++*span;
        size_t gap_end =
            *span < o->n_plain ? o->plain[*span].start : j->text.len; /* <= pos: inside a plain span */
        /* SentencePiece's user-defined symbols are ordinary vocabulary, so they hold in plain text, too. */
        size_t user_limit = j->tk->spm ? j->text.len : gap_end;
        int32_t id = asc_special_at(&j->tk->specials, &j->tk->pieces, j->text, pos,
                                    o->parse_special ? gap_end : 0, user_limit);
        if (id >= 0) {
            *at = pos;
            return id;
        }
    }
    *at = j->text.len;
    return -1;
}

static asc_status run(job *j) {
    asc_status st = ASC_OK;
    size_t pos = 0, span = 0, at = 0;
    const asc_tokenizer_info *f = &j->tk->info;
    if (j->opts.add_bos_eos && f->add_bos && f->bos >= 0) ASC_TRY(add_special(j, f->bos, 0));
    j->prefix = f->add_space_prefix && j->text.len > 0 && !j->opts.continues;
    for (;;) {
        int32_t id = next_special(j, pos, &span, &at);
        bool user = id >= 0 && j->tk->pieces.type[id] == ASC_TOKEN_USER_DEFINED;
        if (at > pos || user) ASC_TRY(encode_part(j, (asc_span){pos, at}));
        if (id < 0) break;
        pos = at + asc_pieces_at(&j->tk->pieces, (size_t)id).len;
        ASC_TRY(add_special(j, id, pos));
        /* A user-defined symbol is part of the text (as in SentencePiece); behind a control token a new text
         * begins (as in llama.cpp). */
        if (!user) j->prefix = f->add_space_prefix;
    }
    if (j->list.n > 0) j->list.v[j->list.n - 1].end = j->text.len;
    if (j->opts.add_bos_eos && f->add_eos && f->eos >= 0) {
        j->covered = j->text.len;
        ASC_TRY(add_special(j, f->eos, j->text.len));
    }
done:
    return st;
}

static asc_status tokenize(asc_ctx *ctx, const asc_tokenizer *tk, asc_view text,
                           const asc_tokenize_options *o, asc_token_list *list) {
    job j = {.ctx = ctx, .tk = tk, .text = text, .opts = *o};
    asc_status st = run(&j);
    asc_merge_scratch_deinit(ctx, &j.scratch);
    *list = j.list;
    return st;
}

static asc_status encode(asc_ctx *ctx, const asc_tokenizer *tk, asc_view a, const asc_view *b,
                         const asc_tokenize_options *o, asc_encoding *out) {
    asc_status st = ASC_OK;
    asc_token_list list = {0};
    if (b != NULL) {
        ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "a vocabulary of kind '%s' has no form for a pair of texts",
                 tk->info.model);
        asc_hint(ctx, "a tokenizer.json of an encoder has one");
        return ASC_UNIMPLEMENTED;
    }
    ASC_TRY(tokenize(ctx, tk, a, o, &list));
    ASC_TRY(asc_encoding_alloc(ctx, list.n, 0, out));
    for (size_t i = 0; i < list.n; i++) {
        asc_token t = list.v[i];
        bool added = t.start == t.end && asc_token_get_type(tk, t.id) == ASC_TOKEN_CONTROL;
        out->ids[i] = t.id;
        out->spans[i] = added ? (asc_span){0, 0} : (asc_span){t.start, t.end};
        out->special[i] = added;
        out->sequence[i] = added ? -1 : 0;
        out->names[i] = asc_token_piece(tk, t.id);
    }
done:
    asc_free(ctx, list.v);
    return st;
}

static asc_view name(const asc_tokenizer *tk, int32_t id) { return asc_pieces_at(&tk->pieces, (size_t)id); }
static void destroy(asc_tokenizer *tk) { (void)tk; }

const asc_tokenizer_kind asc_vocab_kind = {tokenize, asc_vocab_decode, encode, name, destroy};

/* Checks what every kind must have checked. */
static asc_status check(asc_ctx *ctx, const asc_tokenizer *tk, asc_view text,
                        const asc_tokenize_options *opts, asc_tokenize_options *out) {
    *out = (asc_tokenize_options){0};
    if (opts != NULL) {
        size_t known = opts->struct_size < sizeof *opts ? opts->struct_size : sizeof *opts;
        memcpy(out, opts, known);
    }
    if (tk->no_text != NULL && text.len > 0) {
        ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "texts cannot be read: %s", tk->no_text);
        return asc_hint(ctx, "give token ids instead of a text (--ids), or add the model's tokenizer.json");
    }
    if (text.len > ASC_TOK_MAX_TEXT) {
        return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "the text has %zu bytes, more than %d", text.len,
                        ASC_TOK_MAX_TEXT);
    }
    return check_plain(ctx, out, text.len);
}

asc_status asc_tokenize(asc_ctx *ctx, const asc_tokenizer *tk, asc_view text,
                        const asc_tokenize_options *opts, asc_token **out, size_t *out_n) {
    asc_status st = ASC_OK;
    asc_tokenize_options o;
    asc_token_list list = {0};
    *out = NULL;
    *out_n = 0;
    ASC_TRY(check(ctx, tk, text, opts, &o));
    ASC_TRY(tk->kind->tokenize(ctx, tk, text, &o, &list));
    *out = list.v;
    *out_n = list.n;
    list.v = NULL;
done:
    asc_free(ctx, list.v);
    return st;
}

asc_status asc_encode(asc_ctx *ctx, const asc_tokenizer *tk, asc_view a, const asc_view *b,
                      const asc_tokenize_options *opts, asc_encoding *out) {
    asc_status st = ASC_OK;
    asc_tokenize_options o;
    *out = (asc_encoding){0};
    if (b != NULL) ASC_TRY(check(ctx, tk, *b, opts, &o));
    ASC_TRY(check(ctx, tk, a, opts, &o));
    if (b != NULL && o.n_plain > 0)
        ASC_TRY(ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "plain spans are for single texts, not for a pair"));
    st = tk->kind->encode(ctx, tk, a, b, &o, out);
    if (st != ASC_OK) asc_encoding_free(ctx, out);
done:
    return st;
}

asc_status asc_encoding_alloc(asc_ctx *ctx, size_t n, size_t text_bytes, asc_encoding *e) {
    *e = (asc_encoding){.n = n};
    e->ids = asc_calloc(ctx, ASC_MEM_TOKENIZER, n + 1, sizeof *e->ids);
    e->spans = asc_calloc(ctx, ASC_MEM_TOKENIZER, n + 1, sizeof *e->spans);
    e->special = asc_calloc(ctx, ASC_MEM_TOKENIZER, n + 1, sizeof *e->special);
    e->type_ids = asc_calloc(ctx, ASC_MEM_TOKENIZER, n + 1, sizeof *e->type_ids);
    e->sequence = asc_calloc(ctx, ASC_MEM_TOKENIZER, n + 1, sizeof *e->sequence);
    e->names = asc_calloc(ctx, ASC_MEM_TOKENIZER, n + 1, sizeof *e->names);
    e->text = asc_calloc(ctx, ASC_MEM_TOKENIZER, text_bytes + 1, 1);
    bool ok = e->ids != NULL && e->spans != NULL && e->special != NULL && e->type_ids != NULL &&
              e->sequence != NULL && e->names != NULL && e->text != NULL;
    if (ok) return ASC_OK;
    asc_encoding_free(ctx, e);
    return ASC_RESOURCE_EXHAUSTED;
}

void asc_encoding_free(asc_ctx *ctx, asc_encoding *e) {
    asc_free(ctx, e->ids);
    asc_free(ctx, e->spans);
    asc_free(ctx, e->special);
    asc_free(ctx, e->type_ids);
    asc_free(ctx, e->sequence);
    asc_free(ctx, e->names);
    asc_free(ctx, e->text);
    *e = (asc_encoding){0};
}

void asc_tokens_free(asc_ctx *ctx, void *tokens_or_text) { asc_free(ctx, tokens_or_text); }
