/* onnx_attr.c - AttributeProto and the types of ports (ValueInfoProto, TypeProto, TensorShapeProto). */
#include "onnx_model.h"

asc_status asc_onnx_parse_name(asc_wire *w, const asc_wire_field *f, asc_view *out) {
    if (!asc_wire_expect(w, f, ASC_WIRE_BYTES)) return w->st;
    *out = asc_wire_view(f);
    if (out->len > ASC_ONNX_MAX_NAME_BYTES) return asc_wire_bad(w, "a name of %zu bytes", out->len);
    for (size_t i = 0; i < out->len; i++) {
        if ((unsigned char)out->ptr[i] < 0x20 || out->ptr[i] == 0x7F)
            return asc_wire_bad(w, "a name with control characters");
    }
    if (asc_utf8_check(*out) != out->len) return asc_wire_bad(w, "a name that is not UTF-8");
    return ASC_OK;
}

/* Lists: packed (one field of bytes) or one field per element. Numbers are counted first. */
static size_t list_count(const asc_wire *w, uint32_t number, size_t fixed) {
    asc_wire s = *w;
    asc_wire_field f;
    size_t n = 0;
    while (asc_wire_next(&s, &f)) {
        if (f.number != number) continue;
        if (f.type != ASC_WIRE_BYTES) {
            n++;
        } else if (fixed != 0) {
            n += f.len / fixed;
        } else {
            for (size_t i = 0; i < f.len; i++) n += (f.data[i] & 0x80) == 0;
        }
    }
    return n;
}

static double float_of(uint64_t v) {
    uint32_t low = (uint32_t)v;
    float f;
    memcpy(&f, &low, sizeof f);
    return (double)f;
}

