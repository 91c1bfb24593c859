/* bytes.c - bytes of a file as numbers for nets that read bytes. The rule of "magika" (magika 1.0.3, standard
 * model v3.3): of the first 4,096 bytes, without white space on the left, the first 1,024, filled up on the
 * right; then of the last 4,096 bytes, without white space on the right, the last 1,024, filled up on the
 * left; 256 where there is no byte. */
#include "alloc.h"
#include "ascribe/inputs.h"
#include "file.h"
#include <string.h>

enum { BLOCK = 4096, PART = 1024, PADDING = 256, RAW_LIMIT = 1 << 26 };

typedef struct numbers {
    int32_t *id;
    int64_t *offset; /* may be NULL */
    size_t n;
} numbers;

/* Python's bytes.strip() takes these. */
static bool blank(uint8_t b) { return b == ' ' || (b >= '\t' && b <= '\r'); }

static void put(numbers *o, const uint8_t *data, size_t at, bool there) {
    o->id[o->n] = there ? data[at] : PADDING;
    if (o->offset != NULL) o->offset[o->n] = there ? (int64_t)at : -1;
    o->n++;
}

static void magika(const uint8_t *data, size_t len, numbers *o) {
    size_t block = len < BLOCK ? len : BLOCK, from = 0, to = block, n;
    while (from < to && blank(data[from])) from++;
    n = to - from < PART ? to - from : PART;
    for (size_t i = 0; i < PART; i++) put(o, data, from + i, i < n);
    from = len - block;
    to = len;
    while (from < to && blank(data[to - 1])) to--;
    n = to - from < PART ? to - from : PART;
    for (size_t i = 0; i < PART; i++) put(o, data, to + i - PART, i >= PART - n); /* PART <= to + i there */
}

static void raw(const uint8_t *data, size_t len, numbers *o) {
    for (size_t i = 0; i < len; i++) put(o, data, i, true);
}

asc_status asc_bytes_encode(asc_ctx *ctx, const void *data, size_t len, const char *preset, asc_array *out,
                            asc_array *offsets) {
    bool is_magika = strcmp(preset, "magika") == 0;
    numbers o = {0};
    *out = (asc_array){0};
    if (offsets != NULL) *offsets = (asc_array){0};
    if (!is_magika && strcmp(preset, "raw") != 0) {
        ASC_FAIL(ctx, ASC_NOT_FOUND, "there is no rule '%.60s' for bytes", preset);
        return asc_hint(ctx, "one of: raw, magika");
    }
    if (len == 0) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "there are no bytes");
        return asc_hint(ctx, "name a file that is not empty");
    }
    if (!is_magika && len > RAW_LIMIT) {
        ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "%zu bytes; at most %d are taken one by one", len, RAW_LIMIT);
        return asc_hint(ctx, "cut out the part that the net is to see");
    }
    size_t n = is_magika ? 2 * PART : len;
    o.id = asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *o.id);
    if (o.id != NULL && offsets != NULL) o.offset = asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *o.offset);
    if (o.id == NULL || (offsets != NULL && o.offset == NULL)) {
        asc_free(ctx, o.id);
        return ASC_RESOURCE_EXHAUSTED;
    }
    (is_magika ? magika : raw)(data, len, &o);
    *out = (asc_array){.elem = ASC_ELEM_I32, .shape = ASC_SHAPE(1, (int64_t)n), .data = o.id};
    if (offsets != NULL)
        *offsets = (asc_array){.elem = ASC_ELEM_I64, .shape = ASC_SHAPE((int64_t)n), .data = o.offset};
    return ASC_OK;
}

asc_status asc_bytes_to_array(asc_ctx *ctx, const char *path, const char *preset, asc_array *out,
                              asc_array *offsets) {
    char *data = NULL;
    size_t len = 0;
    *out = (asc_array){0};
    if (offsets != NULL) *offsets = (asc_array){0};
    asc_status st = asc_file_read(ctx, path, (size_t)1 << 32, &data, &len);
    if (st != ASC_OK) return st;
    st = asc_bytes_encode(ctx, data, len, preset, out, offsets);
    asc_free(ctx, data);
    return st == ASC_OK ? st : asc_fail_context(ctx, "%s", path);
}
