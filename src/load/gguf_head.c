/* gguf_head.c - the first bytes: is it GGUF at all, and of a version and byte order that we read? */
#include "gguf_parts.h"

/* What people pass instead of a GGUF file: how it begins, what it is, what to do. */
static const struct {
    const char *start;
    const char *is, *hint;
} others[] = {
    {"version https://git-lfs", "a Git LFS pointer, not the file itself",
     "run `git lfs pull`, or download the file"},
    {"<", "a web page or XML", "the download went wrong: use the file's direct link"},
    {"{", "JSON", "name the .gguf file itself"},
    {"PK\x03\x04", "a zip archive or a PyTorch checkpoint",
     "unpack an archive; a checkpoint's model is saved in Python with save_pretrained(..., "
     "safe_serialization=True)"},
    {"\x80", "a pickle, which can run code when it is read",
     "load the model in Python and call save_pretrained(..., safe_serialization=True)"},
    {"ggml", "a model in a format older than GGUF", "convert the original model to GGUF"},
    {"lmgg", "a model in a format older than GGUF", "convert the original model to GGUF"},
    {"fmgg", "a model in a format older than GGUF", "convert the original model to GGUF"},
    {"tjgg", "a model in a format older than GGUF", "convert the original model to GGUF"},
    {"\x89HDF", "HDF5", "convert the model to GGUF"},
};

static asc_status not_gguf(asc_ctx *ctx, const asc_gguf *g) {
    asc_view v = asc_view_make((const char *)g->data, g->size);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (!asc_view_starts(v, asc_view_of(others[i].start))) continue;
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "'%s' is not a GGUF file but %s", g->name, others[i].is);
        return asc_hint(ctx, "%s", others[i].hint);
    }
    if (g->size > 8 && g->data[8] == '{' && asc_le64(g->data) < g->size) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "'%s' is not a GGUF file but safetensors", g->name);
        return asc_hint(ctx,
                        "call it model.safetensors and put its config.json and tokenizer.json beside it");
    }
    ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "'%s' is not a GGUF file: it does not begin with the bytes GGUF",
             g->name);
    return asc_hint(
        ctx, "a model is a .gguf file, an .onnx file, or a folder with config.json and model.safetensors");
}

static asc_status bad_version(asc_ctx *ctx, const asc_gguf *g, uint32_t version) {
    if ((version & 0xFFFFu) == 0 && version != 0) { /* a small number with its bytes the other way round */
        ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "'%s' is a big-endian GGUF file, which is not supported", g->name);
        return asc_hint(ctx, "convert it with gguf-convert-endian, or fetch the little-endian file");
    }
    ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "'%s': GGUF version %u is not supported; 2 and 3 are", g->name, version);
    return asc_hint(ctx, version == 1 ? "convert the original model again: version 1 was given up in 2023"
                                      : "the file is damaged, or newer than this program");
}

asc_status asc_gguf_read_head(asc_ctx *ctx, asc_gguf *g) {
    asc_status st = ASC_OK;
    static const uint8_t magic[4] = {'G', 'G', 'U', 'F'}, swapped[4] = {'F', 'U', 'G', 'G'};
    if (g->size >= 4 && memcmp(g->data, swapped, 4) == 0) return bad_version(ctx, g, 3u << 24);
    if (g->size < 4 || memcmp(g->data, magic, 4) != 0) return not_gguf(ctx, g);
    g->pos = 4;
    ASC_TRY(asc_gguf_read_u32(ctx, g, "the version", (asc_view){0}, &g->version));
    if (g->version != 2 && g->version != 3) return bad_version(ctx, g, g->version);
    ASC_TRY(asc_gguf_read_u64(ctx, g, "the tensor count", (asc_view){0}, &g->tensor_count));
    ASC_TRY(asc_gguf_read_u64(ctx, g, "the metadata count", (asc_view){0}, &g->kv_count));
done:
    return st;
}