static asc_status read_numbers(asc_onnx_model *m, asc_wire w, uint32_t number, asc_onnx_attr *a) {
    bool ints = number == 8;
    size_t n = list_count(&w, number, ints ? 0 : 4), k = 0;
    int64_t *iv = asc_arena_alloc(&m->arena, (n + 1) * sizeof *iv);
    double *fv = asc_arena_alloc(&m->arena, (n + 1) * sizeof *fv);
    if (iv == NULL || fv == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_wire_field f;
    while (asc_wire_next(&w, &f)) {
        if (f.number != number) continue;
        const uint8_t *p = f.data, *end = f.data + f.len;
        bool packed = f.type == ASC_WIRE_BYTES;
        while (k < n && (!packed || p != end)) {
            uint64_t v = f.value;
            if (packed && ints && !asc_wire_varint(&p, end, &v)) return asc_wire_bad(&w, "a bad list");
            if (packed && !ints) {
                if (end - p < 4) return asc_wire_bad(&w, "a bad list");
                v = (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
                p += 4;
            }
            iv[k] = (int64_t)v;
            fv[k++] = ints ? (double)(int64_t)v : float_of(v);
            if (!packed) break;
        }
    }
    a->n = k;
    a->ints = iv;
    a->floats = fv;
    return w.st;
}

static asc_status read_strings(asc_onnx_model *m, asc_wire w, asc_onnx_attr *a) {
    size_t n = asc_wire_count(&w, 9);
    asc_view *v = asc_arena_alloc(&m->arena, (n + 1) * sizeof *v);
    if (v == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_wire_field f;
    while (a->n < n && asc_wire_next(&w, &f)) {
        if (f.number == 9 && asc_wire_expect(&w, &f, ASC_WIRE_BYTES)) v[a->n++] = asc_wire_view(&f);
    }
    a->strings = v;
    return w.st;
}

static asc_status read_nested(asc_onnx_model *m, asc_wire *w, const asc_wire_field *f, asc_onnx_attr *a) {
    if (!asc_wire_expect(w, f, ASC_WIRE_BYTES)) return w->st;
    if (f->number == 6) return asc_onnx_parse_graph(m, asc_wire_sub(w, f, "GraphProto"), &a->g);
    asc_onnx_tensor *t = asc_arena_alloc(&m->arena, sizeof *t);
    if (t == NULL) return ASC_RESOURCE_EXHAUSTED;
    a->t = t;
    return asc_onnx_parse_tensor(m, asc_wire_sub(w, f, "TensorProto"), t);
}

/* Files of IR version 1 and 2 leave the type out: the field that is there tells it. */
static int guess(uint32_t field) {
    static const int type[] = {
        [2] = ASC_ONNX_ATTR_FLOAT,  [3] = ASC_ONNX_ATTR_INT,     [4] = ASC_ONNX_ATTR_STRING,
        [5] = ASC_ONNX_ATTR_TENSOR, [6] = ASC_ONNX_ATTR_GRAPH,   [7] = ASC_ONNX_ATTR_FLOATS,
        [8] = ASC_ONNX_ATTR_INTS,   [9] = ASC_ONNX_ATTR_STRINGS, [10] = ASC_ONNX_ATTR_TENSORS,
        [11] = ASC_ONNX_ATTR_GRAPHS};
    return field < sizeof type / sizeof type[0] ? type[field] : 0;
}

asc_status asc_onnx_parse_attr(asc_onnx_model *m, asc_wire w, asc_onnx_attr *out) {
    asc_wire all = w;
    asc_wire_field f;
    asc_status st = ASC_OK;
    int seen = 0;
    *out = (asc_onnx_attr){0};
    while (st == ASC_OK && asc_wire_next(&w, &f)) {
        if (f.number >= 2 && f.number <= 11 && seen == 0) seen = guess(f.number);
        switch (f.number) {
        case 1:
            st = asc_onnx_parse_name(&w, &f, &out->name);
            break;
        case 2:
            if (asc_wire_expect(&w, &f, ASC_WIRE_FIXED32)) out->f = float_of(f.value);
            break;
        case 3:
            if (asc_wire_expect(&w, &f, ASC_WIRE_VARINT)) out->i = (int64_t)f.value;
            break;
        case 4:
            if (asc_wire_expect(&w, &f, ASC_WIRE_BYTES)) out->s = asc_wire_view(&f);
            break;
        case 5:
        case 6:
            st = read_nested(m, &w, &f, out);
            break;
        case 20:
            if (asc_wire_expect(&w, &f, ASC_WIRE_VARINT)) out->type = f.value < 64 ? (int)f.value : 64;
            break;
        case 21:
            st = asc_onnx_parse_name(&w, &f, &out->ref);
            break;
        case 22:
        case 23:
            out->type = ASC_ONNX_ATTR_SPARSE;
            break;
        default:
            break;
        }
    }
    if (st == ASC_OK) st = w.st;
    if (out->type == 0) out->type = seen;
    if (st == ASC_OK && out->type == ASC_ONNX_ATTR_FLOATS) st = read_numbers(m, all, 7, out);
    if (st == ASC_OK && out->type == ASC_ONNX_ATTR_INTS) st = read_numbers(m, all, 8, out);
    if (st == ASC_OK && out->type == ASC_ONNX_ATTR_STRINGS) st = read_strings(m, all, out);
    return st;
}

static asc_status read_dim(asc_wire w, int64_t *out) {
    asc_wire_field f;
    *out = -1;
    while (asc_wire_next(&w, &f)) {
        if (f.number != 1 || !asc_wire_expect(&w, &f, ASC_WIRE_VARINT)) continue;
        *out = (int64_t)f.value;
        if (*out < 0) *out = -1; /* some exporters write a free dimension so */
    }
    return w.st;
}

static asc_status read_shape(asc_wire w, asc_onnx_port *out) {
    asc_wire_field f;
    out->has_shape = true;
    out->shape.rank = 0;
    while (asc_wire_next(&w, &f)) {
        if (f.number != 1 || !asc_wire_expect(&w, &f, ASC_WIRE_BYTES)) continue;
        if (out->shape.rank == ASC_MAX_RANK) {
            ASC_FAIL(w.ctx, ASC_UNIMPLEMENTED, "'%s': '" ASC_VIEW_FMT "' has more than %d dimensions", w.file,
                     ASC_VIEW_ARG(asc_view_cut(out->name, 120)), ASC_MAX_RANK);
            return asc_hint(w.ctx, "merge dimensions before exporting");
        }
        asc_status st = read_dim(asc_wire_sub(&w, &f, "Dimension"), &out->shape.dims[out->shape.rank++]);
        if (st != ASC_OK) return st;
    }
    return w.st;
}

static asc_status read_type(asc_wire w, asc_onnx_port *out, int depth) {
    asc_wire_field f, e;
    asc_status st = ASC_OK;
    if (depth > 4) return asc_wire_bad(&w, "types nested too deep");
    while (st == ASC_OK && asc_wire_next(&w, &f)) {
        if (f.number == 6) continue;
        if (!asc_wire_expect(&w, &f, ASC_WIRE_BYTES)) break;
        asc_wire s = asc_wire_sub(&w, &f, "TypeProto");
        if (f.number == 4) out->sequence = true;
        if (f.number == 9) out->optional = true;
        if (f.number == 5 || f.number == 8) {
            ASC_FAIL(w.ctx, ASC_UNIMPLEMENTED, "'%s': '" ASC_VIEW_FMT "' is a %s", w.file,
                     ASC_VIEW_ARG(asc_view_cut(out->name, 120)), f.number == 5 ? "map" : "sparse tensor");
            return asc_hint(w.ctx, "only dense tensors and sequences of them are read");
        }
        while (st == ASC_OK && asc_wire_next(&s, &e)) {
            bool tensor = f.number == 1;
            if (tensor && e.number == 1 && asc_wire_expect(&s, &e, ASC_WIRE_VARINT))
                out->elem = e.value < 64 ? (int)e.value : 64;
            if (tensor && e.number == 2 && asc_wire_expect(&s, &e, ASC_WIRE_BYTES))
                st = read_shape(asc_wire_sub(&s, &e, "TensorShapeProto"), out);
            if (!tensor && e.number == 1 && asc_wire_expect(&s, &e, ASC_WIRE_BYTES))
                st = read_type(asc_wire_sub(&s, &e, "TypeProto"), out, depth + 1);
        }
        if (st == ASC_OK) st = s.st;
    }
    return st != ASC_OK ? st : w.st;
}

asc_status asc_onnx_parse_port(asc_onnx_model *m, asc_wire w, asc_onnx_port *out) {
    asc_wire_field f;
    asc_status st = ASC_OK;
    asc_wire all = w;
    (void)m;
    *out = (asc_onnx_port){0};
    while (st == ASC_OK && asc_wire_next(&w, &f)) {
        if (f.number == 1) st = asc_onnx_parse_name(&w, &f, &out->name);
    }
    if (st == ASC_OK) st = w.st;
    while (st == ASC_OK && asc_wire_next(&all, &f)) {
        if (f.number == 2 && asc_wire_expect(&all, &f, ASC_WIRE_BYTES))
            st = read_type(asc_wire_sub(&all, &f, "TypeProto"), out, 0);
    }
    return st != ASC_OK ? st : all.st;
}
