/* text_run.c - one text through added tokens, normaliser, pre-tokenizer and model. Ranges are converted to
 * whole characters of the original the way the file's program does. */
#include "char_sets.h"
#include "json_tokenizer.h"

void asc_text_run_init(asc_text_run *r, asc_ctx *ctx, const asc_json_tokenizer *tk) {
    *r = (asc_text_run){.ctx = ctx,
                        .tk = tk,
                        .original = {.ctx = ctx},
                        .work = {.ctx = ctx},
                        .all = {.ctx = ctx},
                        .raw = {.ctx = ctx},
                        .list = {.ctx = ctx},
                        .tokens = {.ctx = ctx}};
    asc_strbuf_init(&r->names, ctx);
    asc_norm_scratch_init(ctx, &r->norm);
    asc_split_scratch_init(ctx, &r->split);
}

void asc_text_run_deinit(asc_text_run *r) {
    asc_free(r->ctx, r->v);
    asc_strbuf_deinit(&r->names);
    asc_aligned_deinit(&r->original);
    asc_aligned_deinit(&r->work);
    asc_aligned_deinit(&r->all);
    asc_free(r->ctx, r->raw.v);
    asc_free(r->ctx, r->list.v);
    asc_norm_scratch_deinit(&r->norm);
    asc_split_scratch_deinit(&r->split);
    asc_word_scratch_deinit(r->ctx, &r->words);
    asc_free(r->ctx, r->tokens.v);
    asc_free(r->ctx, r->char_of);
    asc_free(r->ctx, r->byte_of);
}

/* Tables between bytes and characters; a bad subpart counts as one. */
static asc_status count_chars(asc_text_run *r) {
    asc_status st = ASC_OK;
    size_t len = r->text.len, cap_c = 0, cap_b = 0;
    bool ascii = true;
    for (size_t i = 0; i < len && ascii; i++) ascii = (unsigned char)r->text.ptr[i] < 0x80;
    r->n_chars = len;
    if (ascii) return ASC_OK;
    ASC_TRY(asc_grow(r->ctx, ASC_MEM_TOKENIZER, (void **)&r->char_of, &cap_c, len + 1, sizeof *r->char_of));
    ASC_TRY(asc_grow(r->ctx, ASC_MEM_TOKENIZER, (void **)&r->byte_of, &cap_b, len + 1, sizeof *r->byte_of));
    r->n_chars = 0;
    for (size_t i = 0; i < len;) {
        uint32_t cp;
        size_t n = asc_utf8_decode(r->text.ptr + i, len - i, &cp, NULL);
        r->byte_of[r->n_chars] = (uint32_t)i;
        for (size_t k = 0; k < n; k++) r->char_of[i + k] = (uint32_t)r->n_chars;
        r->n_chars++;
        i += n;
    }
    r->char_of[len] = (uint32_t)r->n_chars;
    r->byte_of[r->n_chars] = (uint32_t)len;
done:
    return st;
}

/* Bytes to whole characters. */
static void to_chars(const asc_text_run *r, size_t *from, size_t *to) {
    size_t len = r->text.len, end;
    if (*from >= len) {
        *from = *to = r->n_chars;
        return;
    }
    size_t start = r->char_of != NULL ? r->char_of[*from] : *from;
    if (*to < len) {
        end = r->char_of != NULL ? r->char_of[*to] : *to;
    } else if (*to > 0 && *to - 1 < len) {
        end = (r->char_of != NULL ? r->char_of[*to - 1] : *to - 1) + 1;
    } else {
        end = start + 2 <= r->n_chars ? start + 2 : r->n_chars;
    }
    *from = start;
    *to = end > r->n_chars ? r->n_chars : end;
}

static bool blank(uint32_t cp) {
    return cp == 0x120 || asc_char_is_space(cp);
} /* U+0120: a space as a byte */

