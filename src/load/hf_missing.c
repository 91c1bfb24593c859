/* hf_missing.c - a folder that cannot be opened: what lies there instead decides what is said. */
#include "hf_parts.h"
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { NAME_BYTES = 256 };

static bool joined(char *out, size_t size, const char *folder, const char *name) {
    int n = snprintf(out, size, "%s/%s", folder, name);
    return n > 0 && (size_t)n < size;
}

/* A model that is named itself, not by its folder: a GGUF or ONNX file, or a folder inside with a
 * config.json. */
static bool is_model(const char *folder, const char *name) {
    char path[4352], inner[4400];
    struct stat s;
    if (name[0] == '.' || !joined(path, sizeof path, folder, name) || stat(path, &s) != 0) return false;
    asc_view v = asc_view_of(name);
    if (S_ISREG(s.st_mode))
        return asc_view_ends(v, asc_view_of(".gguf")) || asc_view_ends(v, asc_view_of(".onnx"));
    return S_ISDIR(s.st_mode) && joined(inner, sizeof inner, path, "config.json") && stat(inner, &s) == 0;
}

/* The first such name in the folder in the order of bytes, whatever order the system lists them in. */
static bool model_inside(const char *folder, char first[NAME_BYTES]) {
    DIR *d = opendir(folder);
    first[0] = '\0';
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        if (strlen(e->d_name) >= NAME_BYTES || !is_model(folder, e->d_name)) continue;
        if (first[0] == '\0' || strcmp(e->d_name, first) < 0) memcpy(first, e->d_name, strlen(e->d_name) + 1);
    }
    if (d != NULL) closedir(d);
    return first[0] != '\0';
}

/* The hint for a folder with a model inside: its path. Where the hub's library keeps its downloads, each
 * revision has a folder in snapshots/; optimum exports to onnx/. */
static bool hint_inside(const asc_hf_folder *f) {
    static const char *const levels[] = {".", "snapshots", "onnx"};
    char folder[4352], first[NAME_BYTES];
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        if (i > 0 && !joined(folder, sizeof folder, f->path, levels[i])) continue;
        if (!model_inside(i > 0 ? folder : f->path, first)) continue;
        asc_hint(f->ctx, "name the model itself: '%s%s%s/%s'", f->path, i > 0 ? "/" : "",
                 i > 0 ? levels[i] : "", first);
        return true;
    }
    return false;
}

asc_status asc_hf_no_config(const asc_hf_folder *f) {
    if (asc_hf_has(f, "adapter_config.json")) {
        ASC_FAIL(f->ctx, ASC_UNIMPLEMENTED, "'%s' holds an adapter (adapter_config.json), no model", f->path);
        return asc_hint(f->ctx, "open the model that it belongs to, and give the adapter beside it");
    }
    if (asc_hf_has(f, "model_index.json")) {
        ASC_FAIL(f->ctx, ASC_UNIMPLEMENTED,
                 "'%s' holds a pipeline of several models (model_index.json of the diffusers library)",
                 f->path);
        return asc_hint(f->ctx,
                        "models that make pictures are not read; docs/formats/huggingface.md lists what is");
    }
    ASC_FAIL(f->ctx, ASC_NOT_FOUND, "'%s' has no config.json", f->path);
    if (hint_inside(f)) return ASC_NOT_FOUND;
    return asc_hint(
        f->ctx, "a model folder has config.json and model.safetensors; a GGUF or ONNX file is named itself");
}

asc_status asc_hf_no_weights(const asc_hf_folder *f) {
    static const char *const pickle =
        "load it in Python and call save_pretrained(..., safe_serialization=True)";
    const struct {
        const char *file, *what, *hint;
    } known[] = {
        {"pytorch_model.bin", "only pytorch_model.bin, a pickle, which can run code when it is read", pickle},
        {"pytorch_model.bin.index.json", "only pickles (pytorch_model-*.bin), which can run code when read",
         pickle},
        {"adapter_model.safetensors", "only an adapter (adapter_model.safetensors), no model",
         "open the model that the adapter belongs to (base_model_name_or_path in adapter_config.json)"},
        {"tf_model.h5", "only TensorFlow weights (tf_model.h5)", "convert them to model.safetensors"},
        {"flax_model.msgpack", "only Flax weights (flax_model.msgpack)", "convert them to model.safetensors"},
        {"consolidated.safetensors", "only consolidated.safetensors, whose tensors have other names",
         "fetch the model's files for the transformers library"},
        {"diffusion_pytorch_model.safetensors", "a part of a pipeline of the diffusers library",
         "models that make pictures are not read; docs/formats/huggingface.md lists what is"},
    };
    char inside[NAME_BYTES];
    bool better = model_inside(f->path, inside);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (better || !asc_hf_has(f, known[i].file)) continue;
        ASC_FAIL(f->ctx, ASC_UNIMPLEMENTED, "'%s' holds %s", f->path, known[i].what);
        return asc_hint(f->ctx, "%s", known[i].hint);
    }
    ASC_FAIL(f->ctx, ASC_NOT_FOUND, "'%s' has neither model.safetensors nor model.safetensors.index.json",
             f->path);
    if (hint_inside(f)) return ASC_NOT_FOUND;
    return asc_hint(f->ctx, "fetch the model's weight files, or name the file: FOLDER/NAME.safetensors");
}
