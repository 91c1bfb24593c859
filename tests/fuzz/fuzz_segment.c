/* fuzz_segment.c - words and sentences of any bytes, and groups of tokens cut anywhere. */
#include "alloc.h"
#include "ctx.h"
#include "segment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok) {
    if (!ok) __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    asc_ctx_options co = {.struct_size = sizeof co};
    asc_ctx *ctx = NULL;
    check(asc_ctx_create_base(&co, &ctx) == ASC_OK);
    asc_segment_unit unit = (data[0] & 2) != 0   ? ASC_SEGMENT_PARAGRAPH
                            : (data[0] & 1) != 0 ? ASC_SEGMENT_SENTENCE
                                                 : ASC_SEGMENT_WORD;
    asc_view text = {(const char *)data + 2, size - 2};
    asc_span *s = NULL;
    size_t ns = 0, at = 0, nt = 0, ng = 0;
    check(asc_segment(ctx, text, unit, &s, &ns) == ASC_OK);
    for (size_t i = 0; i < ns; at = s[i++].end) check(s[i].start == at && s[i].end > at);
    check(at == text.len);

    /* tokens of 0 to 7 bytes, from the bits of byte 1 and the text itself */
    asc_token *t = asc_alloc(ctx, ASC_MEM_GENERAL, (2 * text.len + 2) * sizeof *t);
    check(t != NULL);
    bool was_empty = false;
    for (at = 0; at < text.len;) {
        size_t step = ((size_t)data[1] >> (nt % 5)) % 4 + data[2 + at] % 4;
        if (step == 0 && was_empty) step = 1;
        if (step > text.len - at) step = text.len - at;
        was_empty = step == 0;
        t[nt++] = (asc_token){0, at, at + step};
        at += step;
    }
    asc_token_group *g = NULL;
    check(asc_group_tokens(ctx, NULL, text, t, nt, s, ns, &g, &ng) == ASC_OK);
    size_t next = 0;
    for (size_t i = 0; i < ng; next = g[i++].last) {
        check(g[i].first == next && g[i].last > next && g[i].last <= nt);
        check(g[i].start == t[next].start && g[i].end == t[g[i].last - 1].end);
    }
    check(next == nt);
    asc_free(ctx, g);
    asc_free(ctx, t);
    asc_free(ctx, s);
    check(asc_memory(ctx).live_allocs == 0);
    asc_ctx_destroy(ctx);
    return 0;
}