/* White space at the ends of a token does not count, but for a single space in front that was put there. */
static void trim(const asc_text_run *r, asc_view name, bool first, size_t *from, size_t *to) {
    const asc_post_processor *p = &r->tk->post;
    size_t lead = 0, trail = 0;
    bool in_front = true;
    for (size_t i = 0; i < name.len;) {
        uint32_t cp;
        i += asc_utf8_decode(name.ptr + i, name.len - i, &cp, NULL);
        if (blank(cp)) {
            lead += in_front;
            trail++;
        } else {
            in_front = false;
            trail = 0;
        }
    }
    for (size_t k = 0; k < p->n_trims; k++) {
        size_t skip = lead;
        if (lead > 0) {
            const bool led = r->special && p->trim[k].led[r->place];
            if (((first && !led) || *from == 0) && p->trim[k].space && lead == 1) skip = 0;
            *from = *from + skip < *to ? *from + skip : *to;
        }
        if (trail > 0 && *to >= trail) *to = *to - trail > *from ? *to - trail : *from;
    }
}

static asc_status add(asc_text_run *r, int32_t id, size_t from, size_t to, size_t true_from, size_t true_to,
                      asc_view name) {
    asc_status st = asc_grow(r->ctx, ASC_MEM_TOKENIZER, (void **)&r->v, &r->cap, r->n + 1, sizeof *r->v);
    if (st != ASC_OK) return st;
    to_chars(r, &from, &to);
    if (r->tk->post.n_trims > 0) trim(r, name, r->n == 0, &from, &to);
    if (r->byte_of != NULL) {
        from = r->byte_of[from];
        to = r->byte_of[to];
    }
    size_t at = r->names.len;
    if (r->want_names) asc_strbuf_addv(&r->names, name);
    r->v[r->n++] = (asc_text_token){.id = id,
                                    .from = (uint32_t)from,
                                    .to = (uint32_t)to,
                                    .true_from = (uint32_t)true_from,
                                    .true_to = (uint32_t)true_to,
                                    .name = at,
                                    .name_len = r->want_names ? name.len : 0};
    return ASC_OK;
}

static asc_view word_name(const asc_text_run *r, asc_view word, asc_word_token t) {
    const asc_word_model *m = &r->tk->model;
    bool raw = m->kind == ASC_MODEL_UNIGRAM && t.id == m->unk; /* this model shows the text, not its name */
    if (raw && t.end <= word.len && t.start <= t.end) return (asc_view){word.ptr + t.start, t.end - t.start};
    return asc_pieces_at(&m->names, (size_t)t.id);
}

/* Where the token's own bytes of the normalised word come from. */
static asc_status add_word_token(asc_text_run *r, asc_section x, asc_view word, size_t i) {
    const asc_aligned *a = &r->all;
    asc_word_token t = r->tokens.v[i];
    size_t from, to, len = x.end - x.start, at = t.at < len ? t.at : len - 1;
    size_t next = i + 1 < r->tokens.n ? r->tokens.v[i + 1].at : len;
    if (next <= at || next > len) next = at + 1;
    size_t true_from = a->from[x.start + at], true_to = a->to[x.start + next - 1];
    if (t.start >= t.end) { /* nothing of the word: the numbers themselves, as the original program has it */
        from = x.base + t.start;
        to = x.base + t.end;
    } else if (t.end <= len) {
        from = a->from[x.start + t.start];
        to = a->to[x.start + t.end - 1];
    } else {
        from = t.start;
        to = t.end;
    }
    return add(r, t.id, from, to, true_from, true_to, word_name(r, word, t));
}

static bool touches_plain(asc_section x, const asc_aligned *a, const asc_tokenize_options *o) {
    size_t from = a->from[x.start], to = a->to[x.end - 1];
    for (size_t i = 0; i < o->n_plain; i++) {
        if (o->plain[i].start < to && o->plain[i].end > from) return true;
    }
    return false;
}

