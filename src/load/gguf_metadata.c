/* gguf_metadata.c - reads the key-value section. Values stay in the file; string arrays get an index of
 * offsets, since vocabularies are read by position and hold up to some hundred thousand strings. */
#include "gguf_parts.h"

static size_t size_of(uint32_t type) { /* 0 for strings, arrays and unknown types */
    static const uint8_t bytes[ASC_GGUF_N_TYPES] = {
#define BYTES(e, name, number, size) [number] = (size),
        ASC_GGUF_TYPE_TABLE(BYTES)
#undef BYTES
    };
    return type < ASC_GGUF_N_TYPES ? bytes[type] : 0;
}

static asc_status read_type(asc_ctx *ctx, asc_gguf *g, asc_view key, uint32_t *out) {
    asc_status st = asc_gguf_read_u32(ctx, g, "the value type", key, out);
    if (st != ASC_OK || *out < ASC_GGUF_N_TYPES) return st;
    key = asc_view_cut(key, 128);
    return asc_gguf_bad(ctx, g, g->pos - 4, "'" ASC_VIEW_FMT "' has the unknown value type %u",
                        ASC_VIEW_ARG(key), *out);
}

/* Numbers and bools, which are checked to be 0 or 1. */
static asc_status read_plain(asc_ctx *ctx, asc_gguf *g, asc_view key, uint32_t type, uint64_t count) {
    size_t bytes;
    if (!asc_mul_size(size_of(type), (size_t)count, &bytes)) bytes = SIZE_MAX;
    asc_status st = asc_gguf_need(ctx, g, bytes, "the value", key);
    if (st != ASC_OK) return st;
    if (type == ASC_GGUF_BOOL) {
        uint8_t all = 0;
        for (size_t i = 0; i < bytes; i++) all |= g->data[g->pos + i];
        key = asc_view_cut(key, 128);
        if (all > 1) {
            return asc_gguf_bad(ctx, g, g->pos, "'" ASC_VIEW_FMT "' holds a bool that is neither 0 nor 1",
                                ASC_VIEW_ARG(key));
        }
    }
    g->pos += bytes;
    return ASC_OK;
}

/* `index` (may be NULL) receives where each string starts, counted from the first. */
static asc_status read_strings(asc_ctx *ctx, asc_gguf *g, asc_view key, uint64_t count, uint32_t *index) {
    const uint8_t *data = g->data;
    size_t start = g->pos, pos = start, size = g->size;
    for (uint64_t i = 0; i < count; i++) {
        if (index != NULL) index[i] = (uint32_t)(pos - start);
        uint64_t len = size - pos >= 8 ? asc_le64(data + pos) : UINT64_MAX;
        if (size - pos < 8 || len > size - pos - 8) {
            g->pos = pos;
            return asc_gguf_need(ctx, g, len < UINT64_MAX - 8 ? len + 8 : UINT64_MAX, "a string", key);
        }
        pos += 8 + (size_t)len;
        if (pos - start > UINT32_MAX) {
            key = asc_view_cut(key, 128);
            ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED,
                     "'%s': the strings of '" ASC_VIEW_FMT "' take more than 4 GiB", g->name,
                     ASC_VIEW_ARG(key));
            return asc_hint(ctx, "the file is damaged, or not a model that this program can run");
        }
    }
    g->pos = pos;
    return ASC_OK;
}

/* Reads an array's element type, count and elements; inner arrays (depth > 1) are checked and left unindexed.
 */
