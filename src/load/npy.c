/* npy.c - the header: magic, version, and a Python dictionary of three keys, read as such and never
 * evaluated. */
#include "npy.h"
#include "view.h"

static const char MAGIC[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

static asc_status damaged(asc_ctx *ctx, const char *what) {
    ASC_FAIL(ctx, ASC_DATA_LOSS, "npy: %s", what);
    return asc_hint(ctx, "save the array again with numpy.save");
}

typedef struct cursor {
    const char *p, *end;
} cursor;

static void skip_blanks(cursor *c) {
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\t' || *c->p == '\n')) c->p++;
}

static bool take(cursor *c, char ch) {
    skip_blanks(c);
    if (c->p >= c->end || *c->p != ch) return false;
    c->p++;
    return true;
}

static bool take_string(cursor *c, asc_view *out) {
    skip_blanks(c);
    if (c->p >= c->end || (*c->p != '\'' && *c->p != '"')) return false;
    char quote = *c->p++;
    const char *start = c->p;
    while (c->p < c->end && *c->p != quote && *c->p != '\\') c->p++;
    if (c->p >= c->end || *c->p != quote) return false;
    *out = asc_view_make(start, (size_t)(c->p - start));
    c->p++;
    return true;
}

static bool take_word(cursor *c, const char *word) {
    skip_blanks(c);
    asc_view rest = asc_view_make(c->p, (size_t)(c->end - c->p));
    if (!asc_view_starts(rest, asc_view_of(word))) return false;
    c->p += strlen(word);
    return true;
}

static bool take_int(cursor *c, int64_t *out) {
    skip_blanks(c);
    const char *start = c->p;
    *out = 0;
    while (c->p < c->end && *c->p >= '0' && *c->p <= '9') {
        if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, *c->p - '0', out))
            return false;
        c->p++;
    }
    if (c->p == start) return false;
    if (c->p < c->end && *c->p == 'L') c->p++; /* written by Python 2 */
    return true;
}

static asc_status unsupported(asc_ctx *ctx, asc_view descr) {
    const struct {
        char kind;
        const char *name;
    } kinds[] = {{'O', "Python objects (a pickle)"},
                 {'S', "byte strings"},
                 {'a', "byte strings"},
                 {'U', "strings"},
                 {'V', "raw or structured data"},
                 {'c', "complex numbers"},
                 {'M', "dates"},
                 {'m', "time spans"}};
    char kind = descr.len > 1 ? descr.ptr[1] : descr.len == 1 ? descr.ptr[0] : '?';
    const char *what = "elements of an unknown type";
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kind == kinds[i].kind) what = kinds[i].name;
    }
    asc_view cut = asc_view_cut(descr, 40);
    ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "npy: it holds %s ('" ASC_VIEW_FMT "')", what, ASC_VIEW_ARG(cut));
    return asc_hint(ctx, "convert it before saving: a.astype('float32')");
}

/* '<f4', '|b1', '>i8', also without a byte order ('f4': the machine's, here little-endian). */
static asc_status read_descr(asc_ctx *ctx, asc_view d, asc_npy *out) {
    static const struct {
        const char *text;
        asc_elem elem;
    } types[] = {{"f4", ASC_ELEM_F32}, {"f8", ASC_ELEM_F64}, {"f2", ASC_ELEM_F16}, {"i1", ASC_ELEM_I8},
                 {"i2", ASC_ELEM_I16}, {"i4", ASC_ELEM_I32}, {"i8", ASC_ELEM_I64}, {"u1", ASC_ELEM_U8},
                 {"u2", ASC_ELEM_U16}, {"u4", ASC_ELEM_U32}, {"u8", ASC_ELEM_U64}, {"b1", ASC_ELEM_BOOL}};
    asc_view type = d;
    char order = '=';
    if (d.len > 0 && strchr("<>|=", d.ptr[0]) != NULL) {
        order = d.ptr[0];
        type = asc_view_make(d.ptr + 1, d.len - 1);
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (!asc_view_eqs(type, types[i].text)) continue;
        out->elem = types[i].elem;
        out->swap = order == '>' && asc_elem_bytes(out->elem) > 1;
        return ASC_OK;
    }
    return unsupported(ctx, d);
}

static asc_status read_shape(asc_ctx *ctx, cursor *c, asc_npy *out) {
    if (!take(c, '(')) return damaged(ctx, "'shape' is no tuple");
    for (bool comma = true; !take(c, ')');) {
        int64_t n;
        if (!comma || !take_int(c, &n)) return damaged(ctx, "'shape' is no tuple of sizes");
        if (out->shape.rank == ASC_MAX_RANK) {
            ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "npy: more than %d dimensions", ASC_MAX_RANK);
            return asc_hint(ctx, "reshape the array before saving it");
        }
        out->shape.dims[out->shape.rank++] = n;
        comma = take(c, ',');
    }
    return ASC_OK;
}

