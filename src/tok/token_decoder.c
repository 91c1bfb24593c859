/* token_decoder.c - runs the steps of a decoder. */
#include "token_decoder.h"
#include "byte_alphabet.h"

void asc_strings_init(asc_ctx *ctx, asc_strings *s) {
    *s = (asc_strings){0};
    asc_strbuf_init(&s->bytes, ctx);
}

void asc_strings_deinit(asc_ctx *ctx, asc_strings *s) {
    asc_strbuf_deinit(&s->bytes);
    asc_free(ctx, s->end);
    *s = (asc_strings){0};
}

asc_view asc_strings_at(const asc_strings *s, size_t i) {
    size_t start = i > 0 ? s->end[i - 1] : 0;
    return (asc_view){s->bytes.ptr != NULL ? s->bytes.ptr + start : "", s->end[i] - start};
}

asc_status asc_strings_end(asc_ctx *ctx, asc_strings *s) {
    asc_status st = asc_strbuf_status(&s->bytes);
    if (st == ASC_OK)
        st = asc_grow(ctx, ASC_MEM_TOKENIZER, (void **)&s->end, &s->cap, s->n + 1, sizeof *s->end);
    if (st == ASC_OK && (s->n & 1023) == 0) st = asc_poll_cancel(ctx);
    if (st == ASC_OK) s->end[s->n++] = s->bytes.len;
    return st;
}

static void clear(asc_strings *s) {
    asc_strbuf_clear(&s->bytes);
    s->n = 0;
}

/* Appends text with every `what` replaced by `by`; an empty `what` stands before each character and at the
 * end. */
static void add_replaced(asc_strbuf *out, asc_view text, asc_view what, asc_view by) {
    size_t at = 0;
    if (what.len == 0) {
        while (at < text.len) {
            uint32_t cp;
            size_t n = asc_utf8_decode(text.ptr + at, text.len - at, &cp, NULL);
            asc_strbuf_addv(out, by);
            asc_strbuf_add(out, text.ptr + at, n);
            at += n;
        }
        asc_strbuf_addv(out, by);
        return;
    }
    for (;;) {
        const char *hit = at < text.len ? memmem(text.ptr + at, text.len - at, what.ptr, what.len) : NULL;
        if (hit == NULL) break;
        asc_strbuf_add(out, text.ptr + at, (size_t)(hit - (text.ptr + at)));
        asc_strbuf_addv(out, by);
        at = (size_t)(hit - text.ptr) + what.len;
    }
    asc_strbuf_add(out, text.ptr + at, text.len - at);
}

/* The clean-up of BERT's decoder: spaces before punctuation and short forms. Works on the bytes of `b` from
 * `start` on. */
