/* dtype.c - the table of element types, and look-ups by name and by ggml number. */
#include "quant.h"

/* What the X-macro rows cannot say. */
#define IS_FLOAT(t) ((t) == ASC_DTYPE_F32 || (t) == ASC_DTYPE_F64)
#define IS_INT(t) ((t) == ASC_DTYPE_I8 || (t) == ASC_DTYPE_I16 || (t) == ASC_DTYPE_I32 || (t) == ASC_DTYPE_I64)
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
    switch (t) {
    case ASC_DTYPE_F32: return asc_expand_f32;
    case ASC_DTYPE_F16: return asc_expand_f16;
    case ASC_DTYPE_BF16: return asc_expand_bf16;
    case ASC_DTYPE_Q4_0: return asc_expand_q4_0;
    case ASC_DTYPE_Q4_1: return asc_expand_q4_1;
    case ASC_DTYPE_Q5_0: return asc_expand_q5_0;
    case ASC_DTYPE_Q5_1: return asc_expand_q5_1;
    case ASC_DTYPE_Q8_0: return asc_expand_q8_0;
    case ASC_DTYPE_Q2_K: return asc_expand_q2_k;
    case ASC_DTYPE_Q3_K: return asc_expand_q3_k;
    case ASC_DTYPE_Q4_K: return asc_expand_q4_k;
    case ASC_DTYPE_Q5_K: return asc_expand_q5_k;
    case ASC_DTYPE_Q6_K: return asc_expand_q6_k;
    case ASC_DTYPE_IQ2_XXS: return asc_expand_iq2_xxs;
    case ASC_DTYPE_IQ2_XS: return asc_expand_iq2_xs;
    case ASC_DTYPE_IQ2_S: return asc_expand_iq2_s;
    case ASC_DTYPE_IQ3_XXS: return asc_expand_iq3_xxs;
    case ASC_DTYPE_IQ3_S: return asc_expand_iq3_s;
    case ASC_DTYPE_IQ1_S: return asc_expand_iq1_s;
    case ASC_DTYPE_IQ1_M: return asc_expand_iq1_m;
    case ASC_DTYPE_IQ4_NL: return asc_expand_iq4_nl;
    case ASC_DTYPE_IQ4_XS: return asc_expand_iq4_xs;
    case ASC_DTYPE_TQ1_0: return asc_expand_tq1_0;
    case ASC_DTYPE_TQ2_0: return asc_expand_tq2_0;
    case ASC_DTYPE_MXFP4: return asc_expand_mxfp4;
    case ASC_DTYPE_NVFP4: return asc_expand_nvfp4;
    default: return NULL;
    }
}
