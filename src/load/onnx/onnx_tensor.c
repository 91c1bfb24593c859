/* onnx_tensor.c - TensorProto: dims, type and data, checked against each other. raw_data, packed floats and
 * external files are used where they lie; varints are decoded into the model's arena. */
#include "half.h"
#include "onnx_model.h"
#include <math.h>
#include <stdio.h>

static const struct {
    const char *name;
    size_t bytes;
} types[] = {{"undefined", 0},
#define TYPE_ROW(e, number, name, bytes) [number] = {name, bytes},
             ASC_ONNX_TYPE_TABLE(TYPE_ROW)
#undef TYPE_ROW
};
enum { N_TYPES = sizeof types / sizeof types[0] };

const char *asc_onnx_type_name(int type) {
    return type >= 0 && type < N_TYPES ? types[type].name : "unknown";
}
size_t asc_onnx_type_bytes(int type) { return type >= 0 && type < N_TYPES ? types[type].bytes : 0; }
bool asc_onnx_type_is_float(int type) {
    return type == ASC_ONNX_FLOAT || type == ASC_ONNX_FLOAT16 || type == ASC_ONNX_BFLOAT16 ||
           type == ASC_ONNX_DOUBLE;
}

/* The fields of a TensorProto as found, before they are checked against each other. */
typedef struct raw {
    int rank;
    int64_t dims[ASC_MAX_RANK];
    bool has_raw, external;
    asc_wire_field data; /* raw_data */
    uint32_t typed;      /* number of the typed field that holds data; 0 = none */
    asc_view location;
    uint64_t offset, length;
    bool has_length;
} raw;

static asc_status bad(asc_wire *w, const asc_onnx_tensor *t, asc_status code, const char *what) {
    w->st = ASC_FAIL(w->ctx, code, "'%s': tensor '" ASC_VIEW_FMT "' (%s): %s", w->file,
                     ASC_VIEW_ARG(asc_view_cut(t->name, 120)), asc_onnx_type_name(t->elem), what);
    return asc_hint(w->ctx, code == ASC_UNIMPLEMENTED ? "export the model with another type or layout"
                                                      : "the file is damaged; export it again");
}

static bool add_dim(asc_wire *w, raw *r, uint64_t v) {
    if (r->rank == ASC_MAX_RANK) {
        w->st = ASC_FAIL(w->ctx, ASC_UNIMPLEMENTED, "'%s': a tensor of more than %d dimensions", w->file,
                         ASC_MAX_RANK);
        asc_hint(w->ctx, "split the tensor, or merge dimensions before exporting");
        return false;
    }
    if (v > INT64_MAX) return asc_wire_bad(w, "a dimension below 0"), false;
    r->dims[r->rank++] = (int64_t)v;
    return true;
}

static bool read_dims(asc_wire *w, const asc_wire_field *f, raw *r) {
    if (f->type == ASC_WIRE_VARINT) return add_dim(w, r, f->value);
    if (!asc_wire_expect(w, f, ASC_WIRE_BYTES)) return false;
    const uint8_t *p = f->data, *end = f->data + f->len;
    while (p != end) {
        uint64_t v;
        if (!asc_wire_varint(&p, end, &v)) return asc_wire_bad(w, "a dimension without end"), false;
        if (!add_dim(w, r, v)) return false;
    }
    return true;
}

static bool number(asc_view v, uint64_t *out) {
    *out = 0;
    if (v.len == 0 || v.len > 19) return false;
    for (size_t i = 0; i < v.len; i++) {
        if (v.ptr[i] < '0' || v.ptr[i] > '9') return false;
        *out = *out * 10 + (uint64_t)(v.ptr[i] - '0');
    }
    return true;
}

