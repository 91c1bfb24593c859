/* dtype.c - the table of element types, and look-ups by name and by ggml number. */
#include "quant.h"

/* What the X-macro rows cannot say. */
#define IS_FLOAT(t) ((t) == ASC_DTYPE_F32 || (t) == ASC_DTYPE_F64)
#define IS_INT(t)                                                                                            \
    ((t) == ASC_DTYPE_I8 || (t) == ASC_DTYPE_I16 || (t) == ASC_DTYPE_I32 || (t) == ASC_DTYPE_I64)
#define IS_SMALL_FLOAT(t) ((t) == ASC_DTYPE_F16 || (t) == ASC_DTYPE_BF16)

static const asc_dtype_info infos[ASC_N_DTYPES] = {
#define INFO(e, text, ggml, elems, bytes)                                                                    \
    [ASC_DTYPE_##e] = {                                                                                      \
        .name = (text),                                                                                      \
        .ggml_type = (ggml),                                                                                 \
        .block_elems = (elems),                                                                              \
        .block_bytes = (bytes),                                                                              \
        .is_float = IS_FLOAT(ASC_DTYPE_##e) || IS_SMALL_FLOAT(ASC_DTYPE_##e),                                \
        .is_int = IS_INT(ASC_DTYPE_##e),                                                                     \
        .is_weight_only = (elems) > 1 || IS_SMALL_FLOAT(ASC_DTYPE_##e),                                      \
    },
    ASC_DTYPE_TABLE(INFO)
#undef INFO
};

const asc_dtype_info *asc_dtype_of(asc_dtype t) { return &infos[t]; }

int asc_dtype_from_name(const char *name) {
    for (int t = 0; t < ASC_N_DTYPES; t++) {
        if (strcmp(infos[t].name, name) == 0) return t;
    }
    return -1;
}

int asc_dtype_from_ggml(uint32_t type) {
    for (int t = 0; t < ASC_N_DTYPES; t++) {
        if (infos[t].ggml_type >= 0 && (uint32_t)infos[t].ggml_type == type) return t;
    }
    return -1;
}

bool asc_dtype_bytes(asc_dtype t, int64_t n, size_t *out) {
    const asc_dtype_info *info = &infos[t];
    if (n < 0 || n % info->block_elems != 0) return false;
    return !__builtin_mul_overflow((size_t)(n / info->block_elems), (size_t)info->block_bytes, out);
}

asc_expand_fn asc_dtype_expand(asc_dtype t) {
    static const asc_expand_fn fns[ASC_N_DTYPES] = {
#define FN(e, type) [ASC_DTYPE_##e] = asc_expand_##type,
        ASC_EXPAND_TABLE(FN)
#undef FN
    };
    return fns[t];
}
