/* piece_table.c - see piece_table.h. */
#include "piece_table.h"
#include "hash.h"
#include "view.h"

static size_t slot_count(size_t n) {
    size_t c = 16;
    while (c / 4 * 3 < n) c *= 2;
    return c;
}

asc_status asc_pieces_init(asc_ctx *ctx, asc_pieces *p, size_t n_tokens) {
    size_t slots = slot_count(n_tokens);
    *p = (asc_pieces){.mask = slots - 1};
    p->offset = asc_alloc(ctx, ASC_MEM_TOKENIZER, (n_tokens + 1) * sizeof *p->offset);
    p->type = asc_alloc(ctx, ASC_MEM_TOKENIZER, n_tokens);
    p->slots = asc_calloc(ctx, ASC_MEM_TOKENIZER, slots, sizeof *p->slots);
    if (p->offset == NULL || p->type == NULL || p->slots == NULL) {
        asc_pieces_deinit(ctx, p);
        return ASC_RESOURCE_EXHAUSTED;
    }
    p->offset[0] = 0;
    return ASC_OK;
}

void asc_pieces_deinit(asc_ctx *ctx, asc_pieces *p) {
    asc_free(ctx, p->bytes);
    asc_free(ctx, p->offset);
    asc_free(ctx, p->type);
    asc_free(ctx, p->slots);
    *p = (asc_pieces){0};
}

asc_status asc_pieces_reserve(asc_ctx *ctx, asc_pieces *p, size_t more) {
    size_t need;
    if (!asc_add_size(p->bytes_len, more, &need) || need > UINT32_MAX) {
        return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED,
                        "tokenizer.ggml.tokens: the tokens are longer than 4 GB together");
    }
    return asc_grow(ctx, ASC_MEM_TOKENIZER, (void **)&p->bytes, &p->bytes_cap, need, 1);
}

void asc_pieces_push(asc_pieces *p, size_t len, asc_token_type type, bool listed) {
    asc_view piece = {p->bytes + p->bytes_len, len};
    size_t id = p->n++;
    p->bytes_len += len;
    p->offset[id + 1] = (uint32_t)p->bytes_len;
    p->type[id] = (uint8_t)type;
    if (!listed || len == 0) return;
    int32_t other = asc_pieces_find(p, piece, ASC_PIECES_ALL);
    if (other >= 0 && p->twin == 0) {
        p->twin = (int32_t)id;
        p->twin_of = other;
    }
    if (other >= 0 && asc_pieces_find(p, piece, ASC_PIECE_MASK(type)) >= 0) return;
    uint64_t h = asc_hash64(piece.ptr, piece.len, 0);
    size_t i = (size_t)h & p->mask;
    while (p->slots[i].id1 != 0) i = (i + 1) & p->mask;
    p->slots[i] = (asc_piece_slot){(uint32_t)(id + 1), (uint32_t)(h >> 32)};
    if (len > p->max_len) p->max_len = len;
}

int32_t asc_pieces_find(const asc_pieces *p, asc_view bytes, unsigned types) {
    if (bytes.len == 0 || bytes.len > p->bytes_len) return -1;
    uint64_t h = asc_hash64(bytes.ptr, bytes.len, 0);
    for (size_t i = (size_t)h & p->mask; p->slots[i].id1 != 0; i = (i + 1) & p->mask) {
        if (p->slots[i].hash != (uint32_t)(h >> 32)) continue;
        size_t id = p->slots[i].id1 - 1;
        if ((types & ASC_PIECE_MASK(p->type[id])) != 0 && asc_view_eq(asc_pieces_at(p, id), bytes)) {
            return (int32_t)id;
        }
    }
    return -1;
}

asc_status asc_merge_table_init(asc_ctx *ctx, asc_merge_table *t, size_t n_merges) {
    size_t n = slot_count(n_merges);
    t->slots = asc_alloc(ctx, ASC_MEM_TOKENIZER, n * sizeof *t->slots);
    t->mask = n - 1;
    if (t->slots == NULL) return ASC_RESOURCE_EXHAUSTED;
    memset(t->slots, 0xFF, n * sizeof *t->slots);
    return ASC_OK;
}

void asc_merge_table_deinit(asc_ctx *ctx, asc_merge_table *t) {
    asc_free(ctx, t->slots);
    *t = (asc_merge_table){0};
}

static size_t pair_hash(int32_t left, int32_t right) {
    uint64_t k = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    k *= 0x9E3779B97F4A7C15u; /* Fibonacci hashing: the upper bits are the good ones */
    return (size_t)(k >> 32 ^ k >> 20);
}

bool asc_merge_table_add(asc_merge_table *t, asc_merge m) {
    size_t i = pair_hash(m.left, m.right) & t->mask;
    for (; t->slots[i].left >= 0; i = (i + 1) & t->mask) {
        if (t->slots[i].left == m.left && t->slots[i].right == m.right) return false;
    }
    t->slots[i] = m;
    return true;
}

void asc_merge_table_set(asc_merge_table *t, asc_merge m) {
    size_t i = pair_hash(m.left, m.right) & t->mask;
    while (t->slots[i].left >= 0 && (t->slots[i].left != m.left || t->slots[i].right != m.right))
        i = (i + 1) & t->mask;
    t->slots[i] = m;
}

const asc_merge *asc_merge_table_find(const asc_merge_table *t, int32_t left, int32_t right) {
    size_t i = pair_hash(left, right) & t->mask;
    for (; t->slots[i].left >= 0; i = (i + 1) & t->mask) {
        if (t->slots[i].left == left && t->slots[i].right == right) return &t->slots[i];
    }
    return NULL;
}
