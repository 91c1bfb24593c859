/* goldens_array.c - reads arrays of the third-party files; table of Captum's class names. */
#include "goldens_array.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const golden_class classes[] = {
    {.captum = "Saliency", .method = "saliency"},
    {.captum = "InputXGradient", .method = "input-x-gradient"},
    {.captum = "IntegratedGradients", .method = "integrated-gradients", .rule = "gauss-legendre"},
    {.captum = "DeepLift", .method = "deep-lift"},
    {.captum = "DeepLiftComplete", .method = "deep-lift"},
    {.captum = "DeepLiftShap", .method = "deep-lift-shap"},
    {.captum = "DeepLiftShapComplete", .method = "deep-lift-shap"},
    {.captum = "GradientShap", .method = "gradient-shap", .stochastic = true},
    {.captum = "GuidedBackprop", .method = "guided-backprop"},
    {.captum = "Deconvolution", .method = "deconvolution"},
    {.captum = "GuidedGradCam", .method = "guided-grad-cam", .layer = true},
    {.captum = "LRP", .method = "lrp"},
    {.captum = "FeatureAblation", .method = "feature-ablation"},
    {.captum = "FeaturePermutation", .method = "feature-permutation", .stochastic = true},
    {.captum = "Occlusion", .method = "occlusion"},
    {.captum = "ShapleyValueSampling", .method = "shapley-value-sampling", .stochastic = true},
    {.captum = "ShapleyValues", .method = "shapley-values"},
    {.captum = "Lime", .method = "lime", .stochastic = true},
    {.captum = "KernelShap", .method = "kernel-shap", .stochastic = true},
    {.captum = "LayerActivation", .method = "layer-activation", .layer = true},
    {.captum = "LayerGradientXActivation", .method = "input-x-gradient", .layer = true},
    {.captum = "LayerGradCam", .method = "grad-cam", .layer = true},
    {.captum = "InternalInfluence", .method = "internal-influence", .layer = true, .rule = "gauss-legendre"},
    {.captum = "LayerConductance", .method = "conductance", .layer = true, .rule = "gauss-legendre"},
    {.captum = "LayerIntegratedGradients",
     .method = "integrated-gradients",
     .layer = true,
     .rule = "gauss-legendre"},
    {.captum = "LayerDeepLift", .method = "deep-lift", .layer = true},
    {.captum = "LayerDeepLiftShap", .method = "deep-lift-shap", .layer = true},
    {.captum = "LayerGradientShap", .method = "gradient-shap", .layer = true, .stochastic = true},
    {.captum = "LayerLRP", .method = "lrp", .layer = true},
    {.captum = "LayerFeatureAblation", .method = "feature-ablation", .layer = true},
    {.captum = "LayerFeaturePermutation", .method = "feature-permutation", .layer = true, .stochastic = true},
    {.captum = "NeuronGradient", .method = "saliency", .norm = "signed", .neuron = true},
    {.captum = "NeuronIntegratedGradients",
     .method = "integrated-gradients",
     .neuron = true,
     .rule = "gauss-legendre"},
    {.captum = "NeuronConductance", .method = "neuron-conductance", .rule = "gauss-legendre"},
    {.captum = "NeuronDeepLift", .method = "deep-lift", .neuron = true},
    {.captum = "NeuronDeepLiftShap", .method = "deep-lift-shap", .neuron = true},
    {.captum = "NeuronGradientShap", .method = "gradient-shap", .neuron = true, .stochastic = true},
    {.captum = "NeuronGuidedBackprop", .method = "guided-backprop", .neuron = true},
    {.captum = "NeuronDeconvolution", .method = "deconvolution", .neuron = true},
    {.captum = "NeuronFeatureAblation", .method = "feature-ablation", .neuron = true},
};

const golden_class *golden_class_find(asc_view captum) {
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (asc_view_eqs(captum, classes[i].captum)) return &classes[i];
    }
    return NULL;
}

static int digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static size_t decode(asc_view text, unsigned char *out, size_t most) {
    size_t n = 0;
    uint32_t bits = 0;
    int have = 0;
    for (size_t i = 0; i < text.len && digit(text.ptr[i]) >= 0; i++) {
        bits = bits << 6 | (uint32_t)digit(text.ptr[i]);
        have += 6;
        if (have < 8) continue;
        have -= 8;
        if (n < most) out[n] = (unsigned char)(bits >> have);
        n++;
    }
    return n;
}

static int elem_of(asc_view dtype) {
    static const struct {
        const char *name;
        asc_elem elem;
    } names[] = {{"f32", ASC_ELEM_F32},   {"f64", ASC_ELEM_F64},     {"i32", ASC_ELEM_I32},
                 {"i64", ASC_ELEM_I64},   {"u8", ASC_ELEM_U8},       {"float32", ASC_ELEM_F32},
                 {"int64", ASC_ELEM_I64}, {"float64", ASC_ELEM_F64}, {"bool", ASC_ELEM_BOOL},
                 {"int32", ASC_ELEM_I32}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (asc_view_eqs(dtype, names[i].name)) return (int)names[i].elem;
    }
    return -1;
}