static asc_status read_array(asc_ctx *ctx, asc_gguf *g, asc_view key, int depth, asc_gguf_array *out) {
    asc_status st = ASC_OK;
    uint32_t type, *index = NULL;
    uint64_t count;
    ASC_TRY(read_type(ctx, g, key, &type));
    size_t at = g->pos;
    ASC_TRY(asc_gguf_read_u64(ctx, g, "the array length", key, &count));
    /* Smallest element: a string has its length, an inner array its type and length. */
    size_t least = type == ASC_GGUF_STRING ? 8 : type == ASC_GGUF_ARRAY ? 12 : size_of(type);
    if (count > (g->size - g->pos) / least) {
        key = asc_view_cut(key, 128);
        ASC_FAIL(ctx, ASC_DATA_LOSS,
                 "'%s': at byte %zu: '" ASC_VIEW_FMT
                 "' has %llu elements, more than the remaining %zu bytes can hold",
                 g->name, at, ASC_VIEW_ARG(key), (unsigned long long)count, g->size - g->pos);
        st = asc_hint(ctx, "the file is cut short or damaged; fetch it again");
        goto done;
    }
    *out = (asc_gguf_array){.type = (asc_gguf_type)type, .count = (size_t)count, .data = g->data + g->pos};
    if (type == ASC_GGUF_STRING) {
        if (depth == 1 && count > 1) {
            index = asc_arena_alloc(&g->arena, (size_t)count * sizeof *index);
            if (index == NULL) return ASC_RESOURCE_EXHAUSTED;
            out->index = index;
        }
        ASC_TRY(read_strings(ctx, g, key, count, index));
    } else if (type == ASC_GGUF_ARRAY) {
        if (depth == ASC_GGUF_MAX_DEPTH) {
            key = asc_view_cut(key, 128);
            st = asc_gguf_bad(ctx, g, at, "'" ASC_VIEW_FMT "' nests arrays more than %d deep",
                              ASC_VIEW_ARG(key), ASC_GGUF_MAX_DEPTH);
            goto done;
        }
        asc_gguf_array inner;
        for (uint64_t i = 0; i < count; i++) ASC_TRY(read_array(ctx, g, key, depth + 1, &inner));
    } else {
        ASC_TRY(read_plain(ctx, g, key, type, count));
    }
done:
    return st;
}

static asc_status read_value(asc_ctx *ctx, asc_gguf *g, asc_gguf_kv *kv) {
    uint32_t type;
    asc_status st = read_type(ctx, g, kv->key, &type);
    if (st != ASC_OK) return st;
    kv->file_offset = g->pos;
    kv->is_array = type == ASC_GGUF_ARRAY;
    if (kv->is_array) return read_array(ctx, g, kv->key, 1, &kv->values);
    kv->values = (asc_gguf_array){.type = (asc_gguf_type)type, .count = 1, .data = g->data + g->pos};
    if (type == ASC_GGUF_STRING) return read_strings(ctx, g, kv->key, 1, NULL);
    return read_plain(ctx, g, kv->key, type, 1);
}

asc_status asc_gguf_read_metadata(asc_ctx *ctx, asc_gguf *g) {
    asc_status st = ASC_OK;
    /* The smallest entry: length of the key, one byte of it, type, a value of one byte. */
    ASC_TRY(
        asc_gguf_check_count(ctx, g, "the metadata count", g->kv_count, 8 + 1 + 4 + 1, ASC_GGUF_MAX_KEYS));
    g->n_kvs = (size_t)g->kv_count;
    g->kvs = asc_arena_alloc(&g->arena, g->n_kvs * sizeof *g->kvs);
    if (g->kvs == NULL) return ASC_RESOURCE_EXHAUSTED;
    ASC_TRY(asc_name_index_init(&g->arena, &g->kv_index, g->kvs, sizeof *g->kvs, g->n_kvs));
    for (size_t i = 0; i < g->n_kvs; i++) {
        asc_gguf_kv *kv = &g->kvs[i];
        size_t at = g->pos;
        ASC_TRY(asc_gguf_read_name(ctx, g, "a metadata key", ASC_GGUF_MAX_KEY_BYTES, &kv->key));
        if (!asc_name_index_add(&g->kv_index, (uint32_t)i)) {
            asc_view key = asc_view_cut(kv->key, 128);
            st = asc_gguf_bad(ctx, g, at, "the metadata key '" ASC_VIEW_FMT "' appears twice",
                              ASC_VIEW_ARG(key));
            goto done;
        }
        ASC_TRY(read_value(ctx, g, kv));
    }
done:
    return st;
}
