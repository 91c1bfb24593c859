/* token_group.c - which tokens make up each word or sentence; see segment.h. */
#include "alloc.h"
#include "segment.h"
#include "unicode.h"
#include "view.h"

/* First and last visible byte of text[start, end), or false when all of it is white space. A range may begin
 * or end within a character, which then counts as a whole. */
static bool visible_bytes(asc_view text, size_t start, size_t end, size_t *first, size_t *last) {
    bool found = false;
    for (size_t pos = start; pos < end;) {
        size_t from = pos, n;
        uint32_t cp;
        while (from > 0 && pos - from < 3 && ((unsigned char)text.ptr[from] & 0xC0) == 0x80) from--;
        n = asc_utf8_decode(text.ptr + from, text.len - from, &cp, NULL);
        if (from + n <= pos) { /* a stray byte, not part of the character before */
            from = pos;
            n = asc_utf8_decode(text.ptr + from, text.len - from, &cp, NULL);
        }
        if (!asc_char_is_space(cp)) {
            if (!found) *first = pos;
            *last = from + n < end ? from + n - 1 : end - 1;
            found = true;
        }
        pos = from + n;
    }
    return found;
}

/* Index of the span that holds byte `at`; never goes back. */
static size_t advance(const asc_span *spans, size_t n, size_t i, size_t at) {
    while (i + 1 < n && spans[i].end <= at) i++;
    return i;
}

asc_status asc_group_tokens(asc_ctx *ctx, const asc_tokenizer *tk, asc_view text, const asc_token *tokens,
                            size_t n_tokens, const asc_span *spans, size_t n_spans, asc_token_group **out,
                            size_t *out_n) {
    asc_token_group *v = NULL;
    size_t n = 0, cap = 0, here = 0, reach = 0; /* the group built last reaches to span `reach` */
    bool was_control = true;
    *out = NULL;
    *out_n = 0;
    for (size_t i = 0; i < n_tokens; i++) {
        asc_token t = tokens[i];
        bool control = tk != NULL && asc_token_get_type(tk, t.id) == ASC_TOKEN_CONTROL;
        size_t first = t.start, last = t.start;
        bool behind =
            t.start == t.end && !was_control; /* the rest of a character whose bytes the token before has */
        if (t.start < t.end) (void)visible_bytes(text, t.start, t.end, &first, &last);
        here = advance(spans, n_spans, here, first);
        if (control || was_control || !(behind || here <= reach)) {
            if (asc_grow(ctx, ASC_MEM_TOKENIZER, (void **)&v, &cap, n + 1, sizeof *v) != ASC_OK) {
                asc_free(ctx, v);
                return ASC_RESOURCE_EXHAUSTED;
            }
            v[n++] = (asc_token_group){i, i, t.start, t.end};
            reach = 0;
        }
        v[n - 1].last = i + 1;
        v[n - 1].end = t.end;
        size_t to = behind ? reach : advance(spans, n_spans, here, last);
        if (to > reach) reach = to;
        was_control = control;
    }
    *out = v;
    *out_n = n;
    return ASC_OK;
}