/* One key and value of external_data. */
static bool read_external(asc_wire *w, const asc_wire_field *f, raw *r) {
    if (!asc_wire_expect(w, f, ASC_WIRE_BYTES)) return false;
    asc_wire s = asc_wire_sub(w, f, "external_data");
    asc_wire_field e;
    asc_view key = {0}, value = {0};
    while (asc_wire_next(&s, &e)) {
        if (e.number <= 2 && !asc_wire_expect(&s, &e, ASC_WIRE_BYTES)) break;
        if (e.number == 1) key = asc_wire_view(&e);
        if (e.number == 2) value = asc_wire_view(&e);
    }
    if (s.st != ASC_OK) return w->st = s.st, false;
    bool ok = true;
    if (asc_view_eqs(key, "location")) r->location = value;
    if (asc_view_eqs(key, "offset")) ok = number(value, &r->offset);
    if (asc_view_eqs(key, "length")) ok = r->has_length = number(value, &r->length);
    if (!ok) asc_wire_bad(w, "external offset or length that is no number");
    return ok;
}

/* First walk: everything but the typed data. */
static bool read_fields(asc_wire w, asc_onnx_tensor *t, raw *r, asc_status *st) {
    asc_wire_field f;
    while (asc_wire_next(&w, &f)) {
        bool ok = true;
        switch (f.number) {
        case 1:
            ok = read_dims(&w, &f, r);
            break;
        case 2:
            ok = asc_wire_expect(&w, &f, ASC_WIRE_VARINT);
            t->elem = f.value < N_TYPES ? (int)f.value : N_TYPES;
            break;
        case 3:
            asc_wire_bad(&w, "a tensor in segments");
            break;
        case 4:
        case 5:
        case 6:
        case 7:
        case 10:
        case 11:
            r->typed = f.number;
            break;
        case 8:
            ok = asc_onnx_parse_name(&w, &f, &t->name) == ASC_OK;
            break;
        case 9:
            ok = asc_wire_expect(&w, &f, ASC_WIRE_BYTES);
            r->has_raw = true;
            r->data = f;
            break;
        case 13:
            ok = read_external(&w, &f, r);
            break;
        case 14:
            r->external = f.value == 1;
            break;
        default:
            break;
        }
        if (!ok || w.st != ASC_OK) break;
    }
    *st = w.st;
    return w.st == ASC_OK;
}

/* The bytes of an element in its typed field, and how it is written there. */
static uint32_t typed_field(int elem) {
    switch (elem) {
    case ASC_ONNX_FLOAT:
        return 4;
    case ASC_ONNX_DOUBLE:
        return 10;
    case ASC_ONNX_INT64:
        return 7;
    case ASC_ONNX_UINT32:
    case ASC_ONNX_UINT64:
        return 11;
    case ASC_ONNX_STRING:
        return 6;
    default:
        return 5; /* small integers, bool, bits of 16-bit floats */
    }
}

static void put(uint8_t *out, uint64_t v, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) out[i] = (uint8_t)(v >> (8 * i));
}

/* Second walk: typed data, packed or one by one, into bytes of the element type. */
static asc_status read_typed(asc_onnx_model *m, asc_wire w, asc_onnx_tensor *t) {
    uint32_t want = typed_field(t->elem);
    size_t size = asc_onnx_type_bytes(t->elem), fixed = want == 4 ? 4 : want == 10 ? 8 : 0;
    uint64_t left = (uint64_t)(w.end - w.p) / (fixed != 0 ? fixed : 1);
    if ((uint64_t)t->n > left) return bad(&w, t, ASC_DATA_LOSS, "fewer elements than its shape says");
    asc_wire_field f;
    size_t chunks = asc_wire_count(&w, want), n = 0;
    uint8_t *out = NULL;
    while (asc_wire_next(&w, &f)) {
        if (f.number != want) continue;
        if (f.type == ASC_WIRE_BYTES && fixed != 0 && chunks == 1) { /* lies there as it is wanted */
            t->data = f.data;
            t->bytes = f.len;
            return f.len == (size_t)t->n * size
                       ? ASC_OK
                       : bad(&w, t, ASC_DATA_LOSS, "another number of elements than its shape");
        }
        if (out == NULL && (out = asc_arena_alloc(&m->arena, (size_t)t->n * size + 1)) == NULL)
            return ASC_RESOURCE_EXHAUSTED;
        const uint8_t *p = f.data, *end = f.data + f.len;
        bool single = f.type != ASC_WIRE_BYTES;
        while (single || p != end) {
            uint64_t v = f.value;
            if (!single && fixed == 0 && !asc_wire_varint(&p, end, &v))
                return asc_wire_bad(&w, "an element without end");
            if (!single && fixed != 0) {
                if ((size_t)(end - p) < fixed) return asc_wire_bad(&w, "half an element");
                v = 0;
                for (size_t i = 0; i < fixed; i++) v |= (uint64_t)p[i] << (8 * i);
                p += fixed;
            }
            if (n == (size_t)t->n) return bad(&w, t, ASC_DATA_LOSS, "more elements than its shape says");
            put(out + n++ * size, v, size);
            single = false;
            if (f.type != ASC_WIRE_BYTES) break;
        }
    }
    if (w.st != ASC_OK) return w.st;
    if (n != (size_t)t->n) return bad(&w, t, ASC_DATA_LOSS, "fewer elements than its shape says");
    t->data = out;
    t->bytes = n * size;
    return ASC_OK;
}

