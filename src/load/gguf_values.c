/* gguf_values.c - typed access to metadata: elements of a run, and look-up by key with a check of the type.
 */
#include "gguf_parts.h"
#include <math.h>

const char *asc_gguf_type_name(asc_gguf_type t) {
    static const char *const names[ASC_GGUF_N_TYPES] = {
#define NAME(e, name, number, bytes) [number] = (name),
        ASC_GGUF_TYPE_TABLE(NAME)
#undef NAME
    };
    return (unsigned)t < ASC_GGUF_N_TYPES ? names[t] : "?";
}

static bool is_integer(asc_gguf_type t) {
    return t <= ASC_GGUF_I32 || t == ASC_GGUF_U64 || t == ASC_GGUF_I64;
}
static bool is_floating(asc_gguf_type t) { return t == ASC_GGUF_F32 || t == ASC_GGUF_F64; }

asc_view asc_gguf_str_at(asc_gguf_array a, size_t i) {
    if (a.type != ASC_GGUF_STRING || i >= a.count) return asc_view_make("", 0);
    const uint8_t *p = a.data + (a.index != NULL ? a.index[i] : 0);
    return asc_view_make((const char *)p + 8, (size_t)asc_le64(p));
}

int64_t asc_gguf_int_at(asc_gguf_array a, size_t i) {
    if (i >= a.count) return 0;
    const uint8_t *p = a.data;
    switch (a.type) {
    case ASC_GGUF_U8:
    case ASC_GGUF_BOOL:
        return p[i];
    case ASC_GGUF_I8:
        return (int8_t)p[i];
    case ASC_GGUF_U16:
        return asc_le16(p + 2 * i);
    case ASC_GGUF_I16:
        return (int16_t)asc_le16(p + 2 * i);
    case ASC_GGUF_U32:
        return asc_le32(p + 4 * i);
    case ASC_GGUF_I32:
        return (int32_t)asc_le32(p + 4 * i);
    case ASC_GGUF_I64:
        return (int64_t)asc_le64(p + 8 * i);
    case ASC_GGUF_U64: {
        uint64_t v = asc_le64(p + 8 * i);
        return v > INT64_MAX ? INT64_MAX : (int64_t)v;
    }
    default:
        return 0;
    }
}

double asc_gguf_num_at(asc_gguf_array a, size_t i) {
    if (i >= a.count) return 0;
    if (a.type == ASC_GGUF_F32) {
        uint32_t u = asc_le32(a.data + 4 * i);
        float f;
        memcpy(&f, &u, sizeof f);
        return (double)f;
    }
    if (a.type == ASC_GGUF_F64 || a.type == ASC_GGUF_U64) {
        uint64_t u = asc_le64(a.data + 8 * i);
        double d;
        memcpy(&d, &u, sizeof d);
        return a.type == ASC_GGUF_U64 ? (double)u : d;
    }
    return (double)asc_gguf_int_at(a, i);
}

size_t asc_gguf_kv_count(const asc_gguf *g) { return g->n_kvs; }
const asc_gguf_kv *asc_gguf_kv_at(const asc_gguf *g, size_t i) { return i < g->n_kvs ? &g->kvs[i] : NULL; }
const asc_gguf_kv *asc_gguf_kv_find(const asc_gguf *g, const char *key) {
    int64_t i = asc_name_index_find(&g->kv_index, asc_view_of(key));
    return i < 0 ? NULL : &g->kvs[i];
}

size_t asc_gguf_tensor_count(const asc_gguf *g) { return g->n_tensors; }
const asc_gguf_tensor *asc_gguf_tensor_at(const asc_gguf *g, size_t i) {
    return i < g->n_tensors ? &g->tensors[i] : NULL;
}
const asc_gguf_tensor *asc_gguf_tensor_find(const asc_gguf *g, const char *name) {
    int64_t i = asc_name_index_find(&g->tensor_index, asc_view_of(name));
    return i < 0 ? NULL : &g->tensors[i];
}

static asc_status missing(asc_ctx *ctx, const asc_gguf *g, const char *key) {
    ASC_FAIL(ctx, ASC_NOT_FOUND, "'%s': the metadata key '%s' is missing", g->name, key);
    return asc_hint(ctx, "the file is incomplete; convert the model again with a current converter");
}

static asc_status wrong_type(asc_ctx *ctx, const asc_gguf *g, const asc_gguf_kv *kv, const char *want) {
    asc_view key = asc_view_cut(kv->key, 128);
    ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "'%s': the metadata key '" ASC_VIEW_FMT "' is %s%s, expected %s",
             g->name, ASC_VIEW_ARG(key), kv->is_array ? "an array of " : "of type ",
             asc_gguf_type_name(kv->values.type), want);
    return asc_hint(ctx, "the file was written wrongly; convert the model again");
}

