/* vision_open.c - an image classifier's folder as a net: weights under their own names, ports, names of
 * classes. */
#include "frame.h"
#include "hf_labels.h"
#include "view.h"
#include "vision.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct vision {
    asc_vision_config cfg;
    asc_params *params;
    char **labels;
    asc_image_prep prep;
    double room[6];
    void (*base_destroy)(asc_net *net);
} vision;

static void vision_free(asc_ctx *ctx, vision *v) {
    if (v == NULL) return;
    asc_hf_free_labels(ctx, v->labels, v->cfg.n_classes);
    asc_params_destroy(v->params);
    asc_free(ctx, v);
}

static void forward(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    const vision *v = self;
    asc_vision_forward(f, &v->cfg, in, out);
}

static void destroy(asc_net *net) {
    asc_cnet *c = net->self;
    vision *v = c->self;
    v->base_destroy(net);
    vision_free(net->ctx, v);
}

/* Tensors of the classifier's body have "vit." in front; the pooler of a bare model is not used. */
static bool has_no_effect(const vision *v, asc_view name) {
    char pooler[32];
    snprintf(pooler, sizeof pooler, "%s.pooler.", v->cfg.base);
    return asc_view_starts(name, asc_view_of(pooler));
}

static asc_status put(asc_ctx *ctx, vision *v, const asc_hf_folder *f, const asc_hf_tensor *t) {
    asc_array a = {.elem = (asc_elem)t->elem, .shape = t->shape, .data = t->data};
    if (t->elem != ASC_SAFETENSORS_BF16) {
        if (asc_elem_is_float(a.elem)) return asc_params_put(v->params, t->name, &a, false);
        asc_view cut = asc_view_cut(t->name, 100);
        ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "'%s': tensor '" ASC_VIEW_FMT "' holds no floats", f->path,
                 ASC_VIEW_ARG(cut));
        return asc_hint(ctx, "weights are float32, float16 or bfloat16");
    }
    asc_status st = asc_safetensors_widen(ctx, t->data, t->bytes / 2, &a);
    return st == ASC_OK ? asc_params_put(v->params, t->name, &a, true) : st;
}

static asc_status fill(asc_ctx *ctx, vision *v, asc_hf_folder *f) {
    asc_status st = asc_params_create(ctx, &v->params);
    for (size_t i = 0; st == ASC_OK && i < f->n; i++) {
        if (!has_no_effect(v, f->v[i].name)) st = put(ctx, v, f, &f->v[i]);
    }
    while (st == ASC_OK && f->n_maps > 0) { /* the files stay open as long as the weights */
        asc_map m = f->maps[--f->n_maps];
        st = asc_params_put_map(v->params, &m);
    }
    return st;
}

static asc_status read_labels(asc_ctx *ctx, vision *v, const asc_hf_folder *f) {
    char file[1100];
    snprintf(file, sizeof file, "%.1000s/config.json", f->path);
    asc_hf_keys k = {.ctx = ctx, .obj = f->config, .file = file, .prefix = ""};
    return asc_hf_read_labels(&k, v->cfg.n_classes, &v->labels);
}

/* Everything in the files has its place in what was recorded, and everything recorded is of the right shape:
 * the first run of asc_net_create has looked up every weight. */
static asc_status all_used(asc_ctx *ctx, const vision *v, const asc_hf_folder *f) {
    for (size_t i = 0; i < v->params->n; i++) {
        if (v->params->entries[i].leaf != NULL) continue;
        ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "'%s': tensor '%.100s' has no place in a %s classifier here",
                 f->path, v->params->entries[i].name, v->cfg.base);
        return asc_hint(ctx, "ignoring it would change the numbers; this variant is not supported");
    }
    return ASC_OK;
}

/* The layers take a bias if there is one; here the config says where there must be one, and only there. */
static asc_status check_biases(asc_ctx *ctx, const vision *v, const asc_hf_folder *f) {
    char bias[256];
    for (size_t i = 0; i < v->params->n; i++) {
        const char *name = v->params->entries[i].name;
        size_t n = strlen(name);
        if (!asc_view_ends(asc_view_of(name), asc_view_of(".weight")) || n >= sizeof bias) continue;
        snprintf(bias, sizeof bias, "%.*s.bias", (int)(n - 7), name);
        bool part = strstr(name, ".attention.attention.") != NULL, wanted = !part || v->cfg.qkv_bias;
        if ((asc_params_find(v->params, asc_view_of(bias)) >= 0) == wanted) continue;
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "'%s': tensor '%.100s' is %s", f->path, bias,
                 wanted ? "missing" : "there, but qkv_bias of config.json is false");
        return asc_hint(ctx, "config.json and the weights contradict each other; fetch the folder again");
    }
    return ASC_OK;
}

