/* onnx_data.c - single values in files of their own (TensorProto, SequenceProto, OptionalProto), as ONNX's
 * test data has them. */
#include "onnx_run.h"

static asc_status read_one(asc_onnx_run *run, asc_wire w, bool sequence, bool optional, asc_onnx_value *out);

static asc_status read_tensor(asc_onnx_run *run, asc_wire w, asc_onnx_value *out) {
    asc_onnx_tensor *t = asc_arena_alloc(&run->arena, sizeof *t);
    if (t == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_status st = asc_onnx_parse_tensor(run->on->model, w, t);
    *out = (asc_onnx_value){.kind = ASC_ONNX_TENSOR, .elem = t->elem, .shape = t->shape, .init = t};
    if (t->elem == ASC_ONNX_STRING) {
        out->kind = ASC_ONNX_STRINGS;
        out->strings = t->strings;
    }
    return st;
}

static asc_status read_sequence(asc_onnx_run *run, asc_wire w, asc_onnx_value *out) {
    size_t n = asc_wire_count(&w, 3), k = 0;
    asc_onnx_value **items = asc_arena_alloc(&run->arena, (n + 1) * sizeof(asc_onnx_value *));
    if (items == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_wire_field f;
    while (k < n && asc_wire_next(&w, &f)) {
        if (f.number != 3 || !asc_wire_expect(&w, &f, ASC_WIRE_BYTES)) continue;
        if ((items[k] = asc_onnx_run_value(run)) == NULL) return ASC_RESOURCE_EXHAUSTED;
        asc_status st = read_tensor(run, asc_wire_sub(&w, &f, "TensorProto"), items[k++]);
        if (st != ASC_OK) return st;
    }
    *out = (asc_onnx_value){.kind = ASC_ONNX_SEQUENCE, .items = items, .n_items = k};
    out->elem = k > 0 ? items[0]->elem : 0;
    return w.st;
}

static asc_status read_optional(asc_onnx_run *run, asc_wire w, asc_onnx_value *out) {
    asc_wire_field f;
    *out = (asc_onnx_value){.kind = ASC_ONNX_NOTHING};
    while (asc_wire_next(&w, &f)) {
        if (f.number != 3 && f.number != 5) continue;
        if (!asc_wire_expect(&w, &f, ASC_WIRE_BYTES)) break;
        return read_one(run, asc_wire_sub(&w, &f, "OptionalProto"), f.number == 5, false, out);
    }
    return w.st;
}

static asc_status read_one(asc_onnx_run *run, asc_wire w, bool sequence, bool optional, asc_onnx_value *out) {
    if (optional) return read_optional(run, w, out);
    return sequence ? read_sequence(run, w, out) : read_tensor(run, w, out);
}

asc_status asc_onnx_read_value(asc_onnx_run *run, const void *data, size_t size, const asc_onnx_port *type,
                               asc_onnx_value **out) {
    asc_wire w = {.ctx = run->ctx, .file = "(value)", .what = "value", .start = data, .p = data};
    w.end = w.p + size;
    *out = asc_onnx_run_value(run);
    if (*out == NULL) return ASC_RESOURCE_EXHAUSTED;
    return read_one(run, w, type->sequence, type->optional, *out);
}
