/* vocab.c - builds a tokenizer from a spec: checks every count and id, decodes the pieces, fills the tables.
 */
#include "byte_alphabet.h"
#include "tokenizer.h"
#include <math.h>

asc_vocab_spec asc_vocab_spec_empty(void) {
    return (asc_vocab_spec){.bos = -1,
                            .eos = -1,
                            .eot = -1,
                            .pad = -1,
                            .unk = -1,
                            .add_bos = -1,
                            .add_eos = -1,
                            .add_space_prefix = -1,
                            .ignore_merges = -1};
}

static asc_status choose_kind(asc_ctx *ctx, asc_tokenizer *tk, const asc_vocab_spec *spec) {
    asc_view model = asc_view_cut(spec->model, 64), pre = asc_view_cut(spec->pre, 64);
    if (spec->model.ptr == NULL) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                 "tokenizer.ggml.model is missing, so text cannot be turned into tokens");
        asc_hint(ctx, "convert the model again with its tokenizer");
        return ASC_INVALID_ARGUMENT;
    }
    tk->spm = asc_view_eqs(spec->model, "llama");
    if (!tk->spm && !asc_view_eqs(spec->model, "gpt2")) {
        ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "tokenizer.ggml.model is '" ASC_VIEW_FMT "', which is not supported",
                 ASC_VIEW_ARG(model));
        asc_hint(ctx, "supported are gpt2, llama, bert, t5 and gemma4");
        return ASC_UNIMPLEMENTED;
    }
    tk->info.model = tk->spm ? "llama" : "gpt2";
    tk->pre_name = asc_strdup_view(ctx, ASC_MEM_TOKENIZER, spec->pre);
    if (tk->pre_name == NULL) return ASC_RESOURCE_EXHAUSTED;
    tk->info.pre = tk->pre_name;
    if (tk->spm) return ASC_OK; /* it has no pre-tokenizer; converters write "default" */
    tk->pre = asc_pretok_find(spec->pre);
    if (tk->pre == NULL) {
        ASC_FAIL(ctx, ASC_UNIMPLEMENTED,
                 "tokenizer.ggml.pre is '" ASC_VIEW_FMT "', a pre-tokenizer that is not known",
                 ASC_VIEW_ARG(pre));
        asc_hint(ctx, "known are %s", asc_pretok_names);
        return ASC_UNIMPLEMENTED;
    }
    if (spec->pre.ptr == NULL) {
        asc_logf(ctx, ASC_LOG_WARN, "tokenizer.ggml.pre is missing: words are split as GPT-2 does");
    }
    return ASC_OK;
}

static asc_status check_counts(asc_ctx *ctx, const asc_tokenizer *tk, const asc_vocab_spec *s) {
    if (s->n_tokens == 0) {
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "tokenizer.ggml.tokens is missing or empty");
    }
    if (s->n_tokens > ASC_TOK_MAX_TOKENS) {
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "tokenizer.ggml.tokens has %zu entries, more than %d",
                        s->n_tokens, ASC_TOK_MAX_TOKENS);
    }
    if (s->n_types != 0 && s->n_types != s->n_tokens) {
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "tokenizer.ggml.token_type has %zu entries for %zu tokens",
                        s->n_types, s->n_tokens);
    }
    if (tk->spm && s->n_scores == 0) {
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                        "tokenizer.ggml.scores is missing, which model 'llama' needs");
    }
    if (tk->spm && s->n_scores != s->n_tokens) {
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "tokenizer.ggml.scores has %zu entries for %zu tokens",
                        s->n_scores, s->n_tokens);
    }
    if (!tk->spm && !s->has_merges) {
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                        "tokenizer.ggml.merges is missing, which model 'gpt2' needs");
    }
    if (!tk->spm && s->n_scores != 0 && s->n_scores != s->n_tokens)
        asc_logf(ctx, ASC_LOG_WARN, "tokenizer.ggml.scores has %zu entries for %zu tokens; it is not used",
                 s->n_scores, s->n_tokens);
    if (s->n_merges > ASC_TOK_MAX_MERGES) {
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "tokenizer.ggml.merges has %zu entries, more than %d",
                        s->n_merges, ASC_TOK_MAX_MERGES);
    }
    return ASC_OK;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "<0x0A>" -> 10, else -1. */
static int byte_of_name(asc_view t) {
    if (t.len != 6 || memcmp(t.ptr, "<0x", 3) != 0 || t.ptr[5] != '>') return -1;
    int hi = hex_digit(t.ptr[3]), lo = hex_digit(t.ptr[4]);
    return hi < 0 || lo < 0 ? -1 : hi * 16 + lo;
}