static asc_status read_strings(asc_onnx_model *m, asc_wire w, asc_onnx_tensor *t) {
    size_t n = asc_wire_count(&w, 6), i = 0;
    if ((int64_t)n != t->n) return bad(&w, t, ASC_DATA_LOSS, "another number of strings than its shape");
    asc_view *s = asc_arena_alloc(&m->arena, (n + 1) * sizeof *s);
    if (s == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_wire_field f;
    while (asc_wire_next(&w, &f)) {
        if (f.number == 6 && i < n) s[i++] = asc_wire_view(&f);
    }
    t->strings = s;
    return w.st;
}

/* The mapped file `location` beside the model. */
static asc_status open_external(asc_onnx_model *m, asc_wire *w, const asc_onnx_tensor *t, asc_view location,
                                const asc_map **out) {
    for (size_t i = 0; i < m->n_external; i++) {
        *out = &m->external[i].map;
        if (asc_view_eq(m->external[i].location, location)) return ASC_OK;
    }
    /* Only names below the model's own folder: a model must not read files elsewhere. */
    bool plain = location.len > 0 && location.len < 1024 && location.ptr[0] != '/';
    for (size_t i = 0; i < location.len && plain; i++) {
        plain = location.ptr[i] != '\0' && location.ptr[i] != '\\';
        if (location.ptr[i] == '.' && i + 1 < location.len && location.ptr[i + 1] == '.') plain = false;
    }
    if (!plain || m->folder == NULL)
        return bad(w, t, ASC_INVALID_ARGUMENT,
                   "its data lies in another file that may not be read from here");
    if (m->n_external == ASC_ONNX_MAX_EXTERNAL)
        return bad(w, t, ASC_RESOURCE_EXHAUSTED, "too many files of external data");
    char path[4096];
    int len = snprintf(path, sizeof path, "%s/" ASC_VIEW_FMT, m->folder, ASC_VIEW_ARG(location));
    if (len < 0 || (size_t)len >= sizeof path) return bad(w, t, ASC_INVALID_ARGUMENT, "a path too long");
    asc_onnx_external *e = &m->external[m->n_external];
    asc_status st = asc_map_open(m->ctx, path, &e->map);
    if (st != ASC_OK)
        return asc_fail_context(m->ctx, "'%s': tensor '" ASC_VIEW_FMT "'", m->file,
                                ASC_VIEW_ARG(asc_view_cut(t->name, 120)));
    e->location = location;
    m->n_external++;
    *out = &e->map;
    return ASC_OK;
}

static asc_status use_external(asc_onnx_model *m, asc_wire *w, asc_onnx_tensor *t, const raw *r) {
    const asc_map *map = NULL;
    asc_status st = open_external(m, w, t, r->location, &map);
    if (st != ASC_OK) return st;
    uint64_t want = (uint64_t)t->n * asc_onnx_type_bytes(t->elem);
    if (r->has_length && r->length != want)
        return bad(w, t, ASC_INVALID_ARGUMENT, "its external length is not that of its shape");
    if (r->offset > map->size || want > map->size - r->offset)
        return bad(w, t, ASC_DATA_LOSS, "its external data ends behind the end of that file");
    t->data = map->data + r->offset;
    t->bytes = (size_t)want;
    return ASC_OK;
}

asc_status asc_onnx_parse_tensor(asc_onnx_model *m, asc_wire w, asc_onnx_tensor *out) {
    raw r = {0};
    asc_status st;
    *out = (asc_onnx_tensor){0};
    if (!read_fields(w, out, &r, &st)) return st;
    out->shape.rank = r.rank;
    for (int i = 0; i < r.rank; i++) out->shape.dims[i] = r.dims[i];
    out->n = 1;
    for (int i = 0; i < r.rank; i++) {
        if (__builtin_mul_overflow(out->n, r.dims[i], &out->n) || out->n > ASC_ONNX_MAX_ELEMS)
            return bad(&w, out, ASC_RESOURCE_EXHAUSTED, "too many elements");
    }
    size_t size = asc_onnx_type_bytes(out->elem);
    if (size == 0 && out->elem != ASC_ONNX_STRING)
        return bad(&w, out, ASC_UNIMPLEMENTED, "elements of this type are not read");
    if (r.external) return use_external(m, &w, out, &r);
    if (out->elem == ASC_ONNX_STRING) return read_strings(m, w, out);
    if (r.has_raw) {
        out->data = r.data.data;
        out->bytes = r.data.len;
        if (r.data.len != (size_t)out->n * size)
            return bad(&w, out, ASC_DATA_LOSS, "its raw data is not as long as its shape says");
        return ASC_OK;
    }
    if (out->n == 0) return ASC_OK;
    return read_typed(m, w, out);
}

static uint64_t bits(const uint8_t *p, size_t n) {
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++) v |= (uint64_t)p[i] << (8 * i);
    return v;
}