static asc_status read_dict(asc_ctx *ctx, cursor *c, asc_npy *out) {
    enum { DESCR = 1, ORDER = 2, SHAPE = 4 };
    int seen = 0;
    if (!take(c, '{')) return damaged(ctx, "its header is no dictionary");
    for (bool comma = true; !take(c, '}');) {
        asc_view key, text;
        asc_status st = ASC_OK;
        if (!comma || !take_string(c, &key) || !take(c, ':'))
            return damaged(ctx, "its header is no dictionary");
        int which = asc_view_eqs(key, "descr")           ? DESCR
                    : asc_view_eqs(key, "fortran_order") ? ORDER
                    : asc_view_eqs(key, "shape")         ? SHAPE
                                                         : 0;
        if (which == 0 || (seen & which) != 0)
            return damaged(ctx, "its header has an unknown or repeated key");
        seen |= which;
        if (which == DESCR) {
            skip_blanks(c);
            if (c->p < c->end && (*c->p == '[' || *c->p == '(')) return unsupported(ctx, asc_view_of("|V"));
            if (!take_string(c, &text)) return damaged(ctx, "'descr' is no string");
            st = read_descr(ctx, text, out);
        } else if (which == ORDER) {
            out->fortran = take_word(c, "True");
            if (!out->fortran && !take_word(c, "False")) return damaged(ctx, "'fortran_order' is no boolean");
        } else {
            st = read_shape(ctx, c, out);
        }
        if (st != ASC_OK) return st;
        comma = take(c, ',');
    }
    skip_blanks(c);
    if (c->p != c->end) return damaged(ctx, "there is text behind its header");
    return seen == (DESCR | ORDER | SHAPE) ? ASC_OK
                                           : damaged(ctx, "its header lacks descr, fortran_order or shape");
}

static asc_status not_npy(asc_ctx *ctx, const uint8_t *p, size_t size) {
    if (size >= 2 && p[0] == 0x80 && p[1] >= 2 && p[1] <= 5) {
        ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "npy: this is a pickle, which can run any program when it is read");
        return asc_hint(ctx, "save the array with numpy.save(..., allow_pickle=False)");
    }
    if (size >= 4 && memcmp(p, "PK\3\4", 4) == 0) {
        ASC_FAIL(ctx, ASC_DATA_LOSS, "npy: this is a zip file");
        return asc_hint(ctx, "if it is an .npz file, take one array out of it");
    }
    return damaged(ctx, "the file does not start as an .npy file does");
}

asc_status asc_npy_parse(asc_ctx *ctx, const void *data, size_t size, asc_npy *out) {
    const uint8_t *p = data;
    *out = (asc_npy){0};
    if (size < 10 || memcmp(p, MAGIC, sizeof MAGIC) != 0) return not_npy(ctx, p, size);
    size_t head = p[6] == 1 ? 10 : 12, len = (size_t)p[8] | (size_t)p[9] << 8;
    if (p[6] < 1 || p[6] > 3 || p[7] != 0) {
        ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "npy: version %d.%d", p[6], p[7]);
        return asc_hint(ctx, "versions 1.0, 2.0 and 3.0 are read");
    }
    if (size < head) return damaged(ctx, "the file ends inside its header");
    if (p[6] > 1) len |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
    if (len > ASC_NPY_MAX_HEADER) {
        ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "npy: a header of %zu bytes; the limit is %d", len,
                 ASC_NPY_MAX_HEADER);
        return asc_hint(ctx, "the file is damaged, or no array");
    }
    if (len > size - head) return damaged(ctx, "the file ends inside its header");
    cursor c = {(const char *)p + head, (const char *)p + head + len};
    asc_status st = read_dict(ctx, &c, out);
    if (st != ASC_OK) return st;
    asc_array a = {.elem = out->elem, .shape = out->shape};
    int64_t n = asc_array_count(&a);
    out->offset = head + len;
    if (n < 0 || !asc_mul_size((size_t)n, asc_elem_bytes(out->elem), &out->bytes))
        return damaged(ctx, "its shape has more elements than any file");
    if (out->bytes != size - out->offset) {
        ASC_FAIL(ctx, ASC_DATA_LOSS, "npy: the header asks for %zu bytes of elements, the file has %zu",
                 out->bytes, size - out->offset);
        return asc_hint(ctx, "the file was cut, or something was appended; save the array again");
    }
    return ASC_OK;
}

/* Row-major copy of elements whose first index runs fastest. */
static void reorder(const char *src, const asc_npy *npy, char *dst, size_t size) {
    size_t strides[ASC_MAX_RANK], step = size, from = 0;
    int64_t idx[ASC_MAX_RANK] = {0};
    const asc_shape *s = &npy->shape;
    for (int i = 0; i < s->rank; i++) {
        strides[i] = step;
        step *= (size_t)s->dims[i];
    }
    for (size_t to = 0; to < npy->bytes; to += size) {
        memcpy(dst + to, src + from, size);
        for (int i = s->rank - 1; i >= 0; i--) {
            from += strides[i];
            if (++idx[i] < s->dims[i]) break;
            from -= strides[i] * (size_t)s->dims[i];
            idx[i] = 0;
        }
    }
}

asc_status asc_npy_copy(asc_ctx *ctx, const void *data, const asc_npy *npy, asc_array *out) {
    const char *src = (const char *)data + npy->offset;
    const size_t size = asc_elem_bytes(npy->elem), bytes = npy->bytes;
    *out = (asc_array){0};
    char *dst = asc_alloc_buffer(ctx, ASC_MEM_GENERAL, bytes + 1);
    if (dst == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (npy->fortran && npy->shape.rank > 1) {
        reorder(src, npy, dst, size);
    } else {
        memcpy(dst, src, bytes);
    }
    for (size_t i = 0; npy->swap && i < bytes; i += size) {
        for (size_t k = 0; k < size / 2; k++) {
            char c = dst[i + k];
            dst[i + k] = dst[i + size - 1 - k];
            dst[i + size - 1 - k] = c;
        }
    }
    for (size_t i = 0; npy->elem == ASC_ELEM_BOOL && i < bytes; i++) dst[i] = dst[i] != 0;
    *out = (asc_array){.elem = npy->elem, .shape = npy->shape, .data = dst};
    return ASC_OK;
}