/* Replaces U+2581 by a space; out has room for t.len. */
static size_t plain_spaces(asc_view t, char *out) {
    size_t n = 0;
    for (size_t i = 0; i < t.len; i++) {
        if (t.len - i >= 3 && memcmp(t.ptr + i, "\xE2\x96\x81", 3) == 0) {
            out[n++] = ' ';
            i += 2;
        } else {
            out[n++] = t.ptr[i];
        }
    }
    return n;
}

/* Tokens that no text can become, or two ids of one text: the first of each kind is named. */
typedef struct odd_tokens {
    size_t empty, not_utf8; /* how many */
    size_t first_empty, first_not_utf8;
} odd_tokens;

static void look_at(odd_tokens *odd, size_t i, asc_view t) {
    if (t.len == 0 && odd->empty++ == 0) odd->first_empty = i;
    if (asc_utf8_check(t) != t.len && odd->not_utf8++ == 0) odd->first_not_utf8 = i;
}

static void warn_of(asc_ctx *ctx, const asc_pieces *p, const odd_tokens *odd) {
    if (odd->empty > 0)
        asc_logf(ctx, ASC_LOG_WARN, "tokenizer.ggml.tokens: %zu of %zu are empty, the first is number %zu",
                 odd->empty, p->n, odd->first_empty);
    if (odd->not_utf8 > 0)
        asc_logf(ctx, ASC_LOG_WARN,
                 "tokenizer.ggml.tokens: %zu of %zu are not UTF-8, the first is number %zu", odd->not_utf8,
                 p->n, odd->first_not_utf8);
    if (p->twin > 0) {
        asc_view t = asc_view_cut(asc_pieces_at(p, (size_t)p->twin), 64);
        asc_logf(ctx, ASC_LOG_WARN,
                 "tokenizer.ggml.tokens: numbers %d and %d have the same text, '" ASC_VIEW_FMT "'",
                 p->twin_of, p->twin, ASC_VIEW_ARG(t));
    }
}

/* Decodes token i into the piece list. The names of control and user-defined tokens are text already. */
static asc_status add_piece(asc_ctx *ctx, asc_tokenizer *tk, const asc_byte_alphabet *alphabet, asc_view t,
                            asc_token_type type) {
    size_t i = tk->pieces.n, len = t.len;
    bool listed = true;
    if (t.len > ASC_TOK_MAX_PIECE) {
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "tokenizer.ggml.tokens[%zu] has %zu bytes, more than %d",
                        i, t.len, ASC_TOK_MAX_PIECE);
    }
    asc_status st = asc_pieces_reserve(ctx, &tk->pieces, t.len + 1);
    if (st != ASC_OK) return st;
    char *out = tk->pieces.bytes + tk->pieces.bytes_len;
    if (t.len > 0) memcpy(out, t.ptr, t.len);
    if (type == ASC_TOKEN_BYTE) {
        int b = byte_of_name(t);
        if (b < 0) {
            return ASC_FAIL(
                ctx, ASC_INVALID_ARGUMENT,
                "tokenizer.ggml.tokens[%zu] is a byte token by its type but not named like <0x0A>", i);
        }
        *out = (char)b;
        len = 1;
        listed = false;
        if (tk->byte_id[b] < 0) tk->byte_id[b] = (int32_t)i;
    } else if (tk->spm && (type == ASC_TOKEN_NORMAL || type == ASC_TOKEN_UNUSED)) {
        len = plain_spaces(t, out);
    } else if (!tk->spm && type == ASC_TOKEN_NORMAL && !asc_byte_alphabet_decode(alphabet, t, out, &len)) {
        memcpy(out, t.ptr,
               t.len); /* not in the alphabet: no text can become this token, but it can be printed */
        len = t.len;
        listed = false;
    }
    asc_pieces_push(&tk->pieces, len, type, listed);
    return ASC_OK;
}

static asc_status load_pieces(asc_ctx *ctx, asc_tokenizer *tk, const asc_byte_alphabet *alphabet,
                              const asc_vocab_spec *spec) {
    asc_status st = ASC_OK;
    odd_tokens odd = {0};
    ASC_TRY(asc_pieces_init(ctx, &tk->pieces, spec->n_tokens));
    for (size_t b = 0; b < 256; b++) tk->byte_id[b] = -1;
    for (size_t i = 0; i < spec->n_tokens; i++) {
        int32_t type = spec->n_types > 0 ? spec->type(spec->self, i) : ASC_TOKEN_NORMAL;
        if (type == 0) type = ASC_TOKEN_NORMAL; /* "undefined" */
        if (type < ASC_TOKEN_NORMAL || type > ASC_TOKEN_BYTE) {
            ASC_TRY(ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                             "tokenizer.ggml.token_type[%zu] is %d; types are 1 to 6", i, (int)type));
        }
        asc_view t = spec->token(spec->self, i);
        look_at(&odd, i, t);
        ASC_TRY(add_piece(ctx, tk, alphabet, t, (asc_token_type)type));
    }
    warn_of(ctx, &tk->pieces, &odd);
    if (!tk->spm) {
        for (unsigned b = 0; b < 256; b++) {
            char c = (char)b;
            if (tk->byte_id[b] < 0)
                tk->byte_id[b] = asc_pieces_find(&tk->pieces, (asc_view){&c, 1}, ASC_PIECES_PLAIN);
        }
    }
