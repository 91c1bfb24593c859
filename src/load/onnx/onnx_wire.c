/* onnx_wire.c - see onnx_wire.h. */
#include "onnx_wire.h"
#include "plain.h"
#include <stdarg.h>
#include <stdio.h>

asc_status asc_wire_bad(asc_wire *w, const char *fmt, ...) {
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    asc_vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    w->st = ASC_FAIL(w->ctx, ASC_DATA_LOSS, "'%s': at byte %zu: %s: %s", w->file, (size_t)(w->p - w->start),
                     w->what, text);
    return asc_hint(w->ctx, "the file is cut short, damaged or not ONNX; fetch or export it again");
}

bool asc_wire_varint(const uint8_t **p, const uint8_t *end, uint64_t *out) {
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (*p == end) return false;
        uint8_t b = *(*p)++;
        if (shift == 63 && b > 1) return false;
        v |= (uint64_t)(b & 0x7F) << shift;
        if ((b & 0x80) == 0) {
            *out = v;
            return true;
        }
    }
    return false;
}

static bool fixed(asc_wire *w, int bytes, uint64_t *out) {
    if (w->end - w->p < bytes) {
        asc_wire_bad(w, "a number of %d bytes where %zu are left", bytes, (size_t)(w->end - w->p));
        return false;
    }
    *out = 0;
    for (int i = 0; i < bytes; i++) *out |= (uint64_t)w->p[i] << (8 * i);
    w->p += bytes;
    return true;
}

static bool bytes(asc_wire *w, asc_wire_field *f) {
    uint64_t len;
    if (!asc_wire_varint(&w->p, w->end, &len)) {
        asc_wire_bad(w, "the length of field %u has no end", f->number);
        return false;
    }
    if (len > (uint64_t)(w->end - w->p)) {
        asc_wire_bad(w, "field %u of %llu bytes where %zu are left", f->number, (unsigned long long)len,
                     (size_t)(w->end - w->p));
        return false;
    }
    f->data = w->p;
    f->len = (size_t)len;
    w->p += len;
    return true;
}

bool asc_wire_next(asc_wire *w, asc_wire_field *f) {
    uint64_t key;
    *f = (asc_wire_field){.data = w->p}; /* never NULL: an empty list starts somewhere too */
    if (w->st != ASC_OK || w->p == w->end) return false;
    if (!asc_wire_varint(&w->p, w->end, &key)) {
        asc_wire_bad(w, "a field number without end");
        return false;
    }
    if (key >> 3 == 0 || key >> 32 != 0) {
        asc_wire_bad(w, "field number %llu", (unsigned long long)(key >> 3));
        return false;
    }
    f->number = (uint32_t)(key >> 3);
    f->type = (asc_wire_type)(key & 7);
    switch (key & 7) {
    case ASC_WIRE_VARINT:
        if (asc_wire_varint(&w->p, w->end, &f->value)) return true;
        asc_wire_bad(w, "the number in field %u has no end", f->number);
        return false;
    case ASC_WIRE_FIXED64:
        return fixed(w, 8, &f->value);
    case ASC_WIRE_FIXED32:
        return fixed(w, 4, &f->value);
    case ASC_WIRE_BYTES:
        return bytes(w, f);
    default:
        asc_wire_bad(w, "field %u has wire type %d, which ONNX does not use", f->number, (int)(key & 7));
        return false;
    }
}

asc_wire asc_wire_sub(const asc_wire *w, const asc_wire_field *f, const char *what) {
    asc_wire s = *w;
    s.what = what;
    s.p = f->data;
    s.end = f->data + f->len;
    return s;
}

size_t asc_wire_count(const asc_wire *w, uint32_t number) {
    /* The same walk without messages: an error ends it, and the reading walk behind it reports. */
    const uint8_t *p = w->p;
    size_t n = 0;
    while (p != w->end) {
        uint64_t key, len;
        if (!asc_wire_varint(&p, w->end, &key)) return n;
        uint64_t skip = 0;
        switch (key & 7) {
        case ASC_WIRE_VARINT:
            if (!asc_wire_varint(&p, w->end, &len)) return n;
            break;
        case ASC_WIRE_FIXED64:
            skip = 8;
            break;
        case ASC_WIRE_FIXED32:
            skip = 4;
            break;
        case ASC_WIRE_BYTES:
            if (!asc_wire_varint(&p, w->end, &skip)) return n;
            break;
        default:
            return n;
        }
        if (skip > (uint64_t)(w->end - p)) return n;
        p += skip;
        n += key >> 3 == number;
    }
    return n;
}

bool asc_wire_expect(asc_wire *w, const asc_wire_field *f, asc_wire_type type) {
    if (f->type == type) return true;
    asc_wire_bad(w, "field %u has wire type %d, not %d", f->number, (int)f->type, (int)type);
    return false;
}
