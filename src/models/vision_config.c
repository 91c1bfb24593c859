/* vision_config.c - config.json and preprocessor_config.json of image classifiers. */
#include "hf_act.h"
#include "hf_labels.h"
#include "view.h"
#include "vision.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_LAYERS = 1024, MOST_SIZE = 1 << 20 };

/* A size as one number or [height, width]. */
static asc_status two_sizes(const asc_hf_keys *k, const char *key, int64_t fallback, int64_t *height,
                            int64_t *width) {
    const asc_json *v = asc_hf_key(k, key);
    bool pair = asc_json_typeof(v) == ASC_JSON_ARRAY && asc_json_len(v) == 2;
    *height = *width = fallback;
    if (v == NULL) return ASC_OK;
    *height = asc_json_int(pair ? asc_json_at(v, 0) : v, 0);
    *width = asc_json_int(pair ? asc_json_at(v, 1) : v, 0);
    return *height >= 1 && *width >= 1 && *height <= MOST_SIZE && *width <= MOST_SIZE
               ? ASC_OK
               : asc_hf_invalid(k, key, "a whole number of pixels, or two");
}

static asc_status kind_of(const asc_hf_keys *k, asc_vision_config *c) {
    asc_view type, a = asc_json_str(asc_json_at(asc_json_get(k->obj, "architectures"), 0));
    asc_status st = asc_hf_word(k, "model_type", "", &type);
    if (st != ASC_OK) return st;
    c->base = asc_view_eqs(type, "vit") ? "vit" : asc_view_eqs(type, "deit") ? "deit" : NULL;
    if (c->base == NULL) return asc_hf_refuse(k, "model_type", "image classifiers: vit and deit");
    c->has_second_token = c->base[0] == 'd';
    c->distilled = asc_view_eqs(a, "DeiTForImageClassificationWithTeacher");
    if (c->distilled || asc_view_eqs(a, "ViTForImageClassification") ||
        asc_view_eqs(a, "DeiTForImageClassification"))
        return ASC_OK;
    ASC_FAIL(k->ctx, ASC_UNIMPLEMENTED, "'%s': architectures names no image classifier", k->file);
    return asc_hint(
        k->ctx, "ViTForImageClassification and DeiTForImageClassification, with or without teacher, work");
}

asc_status asc_vision_configure(asc_ctx *ctx, const asc_hf_folder *f, asc_vision_config *out) {
    char file[1024];
    asc_hf_keys k = {.ctx = ctx, .obj = f->config, .file = file, .prefix = ""};
    asc_vision_config *c = out;
    asc_status st = ASC_OK;
    *out = (asc_vision_config){0};
    snprintf(file, sizeof file, "%.1000s/config.json", f->path);
    ASC_TRY(kind_of(&k, c));
    ASC_TRY(asc_hf_count(&k, "num_hidden_layers", 0, MOST_LAYERS, &c->n_layers));
    ASC_TRY(asc_hf_count(&k, "hidden_size", 0, MOST_SIZE, &c->d_model));
    ASC_TRY(asc_hf_count(&k, "num_attention_heads", 0, MOST_SIZE, &c->n_heads));
    ASC_TRY(asc_hf_count(&k, "intermediate_size", 0, MOST_SIZE, &c->d_ff));
    ASC_TRY(asc_hf_number(&k, "layer_norm_eps", 1e-12, 0.0, 1.0, &c->eps));
    ASC_TRY(two_sizes(&k, "image_size", 224, &c->height, &c->width));
    ASC_TRY(two_sizes(&k, "patch_size", 16, &c->patch_height, &c->patch_width));
    c->n_channels = 3;
    ASC_TRY(asc_hf_count(&k, "num_channels", -1, 4096, &c->n_channels));
    ASC_TRY(asc_hf_read_act(&k, "hidden_act", "gelu", &c->act));
    ASC_TRY(asc_hf_flag(&k, "qkv_bias", true, &c->qkv_bias));
    if (c->d_model % c->n_heads != 0) {
        st = asc_hf_invalid(&k, "num_attention_heads", "a divisor of hidden_size");
        goto done;
    }
    if (c->height % c->patch_height != 0 || c->width % c->patch_width != 0) {
        st = asc_hf_invalid(&k, "patch_size", "a divisor of image_size");
        goto done;
    }
    ASC_TRY(asc_hf_count_labels(&k, &c->n_classes));
done:
    return st;
}

