/* onnx_model.c - opening and closing a model file; the stages are in the other onnx_*.c files. */
#include "onnx_model.h"

enum { MAX_SHOWN_PATH = 256 };

static asc_status create(asc_ctx *ctx, const char *path, asc_onnx_model **out) {
    asc_onnx_model *m = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *m);
    if (m == NULL) return ASC_RESOURCE_EXHAUSTED;
    m->ctx = ctx;
    m->map.fd = -1;
    asc_arena_init(&m->arena, ctx, ASC_MEM_GENERAL);
    size_t len = strlen(path);
    const char *shown = len > MAX_SHOWN_PATH ? path + (len - MAX_SHOWN_PATH) : path;
    m->file = asc_arena_strdup(&m->arena, asc_view_of(shown));
    if (m->file == NULL) {
        asc_onnx_model_close(m);
        return ASC_RESOURCE_EXHAUSTED;
    }
    *out = m;
    return ASC_OK;
}

/* The fields of the ModelProto, but for graph and functions. */
static asc_status read_head(asc_onnx_model *m, asc_wire w, asc_wire_field *graph, bool *has_graph) {
    asc_wire_field f;
    asc_wire all = w;
    while (asc_wire_next(&w, &f)) {
        if (f.number == 1 && asc_wire_expect(&w, &f, ASC_WIRE_VARINT)) m->ir_version = (int64_t)f.value;
        if (f.number == 2 && asc_wire_expect(&w, &f, ASC_WIRE_BYTES)) m->producer = asc_wire_view(&f);
        if (f.number == 7 && asc_wire_expect(&w, &f, ASC_WIRE_BYTES)) {
            if (*has_graph) return asc_wire_bad(&w, "two graphs");
            *graph = f;
            *has_graph = true;
        }
    }
    if (w.st != ASC_OK) return w.st;
    if (!*has_graph) return asc_wire_bad(&w, "no graph");
    return asc_onnx_parse_opsets(m, all, 8, &m->opsets, &m->n_opsets);
}

static asc_status read_all(asc_onnx_model *m, const uint8_t *data, size_t size) {
    asc_status st = ASC_OK;
    asc_wire_field graph;
    bool has_graph = false;
    m->data = data;
    m->size = size;
    asc_wire w = {.ctx = m->ctx, .file = m->file, .what = "ModelProto", .start = data, .p = data};
    w.end = data + size;
    ASC_TRY(read_head(m, w, &graph, &has_graph));
    ASC_TRY(asc_onnx_parse_functions(m, w));
    ASC_TRY(asc_onnx_parse_graph(m, asc_wire_sub(&w, &graph, "GraphProto"), &m->graph));
    ASC_TRY(asc_onnx_build(m, m->graph, m->opsets, m->n_opsets));
done:
    return st;
}

asc_status asc_onnx_model_open(asc_ctx *ctx, const char *path, asc_onnx_model **out) {
    asc_status st = ASC_OK;
    asc_onnx_model *m = NULL;
    *out = NULL;
    ASC_TRY(create(ctx, path, &m));
    const char *slash = strrchr(path, '/');
    asc_view folder = slash == NULL   ? asc_view_of(".")
                      : slash == path ? asc_view_of("/")
                                      : asc_view_make(path, (size_t)(slash - path));
    m->folder = asc_arena_strdup(&m->arena, folder);
    if (m->folder == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    ASC_TRY(asc_map_open(ctx, path, &m->map));
    ASC_TRY(read_all(m, m->map.data, m->map.size));
    *out = m;
    return ASC_OK;
done:
    asc_onnx_model_close(m);
    return st;
}

asc_status asc_onnx_model_parse(asc_ctx *ctx, const void *data, size_t size, asc_onnx_model **out) {
    asc_status st = ASC_OK;
    asc_onnx_model *m = NULL;
    *out = NULL;
    ASC_TRY(create(ctx, "(memory)", &m));
    ASC_TRY(read_all(m, data, size));
    *out = m;
    return ASC_OK;
done:
    asc_onnx_model_close(m);
    return st;
}

void asc_onnx_model_close(asc_onnx_model *m) {
    if (m == NULL) return;
    asc_ctx *ctx = m->ctx;
    for (size_t i = 0; i < m->n_external; i++) asc_map_close(ctx, &m->external[i].map);
    asc_map_close(ctx, &m->map);
    asc_arena_deinit(&m->arena);
    asc_free(ctx, m);
}
