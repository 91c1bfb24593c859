/* gguf_parts.h - what the gguf_*.c files share; nobody else includes it. */
#ifndef ASC_GGUF_PARTS_H
#define ASC_GGUF_PARTS_H

#include "alloc.h"
#include "file.h"
#include "gguf.h"
#include "name_index.h"
#include "view.h"

struct asc_gguf {
    char *name; /* for messages */
    asc_map map;
    asc_arena arena; /* all tables below */
    const uint8_t *data;
    size_t size, pos; /* pos: how far the header has been read */
    uint32_t version;
    uint64_t kv_count, tensor_count; /* as claimed; n_kvs and n_tensors are checked */
    size_t alignment, data_start;
    asc_gguf_kv *kvs;
    size_t n_kvs;
    asc_name_index kv_index;
    asc_gguf_tensor *tensors;
    size_t n_tensors;
    asc_name_index tensor_index;
};

static inline uint16_t asc_le16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint32_t asc_le32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static inline uint64_t asc_le64(const uint8_t *p) { return asc_le32(p) | (uint64_t)asc_le32(p + 4) << 32; }

/* gguf_cursor.c: reads at g->pos and moves it. `what` and `of` say what is read, for the message. */
ASC_MUST_USE asc_status asc_gguf_need(asc_ctx *ctx, const asc_gguf *g, uint64_t bytes, const char *what,
                                      asc_view of);
ASC_MUST_USE asc_status asc_gguf_read_u32(asc_ctx *ctx, asc_gguf *g, const char *what, asc_view of,
                                          uint32_t *out);
ASC_MUST_USE asc_status asc_gguf_read_u64(asc_ctx *ctx, asc_gguf *g, const char *what, asc_view of,
                                          uint64_t *out);
/* A key or tensor name: not empty, at most `limit` bytes, UTF-8 without control characters. */
ASC_MUST_USE asc_status asc_gguf_read_name(asc_ctx *ctx, asc_gguf *g, const char *what, size_t limit,
                                           asc_view *out);
/* Is there room behind g->pos for n items of at least min_bytes each? Bounds what is allocated for them. */
ASC_MUST_USE asc_status asc_gguf_check_count(asc_ctx *ctx, const asc_gguf *g, const char *what, uint64_t n,
                                             size_t min_bytes, size_t limit);
/* Starts a message: INVALID_ARGUMENT "FILE: at byte N: ..." */
asc_status asc_gguf_bad(asc_ctx *ctx, const asc_gguf *g, size_t at, const char *fmt, ...) ASC_PRINTF(4, 5);

/* The stages of opening, in order. */
ASC_MUST_USE asc_status asc_gguf_read_head(asc_ctx *ctx, asc_gguf *g);     /* gguf_head.c */
ASC_MUST_USE asc_status asc_gguf_read_metadata(asc_ctx *ctx, asc_gguf *g); /* gguf_metadata.c */
ASC_MUST_USE asc_status asc_gguf_read_tensors(asc_ctx *ctx, asc_gguf *g);  /* gguf_tensors.c */

#endif