/* A size as {"height", "width"}, {"shortest_edge"} or one number (older files). */
static asc_status read_size(const asc_hf_keys *k, const char *key, int64_t *height, int64_t *width,
                            int64_t *shorter) {
    const asc_json *v = asc_hf_key(k, key);
    int64_t h = asc_json_int(asc_json_get(v, "height"), 0), w = asc_json_int(asc_json_get(v, "width"), 0),
            s = asc_json_int(asc_json_get(v, "shortest_edge"), 0), one = asc_json_int(v, 0);
    *height = *width = *shorter = 0;
    if (one > 0) h = w = one;
    if (h > 0 && w > 0 && h <= ASC_IMAGE_MAX_SIDE && w <= ASC_IMAGE_MAX_SIDE) {
        *height = h;
        *width = w;
        return ASC_OK;
    }
    *shorter = s;
    return s > 0 && s <= ASC_IMAGE_MAX_SIDE ? ASC_OK
                                            : asc_hf_invalid(k, key, "height and width, or shortest_edge");
}

static asc_status three(const asc_hf_keys *k, const char *key, double out[3]) {
    const asc_json *v = asc_hf_key(k, key);
    for (int i = 0; i < 3; i++) {
        out[i] = asc_json_num(asc_json_at(v, (size_t)i), NAN);
        if (!isfinite(out[i])) return asc_hf_invalid(k, key, "three numbers, of red, green and blue");
    }
    return ASC_OK;
}

/* Pillow's numbers of its filters. */
static asc_status read_filter(const asc_hf_keys *k, asc_filter *out) {
    static const int filters[] = {ASC_FILTER_NEAREST, ASC_FILTER_LANCZOS, ASC_FILTER_BILINEAR,
                                  ASC_FILTER_BICUBIC, ASC_FILTER_BOX};
    int64_t n = asc_json_int(asc_hf_key(k, "resample"), 2);
    if (n < 0 || n > 4)
        return asc_hf_refuse(k, "resample", "0 to 4 are known: nearest, lanczos, bilinear, bicubic, box");
    *out = (asc_filter)filters[n];
    return ASC_OK;
}

asc_status asc_vision_read_prep(asc_ctx *ctx, const asc_hf_folder *f, const asc_vision_config *c,
                                double room[6], asc_image_prep *out, bool *found) {
    char file[1100];
    asc_json *root = NULL;
    asc_status st = ASC_OK;
    bool resizes, crops, scales, normalises;
    int64_t shorter;
    *found = false;
    *out = (asc_image_prep){.struct_size = sizeof *out, .normalise = "unit"};
    ASC_TRY(asc_hf_json(f, "preprocessor_config.json", &root));
    if (root == NULL) return ASC_OK;
    snprintf(file, sizeof file, "%.1000s/preprocessor_config.json", f->path);
    asc_hf_keys k = {.ctx = ctx, .obj = root, .file = file, .prefix = ""};
    ASC_TRY(asc_hf_flag(&k, "do_resize", true, &resizes));
    ASC_TRY(asc_hf_flag(&k, "do_center_crop", false, &crops));
    ASC_TRY(asc_hf_flag(&k, "do_rescale", true, &scales));
    ASC_TRY(asc_hf_flag(&k, "do_normalize", true, &normalises));
    ASC_TRY(read_filter(&k, &out->filter));
    out->height = c->height;
    out->width = c->width;
    if (resizes && asc_hf_key(&k, "size") != NULL)
        ASC_TRY(read_size(&k, "size", &out->height, &out->width, &out->resize_short));
    if (crops && asc_hf_key(&k, "crop_size") != NULL)
        ASC_TRY(read_size(&k, "crop_size", &out->crop_height, &out->crop_width, &shorter));
    if (!scales || fabs(asc_json_num(asc_hf_key(&k, "rescale_factor"), 1.0 / 255.0) - 1.0 / 255.0) > 1e-9) {
        st = asc_hf_refuse(&k, scales ? "rescale_factor" : "do_rescale", "bytes are divided by 255 here");
        goto done;
    }
    if (normalises && asc_hf_key(&k, "image_mean") != NULL) {
        ASC_TRY(three(&k, "image_mean", room));
        ASC_TRY(three(&k, "image_std", room + 3));
        out->mean = room;
        out->deviation = room + 3;
    } else if (normalises) {
        out->normalise = "half";
    }
    *found = true;
done:
    asc_json_free(root);
    return st;
}
