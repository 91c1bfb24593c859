/* merge_model.c - see merge_model.h. Where several tokens could go first the order is that of the program
 * that writes these files: by rank, then by place. */
#include "merge_model.h"
#include "hash.h"

void asc_merge_model_deinit(asc_ctx *ctx, asc_merge_model *m) {
    asc_merge_table_deinit(ctx, &m->merges);
    asc_free(ctx, m->prefix);
    asc_free(ctx, m->suffix);
}

void asc_word_merge_scratch_deinit(asc_ctx *ctx, asc_word_merge_scratch *s) {
    asc_merge_scratch_deinit(ctx, &s->heap);
    asc_free(ctx, s->cache);
    *s = (asc_word_merge_scratch){0};
}

static asc_status add(asc_ctx *ctx, asc_merge_scratch *s, int32_t id, size_t len, size_t at) {
    return asc_symbol_add(ctx, s, (asc_symbol){.id = id, .start = (uint32_t)at, .len = (uint32_t)len});
}

static int32_t allowed(const bool *banned, int32_t id) {
    return id >= 0 && banned != NULL && banned[id] ? -1 : id;
}

/* The name under which a character is looked up: with the prefix and suffix that its place asks for. */
static asc_status char_name(asc_ctx *ctx, const asc_merge_model *m, asc_view c, bool first, bool last,
                            asc_merge_scratch *s, asc_view *out) {
    asc_status st = ASC_OK;
    bool before = !first && m->prefix_len > 0, behind = last && m->suffix_len > 0;
    *out = c;
    if (!before && !behind) return ASC_OK;
    s->n_bytes = 0;
    if (before) ASC_TRY(asc_scratch_bytes(ctx, s, m->prefix, m->prefix_len));
    ASC_TRY(asc_scratch_bytes(ctx, s, c.ptr, c.len));
    if (behind) ASC_TRY(asc_scratch_bytes(ctx, s, m->suffix, m->suffix_len));
    *out = (asc_view){s->bytes, s->n_bytes};
done:
    return st;
}

/* Tokens of the bytes of an unknown character; *all false (nothing added) when one of them has none. */
static asc_status add_bytes(asc_ctx *ctx, const asc_merge_model *m, asc_view name, size_t at, bool *all,
                            asc_merge_scratch *s) {
    asc_status st = ASC_OK;
    *all = m->has_bytes;
    for (size_t i = 0; i < name.len && *all; i++) *all = m->byte_id[(unsigned char)name.ptr[i]] >= 0;
    for (size_t i = 0; i < name.len && *all; i++)
        ASC_TRY(add(ctx, s, m->byte_id[(unsigned char)name.ptr[i]], 1, at));
done:
    return st;
}

/* The characters of the word as symbols. An unknown token waits until a known one comes: byte tokens do not
 * push it out, as the original program has it. */
static asc_status load(asc_ctx *ctx, const asc_merge_model *m, const asc_pieces *names, asc_view word,
                       const bool *banned, asc_merge_scratch *s) {
    asc_status st = ASC_OK;
    bool waits = false;
    size_t unk_len = 0, unk_at = 0, n;
    s->n_sym = s->n_heap = 0;
    for (size_t i = 0; i < word.len; i += n) {
        uint32_t cp;
        n = asc_utf8_decode(word.ptr + i, word.len - i, &cp, NULL);
        bool first = i == 0, last = i + n == word.len,
             plain = (first || m->prefix_len == 0) && (!last || m->suffix_len == 0);
        asc_view name = {word.ptr + i, n};
        int32_t id;
        if (plain && cp < 2048) {
            id = allowed(banned, m->quick[cp]);
        } else {
            ASC_TRY(char_name(ctx, m, name, first, last, s, &name));
            id = allowed(banned, asc_pieces_find(names, name, ASC_PIECES_ALL));
        }
        if (id >= 0) {
            if (waits) ASC_TRY(add(ctx, s, m->unk, unk_len, unk_at));
            waits = false;
            ASC_TRY(add(ctx, s, id, n, i));
            continue;
        }
        bool all;
        ASC_TRY(add_bytes(ctx, m, name, i, &all, s));
        if (all || m->unk < 0) continue;
        if (waits && m->fuse_unk) {
            unk_len += n;
            continue;
        }
        if (waits) ASC_TRY(add(ctx, s, m->unk, unk_len, unk_at));
        waits = true;
        unk_len = n;
        unk_at = i;
    }
    if (waits) ASC_TRY(add(ctx, s, m->unk, unk_len, unk_at));
done:
    return st;
}

