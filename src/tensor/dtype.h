/* dtype.h - element types: what programs compute with, and the block formats that weights are stored in.
 * Block formats hold `block_elems` consecutive elements of the innermost dimension in `block_bytes` bytes. */
#ifndef ASC_DTYPE_H
#define ASC_DTYPE_H

#include "ascribe/base.h"

/* X(enumerator, name, ggml type number or -1, elements per block, bytes per block) */
#define ASC_DTYPE_TABLE(X)                                                                                   \
    X(F32, "f32", 0, 1, 4)                                                                                   \
    X(F16, "f16", 1, 1, 2)                                                                                   \
    X(BF16, "bf16", 30, 1, 2)                                                                                \
    X(F64, "f64", 28, 1, 8)                                                                                  \
    X(I8, "i8", 24, 1, 1)                                                                                    \
    X(I16, "i16", 25, 1, 2)                                                                                  \
    X(I32, "i32", 26, 1, 4)                                                                                  \
    X(I64, "i64", 27, 1, 8)                                                                                  \
    X(BOOL, "bool", -1, 1, 1)                                                                                \
    X(Q4_0, "q4_0", 2, 32, 18)                                                                               \
    X(Q4_1, "q4_1", 3, 32, 20)                                                                               \
    X(Q5_0, "q5_0", 6, 32, 22)                                                                               \
    X(Q5_1, "q5_1", 7, 32, 24)                                                                               \
    X(Q8_0, "q8_0", 8, 32, 34)                                                                               \
    X(Q8_1, "q8_1", 9, 32, 36)                                                                               \
    X(Q2_K, "q2_k", 10, 256, 84)                                                                             \
    X(Q3_K, "q3_k", 11, 256, 110)                                                                            \
    X(Q4_K, "q4_k", 12, 256, 144)                                                                            \
    X(Q5_K, "q5_k", 13, 256, 176)                                                                            \
    X(Q6_K, "q6_k", 14, 256, 210)                                                                            \
    X(Q8_K, "q8_k", 15, 256, 292)                                                                            \
    X(IQ2_XXS, "iq2_xxs", 16, 256, 66)                                                                       \
    X(IQ2_XS, "iq2_xs", 17, 256, 74)                                                                         \
    X(IQ3_XXS, "iq3_xxs", 18, 256, 98)                                                                       \
    X(IQ1_S, "iq1_s", 19, 256, 50)                                                                           \
    X(IQ4_NL, "iq4_nl", 20, 32, 18)                                                                          \
    X(IQ3_S, "iq3_s", 21, 256, 110)                                                                          \
    X(IQ2_S, "iq2_s", 22, 256, 82)                                                                           \
    X(IQ4_XS, "iq4_xs", 23, 256, 136)                                                                        \
    X(IQ1_M, "iq1_m", 29, 256, 56)                                                                           \
    X(TQ1_0, "tq1_0", 34, 256, 54)                                                                           \
    X(TQ2_0, "tq2_0", 35, 256, 66)                                                                           \
    X(MXFP4, "mxfp4", 39, 32, 17)                                                                            \
    X(NVFP4, "nvfp4", 40, 64, 36)

typedef enum asc_dtype {
#define ASC_DTYPE_ENUM(e, name, ggml, elems, bytes) ASC_DTYPE_##e,
    ASC_DTYPE_TABLE(ASC_DTYPE_ENUM)
#undef ASC_DTYPE_ENUM
        ASC_N_DTYPES
} asc_dtype;

typedef struct asc_dtype_info {
    const char *name;
    int ggml_type; /* number in GGUF files, -1 = none */
    int block_elems, block_bytes;
    bool is_float, is_int; /* plain numbers of one element a block; both false for block formats and bool */
    bool is_weight_only;   /* block formats, f16, bf16: stored in files, expanded to f32 before arithmetic */
} asc_dtype_info;

const asc_dtype_info *asc_dtype_of(asc_dtype t);
int asc_dtype_from_name(const char *name); /* -1 = unknown */
int asc_dtype_from_ggml(uint32_t type);    /* -1 = unknown */
/* Bytes of n elements; false when n is not a whole number of blocks or on overflow. */
bool asc_dtype_bytes(asc_dtype t, int64_t n, size_t *out);

/* Expands n elements (a whole number of blocks) stored as `t` to f32, bit-equal to the format's definition.
 * NULL for types that cannot be expanded (i8, i16, i32, i64, f64, bool, q8_1, q8_k). Pure; no alignment is
 * needed of src. */
typedef void (*asc_expand_fn)(const void *src, float *dst, int64_t n);
asc_expand_fn asc_dtype_expand(asc_dtype t);

#endif
