/* safetensors_header.c - safetensors files: eight bytes of header length, a JSON header, elements row-major
 * and little-endian without gaps. Format: https://huggingface.co/docs/safetensors ("Format"). */
#include "json.h"
#include "safetensors.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct span {
    uint64_t begin, end;
} span;

static int by_begin(const void *a, const void *b) {
    const span *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

static asc_status damaged(asc_ctx *ctx, const char *what) {
    ASC_FAIL(ctx, ASC_DATA_LOSS, "safetensors: %s", what);
    return asc_hint(ctx, "the file was cut or changed; make or fetch it again");
}

enum { BF16 = ASC_SAFETENSORS_BF16 };

static int elem_of(asc_view name) {
    static const struct {
        const char *name;
        int elem;
    } types[] = {{"F64", ASC_ELEM_F64},  {"F32", ASC_ELEM_F32}, {"F16", ASC_ELEM_F16}, {"BF16", BF16},
                 {"I64", ASC_ELEM_I64},  {"I32", ASC_ELEM_I32}, {"I16", ASC_ELEM_I16}, {"I8", ASC_ELEM_I8},
                 {"U64", ASC_ELEM_U64},  {"U32", ASC_ELEM_U32}, {"U16", ASC_ELEM_U16}, {"U8", ASC_ELEM_U8},
                 {"BOOL", ASC_ELEM_BOOL}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (asc_view_eqs(name, types[i].name)) return types[i].elem;
    }
    return -1;
}

static bool whole(const asc_json *j, int64_t *out) {
    *out = asc_json_int(j, -1);
    return asc_json_typeof(j) == ASC_JSON_INT && *out >= 0;
}

/* One entry of the header: type, shape and place. */
static asc_status read_entry(asc_ctx *ctx, const asc_json *e, size_t room, int *elem, asc_shape *shape,
                             span *at) {
    asc_view type = asc_json_str(asc_json_get(e, "dtype"));
    const asc_json *dims = asc_json_get(e, "shape"), *offsets = asc_json_get(e, "data_offsets");
    int64_t begin, end;
    if (asc_json_typeof(e) != ASC_JSON_OBJECT || type.ptr == NULL ||
        asc_json_typeof(dims) != ASC_JSON_ARRAY || asc_json_len(offsets) != 2 ||
        !whole(asc_json_at(offsets, 0), &begin) || !whole(asc_json_at(offsets, 1), &end))
        return damaged(ctx, "its entry lacks dtype, shape or data_offsets");
    *elem = elem_of(type);
    if (*elem < 0) {
        asc_view cut = asc_view_cut(type, 40);
        ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "safetensors: element type " ASC_VIEW_FMT, ASC_VIEW_ARG(cut));
        return asc_hint(ctx, "convert the tensor to F32 before saving");
    }
    *shape = (asc_shape){.rank = (int)asc_json_len(dims)};
    if (asc_json_len(dims) > ASC_MAX_RANK) {
        ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "safetensors: %zu dimensions; at most %d", asc_json_len(dims),
                 ASC_MAX_RANK);
        return asc_hint(ctx, "reshape the tensor before saving");
    }
    for (int i = 0; i < shape->rank; i++) {
        if (!whole(asc_json_at(dims, (size_t)i), &shape->dims[i]))
            return damaged(ctx, "its shape has no sizes");
    }
    asc_array a = {.elem = *elem == BF16 ? ASC_ELEM_F16 : (asc_elem)*elem, .shape = *shape};
    int64_t n = asc_array_count(&a);
    size_t bytes;
    if (n < 0 || !asc_mul_size((size_t)n, asc_elem_bytes(a.elem), &bytes) || begin > end ||
        (uint64_t)end > room || (uint64_t)(end - begin) != bytes)
        return damaged(ctx, "its shape, type and offsets do not agree with each other or with the file");
    *at = (span){(uint64_t)begin, (uint64_t)end};
    return ASC_OK;
}

/* The elements of all tensors fill the rest of the file, without gap or overlap. */
static asc_status check_cover(asc_ctx *ctx, span *spans, size_t n, size_t room) {
    uint64_t at = 0;
    if (n > 0) qsort(spans, n, sizeof *spans, by_begin);
    for (size_t i = 0; i < n; i++) {
        if (spans[i].begin != at) return damaged(ctx, "there is a gap or an overlap between tensors");
        at = spans[i].end;
    }
    return at == room ? ASC_OK : damaged(ctx, "there are bytes that belong to no tensor");
}

static asc_status walk(asc_ctx *ctx, const asc_json *root, const uint8_t *data, size_t room, span *spans,
                       asc_safetensors_fn fn, void *self) {
    void *iter = NULL;
    asc_view name;
    const asc_json *e;
    size_t n = 0;
    for (int pass = 0; pass < 2; pass++) { /* everything is checked before anything is handed on */
        while (asc_json_next(root, &iter, &name, &e)) {
            int elem = -1;
            asc_shape shape;
            span at;
            if (asc_view_eqs(name, "__metadata__")) continue;
            asc_status st = read_entry(ctx, e, room, &elem, &shape, &at);
            if (st == ASC_OK && pass == 0) spans[n++] = at;
            if (st == ASC_OK && pass == 1)
                st = fn(self,
                        &(asc_safetensor){name, elem, shape, data + at.begin, (size_t)(at.end - at.begin)});
            if (st != ASC_OK) {
                asc_view cut = asc_view_cut(name, 200);
                return asc_fail_context(ctx, "tensor '" ASC_VIEW_FMT "'", ASC_VIEW_ARG(cut));
            }
        }
        asc_status st = pass == 0 ? check_cover(ctx, spans, n, room) : ASC_OK;
        if (st != ASC_OK) return st;
        iter = NULL;
    }
    return ASC_OK;
}

asc_status asc_safetensors_each(asc_ctx *ctx, const void *data, size_t size, asc_safetensors_fn fn,
                                void *self) {
    const uint8_t *p = data;
    uint64_t len = 0;
    asc_json *root = NULL;
    if (size < 8) return damaged(ctx, "the file has no header");
    for (int i = 7; i >= 0; i--) len = len << 8 | p[i];
    if (len > ASC_SAFETENSORS_MAX_HEADER) {
        ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "safetensors: a header of %llu bytes; the limit is %d",
                 (unsigned long long)len, ASC_SAFETENSORS_MAX_HEADER);
        return asc_hint(ctx, "the file is damaged, or no safetensors file");
    }
    if (len > size - 8) return damaged(ctx, "the file ends inside its header");
    if (len < 2 || p[8] != '{') return damaged(ctx, "its header is no JSON object");
    asc_status st = asc_json_parse(ctx, (const char *)p + 8, (size_t)len, &root);
    if (st == ASC_INVALID_ARGUMENT) {
        char why[256];
        snprintf(why, sizeof why, "%.255s", asc_error_message(ctx));
        return damaged(ctx, why);
    }
    if (st != ASC_OK) return st;
    span *spans = asc_calloc(ctx, ASC_MEM_GENERAL, asc_json_len(root) + 1, sizeof *spans);
    st = spans == NULL ? ASC_RESOURCE_EXHAUSTED
                       : walk(ctx, root, p + 8 + len, size - 8 - (size_t)len, spans, fn, self);
    asc_free(ctx, spans);
    asc_json_free(root);
    return st;
}