/* A layer norm does without factors in other nets; never here. */
static asc_status check_norms(asc_ctx *ctx, const vision *v, const asc_hf_folder *f) {
    char name[96];
    for (int64_t i = 0; i <= 2 * v->cfg.n_layers; i++) {
        if (i == 2 * v->cfg.n_layers)
            snprintf(name, sizeof name, "%s.layernorm.weight", v->cfg.base);
        else
            snprintf(name, sizeof name, "%s.encoder.layer.%lld.layernorm_%s.weight", v->cfg.base,
                     (long long)(i / 2), i % 2 == 0 ? "before" : "after");
        if (asc_params_find(v->params, asc_view_of(name)) >= 0) continue;
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "'%s': tensor '%s' is missing", f->path, name);
        return asc_hint(ctx, "the folder is incomplete, or its config.json is of another model");
    }
    return ASC_OK;
}

static asc_status make(asc_ctx *ctx, asc_hf_folder *f, vision *v, asc_net **out) {
    static const char *const outputs[] = {"logits"};
    const asc_vision_config *c = &v->cfg;
    asc_status st = ASC_OK;
    bool found;
    ASC_TRY(asc_vision_configure(ctx, f, &v->cfg));
    ASC_TRY(read_labels(ctx, v, f));
    ASC_TRY(asc_vision_read_prep(ctx, f, c, v->room, &v->prep, &found));
    ASC_TRY(fill(ctx, v, f));
    ASC_TRY(check_norms(ctx, v, f));
    ASC_TRY(check_biases(ctx, v, f));
    asc_port x = {.name = "pixel_values",
                  .elem = ASC_ELEM_F32,
                  .shape = ASC_SHAPE(-1, c->n_channels, c->height, c->width),
                  .batch = true};
    asc_net_def def = {.struct_size = sizeof def,
                       .inputs = &x,
                       .n_inputs = 1,
                       .outputs = outputs,
                       .n_outputs = 1,
                       .forward = forward,
                       .self = v,
                       .params = v->params};
    st = asc_net_create(ctx, &def, out);
    if (st != ASC_OK) {
        asc_hint(ctx, "the tensors of '%.200s' do not fit its config.json; fetch the folder again", f->path);
        goto done;
    }
    asc_net *net = *out;
    v->base_destroy = net->destroy;
    net->destroy = destroy;
    net->kind = "folder";
    net->labels = (const char *const *)v->labels;
    net->n_labels = (size_t)v->cfg.n_classes;
    net->prep = found ? &v->prep : NULL;
done:
    return st;
}

asc_status asc_vision_open(asc_ctx *ctx, const char *path, asc_net **out) {
    asc_hf_folder *f = NULL;
    vision *v = NULL;
    asc_net *net = NULL;
    asc_status st = asc_hf_folder_open(ctx, path, &f);
    *out = NULL;
    if (st != ASC_OK) return st;
    v = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *v);
    st = v == NULL ? ASC_RESOURCE_EXHAUSTED : make(ctx, f, v, &net);
    if (net == NULL) {
        vision_free(ctx, v);
        goto done;
    }
    ASC_TRY(all_used(ctx, v, f));
    const asc_shape *s = &net->outputs[0].shape;
    if (s->rank != 2 || s->dims[1] != v->cfg.n_classes) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "'%s': config.json names %lld classes, the classifier has %lld",
                 f->path, (long long)v->cfg.n_classes, (long long)s->dims[s->rank - 1]);
        st = asc_hint(ctx, "config.json and the weights contradict each other; fetch the folder again");
        goto done;
    }
    net->path = asc_strdup_view(ctx, ASC_MEM_GENERAL, asc_view_of(path));
    if (net->path == NULL) st = ASC_RESOURCE_EXHAUSTED;
done:
    if (st != ASC_OK) asc_net_close(net);
    asc_hf_folder_close(f);
    if (st == ASC_OK) *out = net;
    return st;
}

bool asc_vision_is_folder(const char *path) {
    char text[1 << 15], file[4096];
    if (!asc_hf_is_folder(path)) return false;
    asc_view v = asc_view_of(path);
    bool json = v.len > 5 && strcmp(path + v.len - 5, ".json") == 0;
    size_t dir = v.len;
    if (json || (v.len > 12 && strcmp(path + v.len - 12, ".safetensors") == 0))
        while (dir > 0 && path[dir - 1] != '/') dir--;
    snprintf(file, sizeof file, "%.*s%sconfig.json", (int)dir, path, dir > 0 ? "/" : "");
    struct stat s;
    if (stat(file, &s) != 0 || !S_ISREG(s.st_mode)) return false; /* a pipe would wait for its writer */
    FILE *in = fopen(file, "rb");
    if (in == NULL) return false;
    size_t n = fread(text, 1, sizeof text - 1, in);
    fclose(in);
    text[n] = '\0';
    const char *at = strstr(text, "\"model_type\"");
    at = at != NULL ? strchr(at + 12, '"') : NULL;
    return at != NULL && (strncmp(at, "\"vit\"", 5) == 0 || strncmp(at, "\"deit\"", 6) == 0);
}
