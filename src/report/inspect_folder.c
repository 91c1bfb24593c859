/* inspect_folder.c - see inspect_folder.h. */
#include "inspect_folder.h"
#include "alloc.h"
#include "view.h"

typedef struct entry {
    asc_view key;
    const asc_json *value;
} entry;

struct asc_inspect_folder {
    asc_ctx *ctx;
    asc_hf_folder *f;
    entry *v;
    size_t n, cap;
    asc_arena arena; /* keys */
};

/* PREFIX KEY, in the arena. */
static asc_view joined(asc_inspect_folder *f, asc_view prefix, asc_view key, const char *end) {
    asc_strbuf b;
    asc_strbuf_init(&b, f->ctx);
    asc_strbuf_addv(&b, prefix);
    asc_strbuf_addv(&b, key);
    asc_strbuf_adds(&b, end);
    asc_view v = asc_strbuf_view(&b);
    char *text = b.failed ? NULL : asc_arena_strdup(&f->arena, v);
    size_t len = v.len;
    asc_strbuf_deinit(&b);
    return asc_view_make(text, text != NULL ? len : 0);
}

/* Objects within objects down to `depth` levels; what lies deeper is one value of kind OTHER. */
static asc_status list(asc_inspect_folder *f, const asc_json *obj, asc_view prefix, int depth) {
    void *iter = NULL;
    asc_view key;
    const asc_json *v;
    asc_status st = ASC_OK;
    while (st == ASC_OK && asc_json_next(obj, &iter, &key, &v)) {
        bool inner = asc_json_typeof(v) == ASC_JSON_OBJECT && depth > 0 && asc_json_len(v) > 0;
        asc_view name = joined(f, prefix, key, inner ? "." : "");
        if (name.ptr == NULL) return ASC_RESOURCE_EXHAUSTED;
        if (inner) {
            st = list(f, v, name, depth - 1);
            continue;
        }
        st = asc_grow(f->ctx, ASC_MEM_GENERAL, (void **)&f->v, &f->cap, f->n + 1, sizeof *f->v);
        if (st == ASC_OK) f->v[f->n++] = (entry){name, v};
    }
    return st;
}

asc_status asc_inspect_folder_open(asc_ctx *ctx, const char *path, asc_inspect_folder **out) {
    *out = NULL;
    asc_inspect_folder *f = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *f);
    if (f == NULL) return ASC_RESOURCE_EXHAUSTED;
    f->ctx = ctx;
    asc_arena_init(&f->arena, ctx, ASC_MEM_GENERAL);
    asc_status st = asc_hf_folder_open(ctx, path, &f->f);
    if (st == ASC_OK) st = list(f, f->f->config, asc_view_of(""), 3);
    if (st == ASC_OK) {
        *out = f;
    } else {
        asc_inspect_folder_close(f);
    }
    return st;
}

void asc_inspect_folder_close(asc_inspect_folder *f) {
    if (f == NULL) return;
    asc_hf_folder_close(f->f);
    asc_free(f->ctx, f->v);
    asc_arena_deinit(&f->arena);
    asc_free(f->ctx, f);
}

asc_inspect_info asc_inspect_folder_info(const asc_inspect_folder *f) {
    return (asc_inspect_info){.format = "safetensors",
                              .version = 1,
                              .file_bytes = f->f->file_bytes,
                              .alignment = 8,
                              .n_keys = f->n,
                              .n_tensors = f->f->n,
                              .architecture = asc_json_str(asc_json_get(f->f->config, "model_type"))};
}

static const char *type_name(asc_json_type t) {
    static const char *const names[] = {
        [ASC_JSON_NULL] = "null",    [ASC_JSON_BOOL] = "bool",     [ASC_JSON_INT] = "int",
        [ASC_JSON_REAL] = "float",   [ASC_JSON_STRING] = "string", [ASC_JSON_ARRAY] = "list",
        [ASC_JSON_OBJECT] = "object"};
    return names[t];
}

bool asc_inspect_folder_key(const asc_inspect_folder *f, size_t i, asc_meta_key *out) {
    if (i >= f->n) return false;
    const asc_json *v = f->v[i].value;
    bool many = asc_json_typeof(v) == ASC_JSON_ARRAY;
    const asc_json *one = many ? asc_json_at(v, 0) : v;
    *out = (asc_meta_key){.key = f->v[i].key,
                          .type = type_name(asc_json_typeof(one)),
                          .is_array = many,
                          .count = many ? asc_json_len(v) : 1};
    return true;
}

bool asc_inspect_folder_value(const asc_inspect_folder *f, size_t i, size_t j, asc_meta_value *out) {
    if (i >= f->n) return false;
    const asc_json *v = f->v[i].value;
    if (asc_json_typeof(v) == ASC_JSON_ARRAY) {
        if (j >= asc_json_len(v)) return false;
        v = asc_json_at(v, j);
    } else if (j > 0) {
        return false;
    }
    *out = (asc_meta_value){.kind = ASC_META_OTHER};
    switch (asc_json_typeof(v)) {
    case ASC_JSON_STRING:
        out->kind = ASC_META_STRING;
        out->s = asc_json_str(v);
        break;
    case ASC_JSON_REAL:
        out->kind = ASC_META_REAL;
        out->x = asc_json_num(v, 0.0);
        break;
    case ASC_JSON_BOOL:
        out->kind = ASC_META_BOOL;
        out->i = asc_json_bool(v, false);
        break;
    case ASC_JSON_INT:
        out->kind = ASC_META_INT;
        out->i = asc_json_int(v, 0);
        break;
    case ASC_JSON_NULL:
        out->kind = ASC_META_STRING;
        out->s = asc_view_of("null");
        break;
    default:
        break;
    }
    return true;
}

bool asc_inspect_folder_tensor(const asc_inspect_folder *f, size_t i, asc_tensor_entry *out) {
    if (i >= f->f->n) return false;
    const asc_hf_tensor *t = &f->f->v[i];
    *out = (asc_tensor_entry){.name = t->name,
                              .type = t->elem == ASC_SAFETENSORS_BF16 ? "bfloat16"
                                                                      : asc_elem_name((asc_elem)t->elem),
                              .rank = t->shape.rank < 4 ? t->shape.rank : 4,
                              .bytes = t->bytes,
                              .file_offset = (uint64_t)(t->data - f->f->maps[t->file].data)};
    for (int k = 0; k < out->rank; k++) out->dims[k] = t->shape.dims[k];
    return true;
}