static asc_status out_of_range(asc_ctx *ctx, const asc_gguf *g, const asc_gguf_kv *kv, const char *what) {
    asc_view key = asc_view_cut(kv->key, 128);
    ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "'%s': the metadata key '" ASC_VIEW_FMT "' is %s", g->name,
             ASC_VIEW_ARG(key), what);
    return asc_hint(ctx, "the file is damaged or was written wrongly; fetch or convert it again");
}

/* The five kinds of single value; `kv` is there. */
static asc_status value_u64(asc_ctx *ctx, const asc_gguf *g, const asc_gguf_kv *kv, uint64_t *out) {
    if (kv->is_array || !is_integer(kv->values.type)) return wrong_type(ctx, g, kv, "an integer");
    if (kv->values.type == ASC_GGUF_U64) {
        *out = asc_le64(kv->values.data);
        return ASC_OK;
    }
    int64_t v = asc_gguf_int_at(kv->values, 0);
    if (v < 0) return out_of_range(ctx, g, kv, "negative");
    *out = (uint64_t)v;
    return ASC_OK;
}

static asc_status value_i64(asc_ctx *ctx, const asc_gguf *g, const asc_gguf_kv *kv, int64_t *out) {
    if (kv->is_array || !is_integer(kv->values.type)) return wrong_type(ctx, g, kv, "an integer");
    if (kv->values.type == ASC_GGUF_U64 && asc_le64(kv->values.data) > INT64_MAX) {
        return out_of_range(ctx, g, kv, "too large for a signed integer of 64 bits");
    }
    *out = asc_gguf_int_at(kv->values, 0);
    return ASC_OK;
}

static asc_status value_f64(asc_ctx *ctx, const asc_gguf *g, const asc_gguf_kv *kv, double *out) {
    if (kv->is_array || !is_floating(kv->values.type))
        return wrong_type(ctx, g, kv, "a floating-point number");
    double v = asc_gguf_num_at(kv->values, 0);
    if (!isfinite(v)) return out_of_range(ctx, g, kv, "not a finite number");
    *out = v;
    return ASC_OK;
}

static asc_status value_bool(asc_ctx *ctx, const asc_gguf *g, const asc_gguf_kv *kv, bool *out) {
    if (kv->is_array || kv->values.type != ASC_GGUF_BOOL) return wrong_type(ctx, g, kv, "a bool");
    *out = kv->values.data[0] != 0;
    return ASC_OK;
}

static asc_status value_str(asc_ctx *ctx, const asc_gguf *g, const asc_gguf_kv *kv, asc_view *out) {
    if (kv->is_array || kv->values.type != ASC_GGUF_STRING) return wrong_type(ctx, g, kv, "a string");
    *out = asc_gguf_str_at(kv->values, 0);
    return ASC_OK;
}

/* The two forms of each. */
#define GETTERS(suffix, type)                                                                                \
    asc_status asc_gguf_get_##suffix(asc_ctx *ctx, const asc_gguf *g, const char *key, type *out) {          \
        const asc_gguf_kv *kv = asc_gguf_kv_find(g, key);                                                    \
        return kv == NULL ? missing(ctx, g, key) : value_##suffix(ctx, g, kv, out);                          \
    }                                                                                                        \
    asc_status asc_gguf_get_##suffix##_or(asc_ctx *ctx, const asc_gguf *g, const char *key, type fallback,   \
                                          type *out) {                                                       \
        const asc_gguf_kv *kv = asc_gguf_kv_find(g, key);                                                    \
        if (kv != NULL) return value_##suffix(ctx, g, kv, out);                                              \
        *out = fallback;                                                                                     \
        return ASC_OK;                                                                                       \
    }
GETTERS(u64, uint64_t)
GETTERS(i64, int64_t)
GETTERS(f64, double)
GETTERS(bool, bool)
GETTERS(str, asc_view)

asc_status asc_gguf_get_array(asc_ctx *ctx, const asc_gguf *g, const char *key, asc_gguf_kind kind,
                              asc_gguf_array *out) {
    static const char *const want[] = {"an array of strings", "an array of integers",
                                       "an array of floating-point numbers", "an array of bools"};
    const asc_gguf_kv *kv = asc_gguf_kv_find(g, key);
    if (kv == NULL) return missing(ctx, g, key);
    asc_gguf_type t = kv->values.type;
    bool fits = kind == ASC_GGUF_STRINGS    ? t == ASC_GGUF_STRING
                : kind == ASC_GGUF_INTEGERS ? is_integer(t)
                : kind == ASC_GGUF_FLOATS   ? is_floating(t)
                                            : t == ASC_GGUF_BOOL;
    if (!kv->is_array || !fits) return wrong_type(ctx, g, kv, want[kind]);
    *out = kv->values;
    return ASC_OK;
}

asc_status asc_gguf_get_array_or(asc_ctx *ctx, const asc_gguf *g, const char *key, asc_gguf_kind kind,
                                 asc_gguf_array *out) {
    if (asc_gguf_kv_find(g, key) != NULL) return asc_gguf_get_array(ctx, g, key, kind, out);
    *out = (asc_gguf_array){0};
    return ASC_OK;
}