done:
    return st;
}

static asc_status load_scores(asc_ctx *ctx, asc_tokenizer *tk, const asc_vocab_spec *spec) {
    tk->scores = asc_alloc(ctx, ASC_MEM_TOKENIZER, spec->n_tokens * sizeof *tk->scores);
    if (tk->scores == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < spec->n_tokens; i++) {
        tk->scores[i] = spec->score(spec->self, i);
        if (isnan(tk->scores[i])) {
            return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "tokenizer.ggml.scores[%zu] is not a number", i);
        }
    }
    return ASC_OK;
}

static asc_status bad_merge(asc_ctx *ctx, size_t i, asc_view m, const char *what) {
    asc_view cut = asc_view_cut(m, 80);
    return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "tokenizer.ggml.merges[%zu] '" ASC_VIEW_FMT "' %s", i,
                    ASC_VIEW_ARG(cut), what);
}

/* Adds merge number i, "left right". room: at least m.len bytes. twins: counts those that came before. */
static asc_status add_merge(asc_ctx *ctx, asc_tokenizer *tk, const asc_byte_alphabet *alphabet, size_t i,
                            asc_view m, char *room, size_t *twins) {
    const char *gap = m.len > 2 ? memchr(m.ptr + 1, ' ', m.len - 2) : NULL;
    if (gap == NULL) return bad_merge(ctx, i, m, "is not two pieces with a space between them");
    asc_view left = {m.ptr, (size_t)(gap - m.ptr)}, right = {gap + 1, m.len - left.len - 1};
    size_t nl, nr;
    if (!asc_byte_alphabet_decode(alphabet, left, room, &nl) ||
        !asc_byte_alphabet_decode(alphabet, right, room + nl, &nr)) {
        return bad_merge(ctx, i, m, "has a character that is not in the byte-level alphabet");
    }
    int32_t l = asc_pieces_find(&tk->pieces, (asc_view){room, nl}, ASC_PIECES_ALL);
    int32_t r = asc_pieces_find(&tk->pieces, (asc_view){room + nl, nr}, ASC_PIECES_ALL);
    int32_t whole = asc_pieces_find(&tk->pieces, (asc_view){room, nl + nr}, ASC_PIECES_ALL);
    if (l < 0 || r < 0) return bad_merge(ctx, i, m, "joins a piece that is no token");
    if (whole < 0) return bad_merge(ctx, i, m, "makes a piece that is no token");
    /* Ordinary text never becomes a control token, whatever the merges say. */
    unsigned types = ASC_PIECE_MASK(tk->pieces.type[l]) | ASC_PIECE_MASK(tk->pieces.type[r]) |
                     ASC_PIECE_MASK(tk->pieces.type[whole]);
    if ((types & ~(unsigned)ASC_PIECES_PLAIN) != 0) return ASC_OK;
    if (!asc_merge_table_add(&tk->merges, (asc_merge){l, r, (uint32_t)i, whole})) (*twins)++;
    return ASC_OK;
}

static asc_status load_merges(asc_ctx *ctx, asc_tokenizer *tk, const asc_byte_alphabet *alphabet,
                              const asc_vocab_spec *spec) {
    asc_status st = ASC_OK;
    enum { MAX_MERGE = 2 * ASC_TOK_MAX_PIECE + 1 };
    char *room = NULL;
    size_t cap = 0, twins = 0;
    ASC_TRY(asc_merge_table_init(ctx, &tk->merges, spec->n_merges));
    for (size_t i = 0; i < spec->n_merges; i++) {
        asc_view m = spec->merge(spec->self, i);
        if (m.len > MAX_MERGE) ASC_TRY(bad_merge(ctx, i, m, "is too long"));
        ASC_TRY(asc_grow(ctx, ASC_MEM_TOKENIZER, (void **)&room, &cap, m.len + 1, 1));
        ASC_TRY(add_merge(ctx, tk, alphabet, i, m, room, &twins));
    }
    if (twins > 0)
        asc_logf(ctx, ASC_LOG_WARN, "tokenizer.ggml.merges: %zu of %zu stand there before; the first counts",
                 twins, spec->n_merges);
done:
    asc_free(ctx, room);
    return st;
}

