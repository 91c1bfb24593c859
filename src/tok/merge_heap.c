/* merge_heap.c - see merge_heap.h. */
#include "merge_heap.h"
#include <string.h>

void asc_merge_scratch_deinit(asc_ctx *ctx, asc_merge_scratch *s) {
    asc_free(ctx, s->sym);
    asc_free(ctx, s->heap);
    asc_free(ctx, s->bytes);
    *s = (asc_merge_scratch){0};
}

asc_status asc_symbol_add(asc_ctx *ctx, asc_merge_scratch *s, asc_symbol sym) {
    asc_status st =
        asc_grow(ctx, ASC_MEM_TOKENIZER, (void **)&s->sym, &s->cap_sym, s->n_sym + 1, sizeof *s->sym);
    if (st == ASC_OK && (s->n_sym & ASC_TOK_POLL_MASK) == 0) st = asc_poll_cancel(ctx);
    if (st != ASC_OK) return st;
    int32_t i = (int32_t)s->n_sym++; /* texts are limited, so an index fits */
    sym.prev = i - 1;
    sym.next = -1;
    s->sym[i] = sym;
    if (i > 0) s->sym[i - 1].next = i;
    return ASC_OK;
}

void asc_symbol_unlink(asc_merge_scratch *s, int32_t right) {
    asc_symbol *r = &s->sym[right];
    s->sym[r->prev].next = r->next;
    if (r->next >= 0) s->sym[r->next].prev = r->prev;
    r->len = 0;
}

asc_status asc_heap_push(asc_ctx *ctx, asc_merge_scratch *s, asc_candidate c) {
    asc_status st =
        asc_grow(ctx, ASC_MEM_TOKENIZER, (void **)&s->heap, &s->cap_heap, s->n_heap + 1, sizeof *s->heap);
    if (st == ASC_OK && (s->n_heap & ASC_TOK_POLL_MASK) == 0) st = asc_poll_cancel(ctx);
    if (st != ASC_OK) return st;
    size_t i = s->n_heap++;
    while (i > 0 && s->heap[(i - 1) / 2].key > c.key) {
        s->heap[i] = s->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    s->heap[i] = c;
    return ASC_OK;
}

asc_candidate asc_heap_pop(asc_merge_scratch *s) {
    asc_candidate top = s->heap[0], last = s->heap[--s->n_heap];
    size_t i = 0, n = s->n_heap;
    for (size_t child = 1; child < n; child = 2 * i + 1) {
        if (child + 1 < n && s->heap[child + 1].key < s->heap[child].key) child++;
        if (s->heap[child].key >= last.key) break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    if (n > 0) s->heap[i] = last;
    return top;
}

asc_status asc_scratch_bytes(asc_ctx *ctx, asc_merge_scratch *s, const char *p, size_t n) {
    asc_status st = asc_grow(ctx, ASC_MEM_TOKENIZER, (void **)&s->bytes, &s->cap_bytes, s->n_bytes + n, 1);
    if (st != ASC_OK) return st;
    memcpy(s->bytes + s->n_bytes, p, n);
    s->n_bytes += n;
    return ASC_OK;
}
