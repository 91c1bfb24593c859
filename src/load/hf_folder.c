/* hf_folder.c - finds the files of a model folder and opens them. A pickle (pytorch_model.bin) is a program:
 * it is never read. */
#include "hf_parts.h"
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define INDEX "model.safetensors.index.json"

static bool is_dir(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

bool asc_hf_is_folder(const char *path) {
    asc_view v = asc_view_of(path);
    return is_dir(path) || asc_view_ends(v, asc_view_of(".safetensors")) ||
           asc_view_ends(v, asc_view_of(".safetensors.index.json")) ||
           asc_view_ends(v, asc_view_of("config.json"));
}

char *asc_hf_path(const asc_hf_folder *f, asc_view file) {
    asc_strbuf b;
    size_t len;
    asc_strbuf_init(&b, f->ctx);
    asc_strbuf_adds(&b, f->path);
    asc_strbuf_adds(&b, "/");
    asc_strbuf_addv(&b, file);
    char *out = asc_strbuf_take(&b, &len);
    asc_strbuf_deinit(&b);
    return out;
}

bool asc_hf_has(const asc_hf_folder *f, const char *file) {
    char path[4352];
    int n = snprintf(path, sizeof path, "%s/%s", f->path, file);
    return n > 0 && (size_t)n < sizeof path && access(path, F_OK) == 0;
}

asc_status asc_hf_text(const asc_hf_folder *f, const char *file, size_t limit, char **out, size_t *out_len) {
    *out = NULL;
    *out_len = 0;
    char *path = asc_hf_path(f, asc_view_of(file));
    if (path == NULL) return ASC_RESOURCE_EXHAUSTED;
    struct stat s;
    asc_status st = ASC_OK;
    bool there = stat(path, &s) == 0;
    if (there && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode)) {
        /* opening a pipe would wait for somebody who writes */
        ASC_FAIL(f->ctx, ASC_INVALID_ARGUMENT, "'%s' is not a regular file", path);
        st = asc_hint(f->ctx, "a model's folder holds files; fetch it again");
    } else if (there) {
        st = asc_file_read(f->ctx, path, limit, out, out_len);
    }
    asc_free(f->ctx, path);
    return st;
}

static asc_status parse_object(const asc_hf_folder *f, const char *file, asc_view text, asc_json **out) {
    asc_status st = asc_json_parse(f->ctx, text.ptr, text.len, out);
    if (st == ASC_OK && asc_json_typeof(*out) != ASC_JSON_OBJECT)
        st = ASC_FAIL(f->ctx, ASC_INVALID_ARGUMENT, "JSON: expected an object");
    if (st == ASC_INVALID_ARGUMENT) {
        asc_fail_context(f->ctx, "'%s/%s'", f->path, file);
        asc_hint(f->ctx, "the file is damaged; fetch it again");
    }
    if (st != ASC_OK) {
        asc_json_free(*out);
        *out = NULL;
    }
    return st;
}

asc_status asc_hf_json(const asc_hf_folder *f, const char *file, asc_json **out) {
    char *text;
    size_t len;
    *out = NULL;
    asc_status st = asc_hf_text(f, file, ASC_HF_MAX_INDEX, &text, &len);
    if (st != ASC_OK || text == NULL) return st;
    if (len > ASC_HF_MAX_CONFIG && strcmp(file, INDEX) != 0) {
        ASC_FAIL(f->ctx, ASC_RESOURCE_EXHAUSTED, "'%s/%s' has %zu bytes; the limit is %d", f->path, file, len,
                 ASC_HF_MAX_CONFIG);
        st = asc_hint(f->ctx, "this is no such file; fetch the folder again");
    } else {
        st = parse_object(f, file, asc_view_make(text, len), out);
    }
    asc_free(f->ctx, text);
    return st;
}

static asc_status read_config(asc_hf_folder *f) {
    asc_status st = asc_hf_json(f, "config.json", &f->config);
    return st != ASC_OK || f->config != NULL ? st : asc_hf_no_config(f);
}