static int32_t checked_id(asc_ctx *ctx, const asc_tokenizer *tk, const char *key, int64_t id) {
    if (id == -1) return -1;
    if (id >= 0 && (uint64_t)id < tk->pieces.n) return (int32_t)id;
    asc_logf(ctx, ASC_LOG_WARN, "tokenizer.ggml.%s is %lld, but there are only %zu tokens: ignored", key,
             (long long)id, tk->pieces.n);
    return -1;
}

/* Names of end-of-turn tokens for files that do not say which it is. */
static int32_t guess_eot(const asc_tokenizer *tk) {
    static const char *const names[] = {"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>",
                                        "<|endoftext|>"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int32_t id = asc_pieces_find(&tk->pieces, asc_view_of(names[i]), ASC_PIECE_MASK(ASC_TOKEN_CONTROL));
        if (id >= 0) return id;
    }
    return -1;
}

static void load_info(asc_ctx *ctx, asc_tokenizer *tk, const asc_vocab_spec *s) {
    asc_tokenizer_info *f = &tk->info;
    const uint8_t *type = tk->pieces.type;
    f->n_vocab = tk->pieces.n;
    f->mask = f->cls = f->sep = -1;
    f->bos = checked_id(ctx, tk, "bos_token_id", s->bos);
    f->eos = checked_id(ctx, tk, "eos_token_id", s->eos);
    f->eot = checked_id(ctx, tk, "eot_token_id", s->eot);
    f->pad = checked_id(ctx, tk, "padding_token_id", s->pad);
    f->unk = checked_id(ctx, tk, "unknown_token_id", s->unk);
    if (tk->spm && f->n_vocab > 2) { /* SentencePiece's own places, where the file is silent and they fit */
        if (f->unk < 0 && type[0] == ASC_TOKEN_UNKNOWN) f->unk = 0;
        if (f->bos < 0 && type[1] == ASC_TOKEN_CONTROL) f->bos = 1;
        if (f->eos < 0 && type[2] == ASC_TOKEN_CONTROL) f->eos = 2;
    }
    if (f->eot < 0) f->eot = guess_eot(tk);
    f->add_bos = s->add_bos >= 0 ? s->add_bos != 0 : tk->spm || tk->pre->add_bos;
    f->add_eos = s->add_eos > 0;
    f->add_space_prefix = tk->spm && s->add_space_prefix != 0;
    tk->ignore_merges = !tk->spm && (s->ignore_merges >= 0 ? s->ignore_merges != 0 : tk->pre->ignore_merges);
}

asc_status asc_tokenizer_create(asc_ctx *ctx, const asc_vocab_spec *spec, asc_tokenizer **out) {
    asc_status st = ASC_OK;
    asc_byte_alphabet alphabet;
    *out = NULL;
    asc_tokenizer *tk = asc_calloc(ctx, ASC_MEM_TOKENIZER, 1, sizeof *tk);
    if (tk == NULL) return ASC_RESOURCE_EXHAUSTED;
    tk->ctx = ctx;
    tk->kind = &asc_vocab_kind;
    asc_byte_alphabet_init(&alphabet);
    ASC_TRY(choose_kind(ctx, tk, spec));
    ASC_TRY(check_counts(ctx, tk, spec));
    ASC_TRY(load_pieces(ctx, tk, &alphabet, spec));
    if (tk->spm) {
        ASC_TRY(load_scores(ctx, tk, spec));
    } else {
        ASC_TRY(load_merges(ctx, tk, &alphabet, spec));
        ASC_TRY(asc_pretok_compile(ctx, tk->pre, &tk->patterns));
    }
    ASC_TRY(asc_special_set_init(ctx, &tk->specials, &tk->pieces));
    load_info(ctx, tk, spec);
    *out = tk;
    tk = NULL;
done:
    asc_tokenizer_destroy(tk);
    return st;
}

void asc_tokenizer_destroy(asc_tokenizer *tk) {
    if (tk == NULL) return;
    asc_ctx *ctx = tk->ctx;
    tk->kind->destroy(tk);
    asc_pieces_deinit(ctx, &tk->pieces);
    asc_merge_table_deinit(ctx, &tk->merges);
    asc_special_set_deinit(ctx, &tk->specials);
    asc_pretok_patterns_deinit(ctx, &tk->patterns);
    asc_free(ctx, tk->scores);
    asc_free(ctx, tk->pre_name);
    asc_free(ctx, tk);
}

asc_tokenizer_info asc_tokenizer_get_info(const asc_tokenizer *tk) { return tk->info; }