static asc_status propose(asc_ctx *ctx, const asc_merge_model *m, asc_merge_scratch *s, int32_t left) {
    if (left < 0 || s->sym[left].next < 0) return ASC_OK;
    const asc_merge *p = asc_merge_table_find(&m->merges, s->sym[left].id, s->sym[s->sym[left].next].id);
    if (p == NULL) return ASC_OK;
    return asc_heap_push(ctx, s,
                         (asc_candidate){(uint64_t)p->rank << 32 | (uint32_t)left, (uint32_t)p->result});
}

static asc_status join(asc_ctx *ctx, const asc_merge_model *m, const bool *banned, asc_merge_scratch *s) {
    asc_status st = ASC_OK;
    for (size_t i = 0; i + 1 < s->n_sym; i++) ASC_TRY(propose(ctx, m, s, (int32_t)i));
    while (s->n_heap > 0) {
        asc_candidate c = asc_heap_pop(s);
        int32_t left = (int32_t)(uint32_t)c.key;
        asc_symbol *sym = &s->sym[left];
        if (sym->len == 0 || sym->next < 0) continue;
        const asc_merge *p = asc_merge_table_find(&m->merges, sym->id, s->sym[sym->next].id);
        if (p == NULL || (uint32_t)p->result != c.payload) continue; /* a neighbour has changed since */
        if (allowed(banned, p->result) < 0) continue;
        sym->id = p->result;
        sym->len += s->sym[sym->next].len;
        asc_symbol_unlink(s, sym->next);
        ASC_TRY(propose(ctx, m, s, sym->prev));
        ASC_TRY(propose(ctx, m, s, left));
    }
done:
    return st;
}

/* The place of a word in the cache, or NULL when it cannot be there. Short calls do without. */
static asc_merge_cached *cached(asc_ctx *ctx, asc_view word, asc_word_merge_scratch *s) {
    if (word.len > ASC_MERGE_CACHE_WORD) return NULL;
    if (s->cache == NULL) {
        if (++s->words < 64) return NULL;
        s->cache = asc_calloc(ctx, ASC_MEM_TOKENIZER, ASC_MERGE_CACHE_SLOTS, sizeof *s->cache);
        if (s->cache == NULL) return NULL;
    }
    return &s->cache[asc_hash64(word.ptr, word.len, 0) & (ASC_MERGE_CACHE_SLOTS - 1)];
}

asc_status asc_merge_model_encode(asc_ctx *ctx, const asc_merge_model *m, const asc_pieces *names,
                                  asc_view word, const bool *banned, asc_word_merge_scratch *s,
                                  asc_word_tokens *out) {
    asc_status st = ASC_OK;
    size_t pos = 0, first = out->n;
    if (m->ignore_merges) {
        int32_t id = allowed(banned, asc_pieces_find(names, word, ASC_PIECES_ALL));
        if (id >= 0) return asc_word_tokens_add(out, id, 0, word.len, 0);
    }
    asc_merge_cached *c = banned == NULL ? cached(ctx, word, s) : NULL;
    if (c != NULL && c->len == word.len && memcmp(c->word, word.ptr, word.len) == 0) {
        for (size_t i = 0; i < c->n; i++)
            ASC_TRY(asc_word_tokens_add(out, c->v[i].id, c->v[i].start, c->v[i].end, c->v[i].at));
        return ASC_OK;
    }
    ASC_TRY(load(ctx, m, names, word, banned, &s->heap));
    ASC_TRY(join(ctx, m, banned, &s->heap));
    for (int32_t i = s->heap.n_sym > 0 ? 0 : -1; i >= 0; i = s->heap.sym[i].next) {
        const asc_symbol *sym = &s->heap.sym[i];
        ASC_TRY(asc_word_tokens_add(out, sym->id, pos, pos + sym->len, sym->start));
        pos += sym->len;
    }
    if (c != NULL && out->n - first <= ASC_MERGE_CACHE_TOKENS) {
        c->len = (uint8_t)word.len;
        c->n = (uint8_t)(out->n - first);
        memcpy(c->word, word.ptr, word.len);
        if (c->n > 0) memcpy(c->v, out->v + first, c->n * sizeof *c->v);
    }
done:
    return st;
}