/* Which file of the folder was named; {NULL,0} = the folder itself. */
static asc_status split_path(asc_hf_folder *f, const char *path, asc_view *file) {
    asc_view dir = asc_view_of(path);
    *file = asc_view_make(NULL, 0);
    if (!is_dir(path)) {
        while (dir.len > 0 && dir.ptr[dir.len - 1] != '/') dir.len--;
        *file = asc_view_make(path + dir.len, strlen(path) - dir.len);
    }
    while (dir.len > 1 && dir.ptr[dir.len - 1] == '/') dir.len--;
    if (dir.len == 0) dir = asc_view_of(".");
    f->path = asc_strdup_view(f->ctx, ASC_MEM_GENERAL, dir);
    return f->path != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

static asc_status add_weights(asc_hf_folder *f, asc_view file) {
    bool named = asc_view_ends(file, asc_view_of(".safetensors"));
    if (named && !asc_hf_has(f, INDEX)) return asc_hf_add_file(f, file, NULL);
    if (named) {
        asc_json *index;
        char *name = asc_strdup_view(f->ctx, ASC_MEM_GENERAL, file);
        if (name == NULL) return ASC_RESOURCE_EXHAUSTED;
        asc_status st = asc_hf_json(f, INDEX, &index);
        void *iter = NULL;
        asc_view tensor;
        const asc_json *where;
        bool listed = false;
        while (st == ASC_OK && asc_json_next(asc_json_get(index, "weight_map"), &iter, &tensor, &where))
            listed = listed || asc_view_eqs(asc_json_str(where), name);
        asc_json_free(index);
        asc_free(f->ctx, name);
        if (st != ASC_OK) return st;
        return listed ? asc_hf_add_index(f) : asc_hf_add_file(f, file, NULL);
    }
    if (asc_hf_has(f, "model.safetensors")) return asc_hf_add_file(f, asc_view_of("model.safetensors"), NULL);
    return asc_hf_has(f, INDEX) ? asc_hf_add_index(f) : asc_hf_no_weights(f);
}

asc_status asc_hf_folder_open(asc_ctx *ctx, const char *path, asc_hf_folder **out) {
    asc_status st = ASC_OK;
    asc_view file;
    *out = NULL;
    asc_hf_folder *f = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *f);
    if (f == NULL) return ASC_RESOURCE_EXHAUSTED;
    f->ctx = ctx;
    asc_arena_init(&f->arena, ctx, ASC_MEM_GENERAL);
    ASC_TRY(split_path(f, path, &file));
    ASC_TRY(read_config(f));
    ASC_TRY(add_weights(f, file));
    ASC_TRY(asc_hf_seal(f));
    *out = f;
    f = NULL;
done:
    asc_hf_folder_close(f);
    return st;
}

asc_status asc_hf_folder_parse(asc_ctx *ctx, asc_view config, asc_view index, const void *data, size_t size,
                               asc_hf_folder **out) {
    asc_status st = ASC_OK;
    asc_json *list = NULL;
    *out = NULL;
    asc_hf_folder *f = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *f);
    if (f == NULL) return ASC_RESOURCE_EXHAUSTED;
    f->ctx = ctx;
    asc_arena_init(&f->arena, ctx, ASC_MEM_GENERAL);
    f->path = asc_strdup_view(ctx, ASC_MEM_GENERAL, asc_view_of("memory"));
    if (f->path == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    ASC_TRY(parse_object(f, "config.json", config, &f->config));
    if (index.ptr != NULL) {
        ASC_TRY(parse_object(f, INDEX, index, &list));
        ASC_TRY(asc_hf_add_shards(f, list, data, size));
    } else {
        ASC_TRY(asc_hf_add_bytes(f, asc_view_of("model.safetensors"), data, size, NULL));
    }
    ASC_TRY(asc_hf_seal(f));
    *out = f;
    f = NULL;
done:
    asc_json_free(list);
    asc_hf_folder_close(f);
    return st;
}

void asc_hf_folder_close(asc_hf_folder *f) {
    if (f == NULL) return;
    asc_ctx *ctx = f->ctx;
    for (size_t i = 0; i < f->n_maps; i++) asc_map_close(ctx, &f->maps[i]);
    asc_free(ctx, f->maps);
    asc_free(ctx, f->v);
    asc_free(ctx, f->path);
    asc_json_free(f->config);
    asc_arena_deinit(&f->arena);
    asc_free(ctx, f);
}
