/* cache_key.c - the words that stand for a recorded program; see cache.h. */
#include "cache.h"
#include "hash.h"
#include <string.h>

static size_t last_nonzero(const int64_t *v, int n) {
    while (n > 0 && v[n - 1] == 0) n--;
    return (size_t)n;
}

size_t asc_key_write(const asc_runtime *rt, const asc_tensor *t, uint64_t *to) {
    const bool leaf = t->buf != NULL;
    const int opcode = leaf ? -1 : t->op->opcode, n_in = leaf ? 0 : t->n_in, rank = t->shape.rank;
    size_t n = 1, n_i = 0, n_f = 0;
    for (int k = 0; k < n_in; k += 2) {
        uint64_t second = k + 1 < n_in ? (uint32_t)t->in[k + 1]->slot : 0;
        to[n++] = (uint32_t)t->in[k]->slot | second << 32;
    }
    memcpy(to + n, t->shape.dims, (size_t)rank * sizeof *to);
    n += (size_t)rank;
    if (!leaf) {
        uint64_t f[ASC_N_FATTR];
        memcpy(f, t->attrs.f, sizeof f);
        for (int k = 0; k < ASC_N_FATTR; k++) {
            if ((rt->scalar_slots[opcode] >> k & 1) != 0) f[k] = 0;
            if (f[k] != 0) n_f = (size_t)k + 1;
        }
        n_i = last_nonzero(t->attrs.i, ASC_N_IATTR);
        memcpy(to + n, t->attrs.i, n_i * sizeof *to);
        memcpy(to + n + n_i, f, n_f * sizeof *to);
    }
    to[0] = (uint64_t)(uint16_t)(opcode + 1) | (uint64_t)n_in << 16 | (uint64_t)t->dtype << 24 |
            (uint64_t)rank << 32 | (uint64_t)(leaf ? ASC_PRECISION_HIGHEST : t->level) << 40 |
            (uint64_t)(!leaf && t->many_rows) << 47 | (uint64_t)n_i << 48 | (uint64_t)n_f << 56;
    return n + n_i + n_f;
}

const uint64_t *asc_key_read(const uint64_t *at, asc_key_node *out) {
    uint64_t w = *at++;
    *out = (asc_key_node){.opcode = (int)(w & 0xffff) - 1,
                          .n_in = (int)(w >> 16 & 0xff),
                          .dtype = (asc_dtype)(w >> 24 & 0xff),
                          .level = (asc_precision)(w >> 40 & 0x7f),
                          .many_rows = (w >> 47 & 1) != 0,
                          .n_i = (int)(w >> 48 & 0xff),
                          .n_f = (int)(w >> 56)};
    for (int k = 0; k < out->n_in; k += 2) {
        out->in[k] = (int32_t)(uint32_t)*at;
        if (k + 1 < out->n_in) out->in[k + 1] = (int32_t)(*at >> 32);
        at++;
    }
    out->shape.rank = (int)(w >> 32 & 0xff);
    memcpy(out->shape.dims, at, (size_t)out->shape.rank * sizeof *at);
    at += out->shape.rank;
    memcpy(out->i, at, (size_t)out->n_i * sizeof *at);
    at += out->n_i;
    memcpy(out->f, at, (size_t)out->n_f * sizeof *at);
    return at + out->n_f;
}

uint64_t asc_key_hash(const uint64_t *key, size_t n) { return asc_hash64(key, n * sizeof *key, 0); }

uint64_t asc_key_ops_hash(const uint64_t *key) {
    size_t n = (size_t)(uint32_t)key[2];
    const uint64_t *at = key + ASC_KEY_HEAD;
    uint64_t h = n;
    for (size_t i = 0; i < n; i++) {
        asc_key_node node;
        at = asc_key_read(at, &node);
        h = asc_hash64(&node.opcode, sizeof node.opcode, h);
    }
    return h;
}
