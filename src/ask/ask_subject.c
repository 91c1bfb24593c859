/* ask_subject.c - opening a model of any kind, told apart by what the file is; and noticing that it was
 * replaced. */
#include "ask_parts.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_STAMPS = 256 }; /* files of a folder that are watched */

/* A file as it was when it was opened. */
typedef struct asc_file_stamp {
    char *path;
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec changed;
} asc_file_stamp;

static bool is_folder(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static bool ends(const char *path, const char *end) {
    return asc_view_ends(asc_view_of(path), asc_view_of(end));
}

/* A GGUF file says so in its first bytes; ONNX has no such mark: its first field is the version of the
 * format, which every writer puts first (0x08), or the name tells. What is neither is left to the reader of
 * models, whose message says what it found. */
static bool is_onnx(const char *path) {
    unsigned char head[4] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? read(fd, head, sizeof head) : 0;
    if (fd >= 0) close(fd);
    if (n == sizeof head && memcmp(head, "GGUF", 4) == 0) return false;
    return ends(path, ".onnx") || (n == sizeof head && head[0] == 0x08 && head[1] < 0x20);
}

/* ---- stamps ---- */

static asc_status add_stamp(asc_subject *s, const char *path) {
    struct stat f;
    if (stat(path, &f) != 0 || !S_ISREG(f.st_mode)) return ASC_OK;
    asc_status st = asc_grow(s->ctx, ASC_MEM_GENERAL, (void **)&s->stamps, &s->cap_stamps, s->n_stamps + 1,
                             sizeof *s->stamps);
    if (st != ASC_OK) return st;
    char *copy = asc_strdup_view(s->ctx, ASC_MEM_GENERAL, asc_view_of(path));
    if (copy == NULL) return ASC_RESOURCE_EXHAUSTED;
    s->stamps[s->n_stamps++] = (asc_file_stamp){copy, f.st_dev, f.st_ino, f.st_size, f.st_mtim};
    return ASC_OK;
}

/* Does a model's folder read this file? Weights, configuration, tokenizer; not what others leave there. */
static bool belongs(const char *name) {
    return ends(name, ".json") || ends(name, ".safetensors") || ends(name, ".txt") || ends(name, ".model") ||
           ends(name, ".jinja");
}

static asc_status add_folder(asc_subject *s, const char *path) {
    char full[4096];
    asc_status st = ASC_OK;
    DIR *d = opendir(path);
    if (d == NULL) return ASC_OK; /* opening the model will say so */
    for (struct dirent *e; st == ASC_OK && s->n_stamps < MOST_STAMPS && (e = readdir(d)) != NULL;) {
        int n = snprintf(full, sizeof full, "%s/%s", path, e->d_name);
        if (n > 0 && (size_t)n < sizeof full && belongs(e->d_name)) st = add_stamp(s, full);
    }
    closedir(d);
    return st;
}

static asc_status take_stamps(asc_subject *s, const char *path) {
    char beside[4096];
    if (is_folder(path)) return add_folder(s, path);
    asc_status st = add_stamp(s, path);
    static const char *const data[] = {".data", "_data"}; /* ONNX: weights in a file beside it */
    for (size_t i = 0; st == ASC_OK && i < 2; i++) {
        int n = snprintf(beside, sizeof beside, "%s%s", path, data[i]);
        if (n > 0 && (size_t)n < sizeof beside) st = add_stamp(s, beside);
    }
    return st;
}

asc_status asc_subject_check_file(asc_subject *s) {
    for (size_t i = 0; i < s->n_stamps; i++) {
        const asc_file_stamp *was = &s->stamps[i];
        struct stat f;
        const char *what = NULL;
        if (stat(was->path, &f) != 0)
            what = errno == ENOENT ? "is gone" : "cannot be looked at any more";
        else if (f.st_size < was->size && f.st_ino == was->ino)
            what = "became shorter";
        else if (f.st_dev != was->dev || f.st_ino != was->ino)
            what = "was replaced by another file";
        else if (f.st_size != was->size || f.st_mtim.tv_sec != was->changed.tv_sec ||
                 f.st_mtim.tv_nsec != was->changed.tv_nsec)
            what = "was changed";
        if (what == NULL) continue;
        ASC_FAIL(s->ctx, ASC_FAILED_PRECONDITION, "'%s' %s since the model was opened", was->path, what);
        return asc_hint(s->ctx, "open the model again; put new versions under another name");
    }
    return ASC_OK;
}

/* ---- opening ---- */

static asc_status new_subject(asc_ctx *ctx, const char *path, asc_subject **out) {
    asc_subject *s = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *s);
    if (s == NULL) return ASC_RESOURCE_EXHAUSTED;
    s->ctx = ctx;
    s->path = asc_strdup_view(ctx, ASC_MEM_GENERAL, asc_view_of(path));
    *out = s;
    return s->path != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

asc_status asc_subject_open(asc_ctx *ctx, const char *path, const asc_model_options *opts,
                            asc_subject **out) {
    asc_subject *s = NULL;
    asc_status st;
    *out = NULL;
    ASC_TRY(new_subject(ctx, path, &s));
    ASC_TRY(take_stamps(s, path)); /* before it is read: what changes meanwhile is noticed */
    bool vision = is_folder(path) && asc_vision_is_folder(path);
    if (vision || (!is_folder(path) && is_onnx(path))) {
        s->kind = ASC_SUBJECT_NET;
        s->owns_net = true;
        if (opts != NULL && (opts->n_adapters > 0 || opts->weights != ASC_WEIGHTS_AUTO)) {
            ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                     "'%s' is a net: adapters and storage of weights are for "
                     "language models",
                     path);
            st = asc_hint(ctx, "open it without options");
            goto done;
        }
        ASC_TRY(vision ? asc_vision_open(ctx, path, &s->net) : asc_onnx_open(ctx, path, &s->net));
    } else {
        ASC_TRY(asc_model_open(ctx, path, opts, &s->model));
        s->kind = asc_model_get_info(s->model).encoder ? ASC_SUBJECT_ENCODER : ASC_SUBJECT_DECODER;
        s->weights = opts != NULL ? opts->weights : ASC_WEIGHTS_AUTO;
    }
    *out = s;
    s = NULL;
done:
    asc_subject_close(s);
    return st;
}

asc_status asc_subject_of_net(asc_ctx *ctx, asc_net *net, asc_subject **out) {
    asc_subject *s = NULL;
    *out = NULL;
    asc_status st = new_subject(ctx, "", &s);
    if (st != ASC_OK) {
        asc_subject_close(s);
        return st;
    }
    s->kind = ASC_SUBJECT_NET;
    s->net = net;
    *out = s;
    return ASC_OK;
}

void asc_subject_close(asc_subject *s) {
    if (s == NULL) return;
    asc_model_close(s->model);
    if (s->owns_net) asc_net_close(s->net);
    for (size_t i = 0; i < s->n_stamps; i++) asc_free(s->ctx, s->stamps[i].path);
    asc_free(s->ctx, s->stamps);
    asc_free(s->ctx, s->path);
    asc_free(s->ctx, s);
}

asc_subject_kind asc_subject_get_kind(const asc_subject *s) { return s->kind; }
const char *asc_subject_path(const asc_subject *s) { return s->path; }
asc_model *asc_subject_model(asc_subject *s) { return s->model; }
asc_net *asc_subject_net(asc_subject *s) { return s->net; }