static void clean_up(asc_strbuf *b, size_t start, asc_strbuf *room) {
    static const char *const rules[][2] = {
        {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
        {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (b->failed || b->len == start) return;
        asc_view text = {b->ptr + start, b->len - start}, what = asc_view_of(rules[i][0]);
        if (memmem(text.ptr, text.len, what.ptr, what.len) == NULL) continue;
        asc_strbuf_clear(room);
        add_replaced(room, text, what, asc_view_of(rules[i][1]));
        if (room->failed) {
            b->failed = true;
            return;
        }
        b->len = start;
        asc_strbuf_addv(b, asc_strbuf_view(room));
    }
}

/* Bytes as text: what is not UTF-8 becomes U+FFFD, one for each maximal bad subpart. */
static void add_lossy(asc_strbuf *out, asc_view v) {
    for (size_t i = 0; i < v.len;) {
        uint32_t cp;
        bool valid;
        size_t n = asc_utf8_decode(v.ptr + i, v.len - i, &cp, &valid);
        if (valid) {
            asc_strbuf_add(out, v.ptr + i, n);
        } else {
            asc_strbuf_adds(out, "\xEF\xBF\xBD");
        }
        i += n;
    }
}

static asc_status byte_level(asc_ctx *ctx, const asc_strings *in, asc_strings *out, asc_strbuf *room) {
    asc_byte_alphabet alphabet;
    asc_byte_alphabet_init(&alphabet);
    asc_strbuf_clear(room);
    for (size_t i = 0; i < in->n; i++) {
        asc_view v = asc_strings_at(in, i);
        size_t at = room->len, n;
        asc_strbuf_addv(room, v);
        if (room->failed || v.len == 0) continue;
        if (asc_byte_alphabet_decode(&alphabet, v, room->ptr + at, &n)) {
            room->len = at + n;
        } else {
            memcpy(room->ptr + at, v.ptr, v.len); /* some of it was written over */
        }
    }
    asc_status st = asc_strbuf_status(room);
    if (st != ASC_OK) return st;
    add_lossy(&out->bytes, asc_strbuf_view(room));
    return asc_strings_end(ctx, out);
}

static asc_status wordpiece(asc_ctx *ctx, const asc_decoder_step *p, const asc_strings *in, asc_strings *out,
                            asc_strbuf *room) {
    asc_status st = ASC_OK;
    asc_view prefix = {p->text, p->text_len};
    for (size_t i = 0; i < in->n; i++) {
        asc_view v = asc_strings_at(in, i);
        size_t start = out->bytes.len;
        if (i > 0 && asc_view_starts(v, prefix)) {
            v = (asc_view){v.ptr + prefix.len, v.len - prefix.len};
        } else if (i > 0) {
            asc_strbuf_addc(&out->bytes, ' ');
        }
        asc_strbuf_addv(&out->bytes, v);
        if (p->cleanup) clean_up(&out->bytes, start, room);
        ASC_TRY(asc_strings_end(ctx, out));
    }
done:
    return st;
}

static asc_status metaspace(asc_ctx *ctx, const asc_decoder_step *p, const asc_strings *in,
                            asc_strings *out) {
    asc_status st = ASC_OK;
    for (size_t i = 0; i < in->n; i++) {
        add_replaced(&out->bytes, asc_strings_at(in, i), (asc_view){p->text, p->text_len},
                     asc_view_of(i == 0 && p->drop_first ? "" : " "));
        ASC_TRY(asc_strings_end(ctx, out));
    }
done:
    return st;
}

static int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "<0xE2>" -> 226, else -1. */
static int named_byte(asc_view v) {
    if (v.len != 6 || memcmp(v.ptr, "<0x", 3) != 0 || v.ptr[5] != '>') return -1;
    int hi = v.ptr[3] == '+' ? 0 : hex(v.ptr[3]), lo = hex(v.ptr[4]);
    return hi < 0 || lo < 0 ? -1 : hi * 16 + lo;
}

/* The bytes collected in `room` as one token, or a U+FFFD for each when they are not UTF-8. */
static asc_status flush(asc_ctx *ctx, asc_strbuf *room, asc_strings *out) {
    asc_status st = asc_strbuf_status(room);
    asc_view v = asc_strbuf_view(room);
    if (st != ASC_OK || v.len == 0) return st;
    if (asc_utf8_check(v) == v.len) {
        asc_strbuf_addv(&out->bytes, v);
        st = asc_strings_end(ctx, out);
    } else {
        for (size_t i = 0; i < v.len && st == ASC_OK; i++) {
            asc_strbuf_adds(&out->bytes, "\xEF\xBF\xBD");
            st = asc_strings_end(ctx, out);
        }
    }
    asc_strbuf_clear(room);
    return st;
}

static asc_status byte_fallback(asc_ctx *ctx, const asc_strings *in, asc_strings *out, asc_strbuf *room) {
    asc_status st = ASC_OK;
    asc_strbuf_clear(room);
    for (size_t i = 0; i < in->n; i++) {
        asc_view v = asc_strings_at(in, i);
        int b = named_byte(v);
        if (b >= 0) {
            asc_strbuf_addc(room, (char)b);
            continue;
        }
        ASC_TRY(flush(ctx, room, out));
        asc_strbuf_addv(&out->bytes, v);
        ASC_TRY(asc_strings_end(ctx, out));
    }
    ASC_TRY(flush(ctx, room, out));
done:
    return st;
}

static asc_status strip(asc_ctx *ctx, const asc_decoder_step *p, const asc_strings *in, asc_strings *out) {
    asc_status st = ASC_OK;
    asc_view c = {p->text, p->text_len};
    for (size_t i = 0; i < in->n; i++) {
        asc_view v = asc_strings_at(in, i);
        for (size_t k = 0; k < p->start && asc_view_starts(v, c); k++)
            v = (asc_view){v.ptr + c.len, v.len - c.len};
        for (size_t k = 0; k < p->stop && v.len >= c.len && memcmp(v.ptr + v.len - c.len, c.ptr, c.len) == 0;
             k++)
            v.len -= c.len;
        asc_strbuf_addv(&out->bytes, v);
        ASC_TRY(asc_strings_end(ctx, out));
    }
done:
    return st;
}

static asc_status replace(asc_ctx *ctx, const asc_decoder_step *p, const asc_strings *in, asc_strings *out) {
    asc_status st = ASC_OK;
    asc_cuts cuts = {.ctx = ctx};
    for (size_t i = 0; i < in->n; i++) {
        asc_view v = asc_strings_at(in, i);
        ASC_TRY(asc_pattern_cut(ctx, p->pattern, v, &cuts));
        for (size_t k = 0; k < cuts.n; k++) {
            asc_cut c = cuts.v[k];
            if (c.match) {
                asc_strbuf_add(&out->bytes, p->text, p->text_len);
            } else {
                asc_strbuf_add(&out->bytes, v.ptr + c.start, c.end - c.start);
            }
        }
        ASC_TRY(asc_strings_end(ctx, out));
    }
done:
    asc_free(ctx, cuts.v);
    return st;
}

static asc_status bpe(asc_ctx *ctx, const asc_decoder_step *p, const asc_strings *in, asc_strings *out) {
    asc_status st = ASC_OK;
    for (size_t i = 0; i < in->n; i++) {
        add_replaced(&out->bytes, asc_strings_at(in, i), (asc_view){p->text, p->text_len},
                     asc_view_of(i + 1 == in->n ? "" : " "));
        ASC_TRY(asc_strings_end(ctx, out));
    }
done:
    return st;
}

static asc_status ctc(asc_ctx *ctx, const asc_decoder_step *p, const asc_strings *in, asc_strings *out,
                      asc_strbuf *room) {
    asc_status st = ASC_OK;
    for (size_t i = 0; i < in->n; i++) {
        asc_view v = asc_strings_at(in, i);
        size_t start = out->bytes.len;
        if (i > 0 && asc_view_eq(v, asc_strings_at(in, i - 1))) continue;
        add_replaced(&out->bytes, v, (asc_view){p->text, p->text_len}, (asc_view){"", 0});
        if (p->cleanup && !out->bytes.failed && out->bytes.len > start) {
            clean_up(&out->bytes, start, room);
            asc_strbuf_clear(room);
            add_replaced(room, (asc_view){out->bytes.ptr + start, out->bytes.len - start},
                         (asc_view){p->other, p->other_len}, (asc_view){" ", 1});
            ASC_TRY(asc_strbuf_status(room));
            out->bytes.len = start;
            asc_strbuf_addv(&out->bytes, asc_strbuf_view(room));
        }
        if (out->bytes.len > start) ASC_TRY(asc_strings_end(ctx, out));
    }
done:
    return st;
}

static asc_status step(asc_ctx *ctx, const asc_decoder_step *p, const asc_strings *in, asc_strings *out,
                       asc_strbuf *room) {
    switch (p->kind) {
    case ASC_DECODE_BYTE_LEVEL:
        return byte_level(ctx, in, out, room);
    case ASC_DECODE_WORDPIECE:
        return wordpiece(ctx, p, in, out, room);
    case ASC_DECODE_METASPACE:
        return metaspace(ctx, p, in, out);
    case ASC_DECODE_BYTE_FALLBACK:
        return byte_fallback(ctx, in, out, room);
    case ASC_DECODE_FUSE:
        asc_strbuf_addv(&out->bytes, asc_strbuf_view(&in->bytes));
        return asc_strings_end(ctx, out);
    case ASC_DECODE_STRIP:
        return strip(ctx, p, in, out);
    case ASC_DECODE_REPLACE:
        return replace(ctx, p, in, out);
    case ASC_DECODE_BPE:
        return bpe(ctx, p, in, out);
    case ASC_DECODE_CTC:
        break;
    }
    return ctc(ctx, p, in, out, room);
}

asc_status asc_token_decode(asc_ctx *ctx, const asc_token_decoder *d, asc_strings *tokens, asc_strbuf *out) {
    asc_status st = ASC_OK;
    asc_strings next;
    asc_strbuf room;
    asc_strings_init(ctx, &next);
    asc_strbuf_init(&room, ctx);
    /* A file's replacements may make a text longer, but not without end. */
    next.bytes.limit = room.limit = tokens->bytes.limit = 256 * tokens->bytes.len + 65536;
    for (size_t i = 0; i < d->n; i++) {
        clear(&next);
        ASC_TRY(step(ctx, &d->v[i], tokens, &next, &room));
        asc_strings t = *tokens;
        *tokens = next;
        next = t;
    }
    for (size_t i = 0; i < tokens->n; i++) {
        if (!d->present && i > 0) asc_strbuf_addc(out, ' ');
        asc_strbuf_addv(out, asc_strings_at(tokens, i));
    }
    st = asc_strbuf_status(out);
done:
    asc_strings_deinit(ctx, &next);
    asc_strbuf_deinit(&room);
    return st;
}
