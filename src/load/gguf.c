/* gguf.c - opening and closing; the stages are in the other gguf_*.c files. */
#include "gguf_parts.h"
#include "hash.h"

enum { MAX_SHOWN_PATH = 256 };

/* Makes an empty reader that calls itself `path` in messages. */
static asc_status create(asc_ctx *ctx, const char *path, asc_gguf **out) {
    asc_gguf *g = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *g);
    if (g == NULL) return ASC_RESOURCE_EXHAUSTED;
    g->map.fd = -1;
    asc_arena_init(&g->arena, ctx, ASC_MEM_GENERAL);
    size_t len = strlen(path);
    if (len > MAX_SHOWN_PATH) { /* the end of a path tells more than its start */
        path += len - MAX_SHOWN_PATH;
        len = MAX_SHOWN_PATH;
    }
    g->name = asc_arena_strdup(&g->arena, asc_view_make(path, len));
    if (g->name == NULL) {
        asc_gguf_close(ctx, g);
        return ASC_RESOURCE_EXHAUSTED;
    }
    *out = g;
    return ASC_OK;
}

static asc_status read_all(asc_ctx *ctx, asc_gguf *g, const uint8_t *data, size_t size) {
    asc_status st = ASC_OK;
    g->data = data;
    g->size = size;
    ASC_TRY(asc_gguf_read_head(ctx, g));
    ASC_TRY(asc_gguf_read_metadata(ctx, g));
    ASC_TRY(asc_gguf_read_tensors(ctx, g));
done:
    return st;
}

asc_status asc_gguf_open(asc_ctx *ctx, const char *path, asc_gguf **out) {
    asc_status st = ASC_OK;
    asc_gguf *g = NULL;
    *out = NULL;
    ASC_TRY(create(ctx, path, &g));
    st = asc_map_open(ctx, path, &g->map);
    if (st == ASC_NOT_FOUND)
        asc_hint(ctx, "check the path; models are not fetched by name or address: download them first");
    if (st != ASC_OK) goto done;
    ASC_TRY(read_all(ctx, g, g->map.data, g->map.size));
    *out = g;
    return ASC_OK;
done:
    asc_gguf_close(ctx, g);
    return st;
}

asc_status asc_gguf_parse(asc_ctx *ctx, const void *data, size_t size, asc_gguf **out) {
    asc_status st = ASC_OK;
    asc_gguf *g = NULL;
    *out = NULL;
    ASC_TRY(create(ctx, "(memory)", &g));
    ASC_TRY(read_all(ctx, g, data, size));
    *out = g;
    return ASC_OK;
done:
    asc_gguf_close(ctx, g);
    return st;
}

void asc_gguf_close(asc_ctx *ctx, asc_gguf *g) {
    if (g == NULL) return;
    asc_map_close(ctx, &g->map);
    asc_arena_deinit(&g->arena);
    asc_free(ctx, g);
}

asc_status asc_gguf_check(asc_ctx *ctx, const asc_gguf *g) { return asc_map_check(ctx, &g->map); }

asc_status asc_gguf_sha256(asc_ctx *ctx, const asc_gguf *g, char hex[65]) {
    asc_status st = asc_gguf_check(ctx, g);
    if (st == ASC_OK) asc_sha256_hex(g->data, g->size, hex);
    return st;
}

const char *asc_gguf_name(const asc_gguf *g) { return g->name; }
uint32_t asc_gguf_version(const asc_gguf *g) { return g->version; }
size_t asc_gguf_size(const asc_gguf *g) { return g->size; }
size_t asc_gguf_alignment(const asc_gguf *g) { return g->alignment; }