static asc_status model_section(asc_text_run *r, asc_section x, const asc_tokenize_options *o) {
    asc_status st = ASC_OK;
    asc_view word = {r->all.bytes + x.start, x.end - x.start};
    const asc_json_tokenizer *tk = r->tk;
    bool control = false;
    r->tokens.n = 0;
    ASC_TRY(asc_word_model_encode(r->ctx, &tk->model, word, NULL, &r->words, &r->tokens));
    for (size_t i = 0; i < r->tokens.n; i++) control |= tk->control[r->tokens.v[i].id];
    if (control && (!o->parse_special || touches_plain(x, &r->all, o))) {
        /* Ordinary text that spells a special token: the model again, without those. */
        r->tokens.n = 0;
        ASC_TRY(asc_word_model_encode(r->ctx, &tk->model, word, tk->control, &r->words, &r->tokens));
    }
    for (size_t i = 0; i < r->tokens.n; i++) ASC_TRY(add_word_token(r, x, word, i));
done:
    return st;
}

/* Fills `all` and `list` with the normalised text in sections. */
static asc_status cut(asc_text_run *r, const asc_tokenize_options *o) {
    asc_status st = ASC_OK;
    const asc_json_tokenizer *tk = r->tk;
    asc_added_filter filter = {o->parse_special, o->plain, o->n_plain};
    ASC_TRY(asc_aligned_load(&r->original, r->text, 0));
    ASC_TRY(asc_added_cut(r->ctx, &tk->added, &tk->added.raw, &r->original, 0, r->original.len, &filter,
                          &r->raw));
    for (size_t i = 0; i < r->raw.n; i++) {
        asc_section x = r->raw.v[i];
        if (x.id >= 0) {
            size_t at = r->all.len; /* its text is kept for its name */
            ASC_TRY(asc_aligned_copy(&r->all, &r->original, x.start, x.end));
            x.start = at;
            x.end = r->all.len;
            ASC_TRY(asc_sections_add(&r->list, x));
            continue;
        }
        size_t at = r->all.len;
        r->work.len = 0;
        ASC_TRY(asc_aligned_copy(&r->work, &r->original, x.start, x.end));
        ASC_TRY(asc_normalize(r->ctx, &tk->normalizer, &r->work, x.base, o->continues && i == 0, &r->norm));
        ASC_TRY(asc_aligned_copy(&r->all, &r->work, 0, r->work.len));
        ASC_TRY(asc_added_cut(r->ctx, &tk->added, &tk->added.normalized, &r->all, at, r->all.len, &filter,
                              &r->list));
    }
done:
    return st;
}

asc_status asc_text_run_make(asc_text_run *r, asc_view text, const asc_tokenize_options *o) {
    asc_status st = ASC_OK;
    size_t limit = 256 * text.len + 65536; /* a file's replacements may not grow a text without end */
    r->text = text;
    r->special = o->add_bos_eos;
    r->original.limit = r->work.limit = r->all.limit = limit;
    r->norm.other.limit = r->split.other.limit = r->split.piece.limit = limit;
    ASC_TRY(count_chars(r));
    ASC_TRY(cut(r, o));
    /* Names of added tokens are the text they were found as, which the pre-tokenizer's buffer does not keep.
     */
    for (size_t i = 0; i < r->list.n; i++) {
        asc_section *x = &r->list.v[i];
        if (x->id < 0) continue;
        size_t at = r->names.len;
        asc_strbuf_add(&r->names, r->all.bytes + x->start, x->end - x->start);
        x->start = at;
        x->end = r->names.len;
    }
    ASC_TRY(asc_strbuf_status(&r->names));
    ASC_TRY(asc_split(r->ctx, &r->tk->splitter, &r->all, &r->list, o->continues, &r->split));
    for (size_t i = 0; i < r->list.n; i++) {
        asc_section x = r->list.v[i];
        if (x.id < 0) {
            ASC_TRY(model_section(r, x, o));
            continue;
        }
        asc_view name = {r->names.ptr + x.start, x.end - x.start};
        bool want = r->want_names;
        r->want_names = false;
        ASC_TRY(add(r, x.id, x.from, x.to, x.from, x.to, name));
        r->want_names = want;
        r->v[r->n - 1].name = x.start;
        r->v[r->n - 1].name_len = x.end - x.start;
    }
    ASC_TRY(asc_strbuf_status(&r->names));
done:
    return st;
}
