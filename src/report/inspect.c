/* inspect.c - see ascribe/inspect.h; a thin view of the GGUF reader and of that of folders. */
#include "ascribe/inspect.h"
#include "alloc.h"
#include "gguf.h"
#include "inspect_folder.h"

struct asc_inspect {
    asc_ctx *ctx;
    asc_gguf *g; /* one of these */
    asc_inspect_folder *folder;
};

asc_status asc_inspect_open(asc_ctx *ctx, const char *path, asc_inspect **out) {
    *out = NULL;
    asc_inspect *f = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *f);
    if (f == NULL) return ASC_RESOURCE_EXHAUSTED;
    f->ctx = ctx;
    asc_status st = asc_hf_is_folder(path) ? asc_inspect_folder_open(ctx, path, &f->folder)
                                           : asc_gguf_open(ctx, path, &f->g);
    if (st != ASC_OK) {
        asc_free(ctx, f);
        return st;
    }
    *out = f;
    return ASC_OK;
}

void asc_inspect_close(asc_inspect *f) {
    if (f == NULL) return;
    asc_gguf_close(f->ctx, f->g);
    asc_inspect_folder_close(f->folder);
    asc_free(f->ctx, f);
}

asc_inspect_info asc_inspect_get_info(const asc_inspect *f) {
    if (f->folder != NULL) return asc_inspect_folder_info(f->folder);
    asc_inspect_info info = {.format = "GGUF",
                             .version = asc_gguf_version(f->g),
                             .file_bytes = asc_gguf_size(f->g),
                             .alignment = asc_gguf_alignment(f->g),
                             .n_keys = asc_gguf_kv_count(f->g),
                             .n_tensors = asc_gguf_tensor_count(f->g)};
    const asc_gguf_kv *kv = asc_gguf_kv_find(f->g, "general.architecture");
    if (kv != NULL && !kv->is_array && kv->values.type == ASC_GGUF_STRING)
        info.architecture = asc_gguf_str_at(kv->values, 0);
    return info;
}

bool asc_inspect_key(const asc_inspect *f, size_t i, asc_meta_key *out) {
    if (f->folder != NULL) return asc_inspect_folder_key(f->folder, i, out);
    const asc_gguf_kv *kv = asc_gguf_kv_at(f->g, i);
    if (kv == NULL) return false;
    *out = (asc_meta_key){.key = kv->key,
                          .type = asc_gguf_type_name(kv->values.type),
                          .is_array = kv->is_array,
                          .count = kv->values.count};
    return true;
}

bool asc_inspect_value(const asc_inspect *f, size_t i, size_t j, asc_meta_value *out) {
    if (f->folder != NULL) return asc_inspect_folder_value(f->folder, i, j, out);
    const asc_gguf_kv *kv = asc_gguf_kv_at(f->g, i);
    if (kv == NULL || j >= kv->values.count) return false;
    *out = (asc_meta_value){.kind = ASC_META_INT};
    switch (kv->values.type) {
    case ASC_GGUF_STRING:
        out->kind = ASC_META_STRING;
        out->s = asc_gguf_str_at(kv->values, j);
        break;
    case ASC_GGUF_F32:
    case ASC_GGUF_F64:
        out->kind = ASC_META_REAL;
        out->x = asc_gguf_num_at(kv->values, j);
        break;
    case ASC_GGUF_ARRAY:
        out->kind = ASC_META_OTHER;
        break;
    case ASC_GGUF_BOOL:
        out->kind = ASC_META_BOOL;
        out->i = asc_gguf_int_at(kv->values, j);
        break;
    default:
        out->i = asc_gguf_int_at(kv->values, j);
    }
    return true;
}

bool asc_inspect_tensor(const asc_inspect *f, size_t i, asc_tensor_entry *out) {
    if (f->folder != NULL) return asc_inspect_folder_tensor(f->folder, i, out);
    const asc_gguf_tensor *t = asc_gguf_tensor_at(f->g, i);
    if (t == NULL) return false;
    *out = (asc_tensor_entry){.name = t->name,
                              .type = asc_dtype_of(t->dtype)->name,
                              .rank = t->rank,
                              .bytes = t->bytes,
                              .file_offset = t->file_offset};
    for (int k = 0; k < t->rank; k++) out->dims[k] = t->dims[k];
    return true;
}