/* Irrational factors that exporters write as f32 scalars (the erf form of GELU as Div, Erf, Add, Mul, Mul).
 * In f64 the number that was meant is used: what its f32 rounding loses would otherwise be the largest error
 * of a run on the reference device. On f32 devices nothing changes. */
static double meant(double x) {
    static const double factors[] = {1.4142135623730950488, 0.70710678118654752440};
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        if ((double)(float)factors[i] == fabs(x)) return copysign(factors[i], x);
    }
    return x;
}

void asc_onnx_tensor_get(const asc_onnx_tensor *t, int64_t first, int64_t n, double *out) {
    size_t size = asc_onnx_type_bytes(t->elem);
    const uint8_t *p = t->data + (size_t)first * size;
    for (int64_t i = 0; i < n; i++, p += size) {
        uint64_t v = bits(p, size);
        uint32_t low = (uint32_t)v;
        float f;
        switch (t->elem) {
        case ASC_ONNX_FLOAT:
            memcpy(&f, &low, sizeof f);
            out[i] = t->n == 1 ? meant((double)f) : (double)f;
            break;
        case ASC_ONNX_BFLOAT16:
            low <<= 16;
            memcpy(&f, &low, sizeof f);
            out[i] = (double)f;
            break;
        case ASC_ONNX_FLOAT16:
            out[i] = (double)asc_f16_to_f32((uint16_t)v);
            break;
        case ASC_ONNX_DOUBLE:
            memcpy(&out[i], &v, sizeof *out);
            break;
        case ASC_ONNX_INT8:
            out[i] = (double)(int8_t)(uint8_t)v;
            break;
        case ASC_ONNX_INT16:
            out[i] = (double)(int16_t)(uint16_t)v;
            break;
        case ASC_ONNX_INT32:
            out[i] = (double)(int32_t)low;
            break;
        case ASC_ONNX_INT64:
            out[i] = (double)(int64_t)v;
            break;
        case ASC_ONNX_BOOL:
            out[i] = v != 0;
            break;
        default:
            out[i] = (double)v;
            break;
        }
    }
}