/* Numbers as JSON, which may be nested or flat, as doubles. */
static void flatten(const asc_json *j, double *out, size_t *n, size_t most) {
    if (asc_json_typeof(j) != ASC_JSON_ARRAY) {
        double v = asc_json_typeof(j) == ASC_JSON_BOOL ? (asc_json_bool(j, false) ? 1.0 : 0.0)
                                                       : asc_json_num(j, 0.0);
        if (*n < most) out[*n] = v;
        ++*n;
        return;
    }
    for (size_t i = 0; i < asc_json_len(j); i++) flatten(asc_json_at(j, i), out, n, most);
}

/* The numbers behind "name [" in a formula, at most 4; the last one counts for further channels. */
static void parse_list(asc_view map, const char *name, float *out, float fallback) {
    char text[512];
    snprintf(text, sizeof text, ASC_VIEW_FMT, ASC_VIEW_ARG(map));
    const char *p = strstr(text, name);
    for (int i = 0; i < 4; i++) out[i] = fallback;
    if (p == NULL) return;
    p += strlen(name);
    for (int i = 0; i < 4; i++) {
        char *end;
        float v = strtof(p, &end);
        if (end == p) break;
        for (int k = i; k < 4; k++) out[k] = v;
        p = *end == ',' ? end + 1 : end;
    }
}

/* The pictures' pixels [N,C,H,W] as the net takes them: (v / 255 - mean) / std, each operation rounded. */
static void map_pixels(golden_array *g, asc_view map, size_t n) {
    float *f = malloc((n + 1) * sizeof *f), mean[4], deviation[4];
    const unsigned char *u = g->data;
    const asc_shape *s = &g->a.shape;
    if (f == NULL) abort();
    parse_list(map, "mean [", mean, 0.0f);
    parse_list(map, "std [", deviation, 1.0f);
    size_t plane = s->rank == 4 ? (size_t)(s->dims[2] * s->dims[3]) : n,
           channels = s->rank == 4 ? (size_t)s->dims[1] : 1;
    for (size_t i = 0; i < n; i++) {
        size_t c = i / plane % channels;
        if (c > 3) c = 3;
        f[i] = ((float)u[i] / 255.0f - mean[c]) / deviation[c];
    }
    free(g->data);
    g->data = f;
    g->a.data = f;
    g->a.elem = ASC_ELEM_F32;
}

bool golden_array_read(const asc_json *j, golden_array *out) {
    *out = (golden_array){0};
    const asc_json *shape = asc_json_get(j, "shape"), *numbers = asc_json_get(j, "data");
    asc_view b64 = asc_json_str(asc_json_get(j, "b64"));
    int elem = elem_of(asc_json_str(asc_json_get(j, "dtype")));
    if (b64.ptr == NULL) b64 = asc_json_str(asc_json_get(j, "base64"));
    if (shape == NULL || elem < 0 || asc_json_len(shape) > ASC_MAX_RANK) return false;
    out->a.shape.rank = (int)asc_json_len(shape);
    for (int d = 0; d < out->a.shape.rank; d++)
        out->a.shape.dims[d] = asc_json_int(asc_json_at(shape, (size_t)d), 0);
    out->a.elem = numbers != NULL ? ASC_ELEM_F64 : (asc_elem)elem;
    size_t n = (size_t)asc_array_count(&out->a), bytes = n * asc_elem_bytes(out->a.elem), got = 0;
    out->data = malloc(bytes + 8);
    if (out->data == NULL) abort();
    if (numbers != NULL) {
        flatten(numbers, out->data, &got, n);
        got *= sizeof(double);
        /* integers and truth values keep their type, so that nets take them as such */
        if (elem == ASC_ELEM_BOOL && got == bytes) {
            unsigned char *truth = malloc(n + 8);
            if (truth == NULL) abort();
            for (size_t i = 0; i < n; i++) truth[i] = ((double *)out->data)[i] != 0.0;
            free(out->data);
            out->data = truth;
            out->a.elem = ASC_ELEM_BOOL;
        } else if (elem != ASC_ELEM_F32 && elem != ASC_ELEM_F64 && got == bytes) {
            int64_t *whole = malloc(n * sizeof *whole + 8);
            if (whole == NULL) abort();
            for (size_t i = 0; i < n; i++) whole[i] = (int64_t)((double *)out->data)[i];
            free(out->data);
            out->data = whole;
            out->a.elem = ASC_ELEM_I64;
        }
    } else {
        got = decode(b64, out->data, bytes);
    }
    out->a.data = out->data;
    if (got != bytes) {
        golden_array_free(out);
        return false;
    }
    asc_view map = asc_json_str(asc_json_get(j, "map"));
    if (map.ptr != NULL) map_pixels(out, map, n);
    return true;
}

void golden_array_free(golden_array *g) {
    free(g->data);
    *g = (golden_array){0};
}
