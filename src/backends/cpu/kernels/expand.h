/* expand.h - stored weights to f32 with a given instruction set: the same bits as asc_dtype_expand, faster.
 */
#ifndef ASC_EXPAND_KERNELS_H
#define ASC_EXPAND_KERNELS_H

#include "cpu.h"
#include "dtype.h"

/* NULL for types that cannot be expanded. The functions read exactly the bytes of n elements. */
asc_expand_fn asc_expand_for(asc_dtype t, asc_isa isa);

/* X(enumerator, suffix): the types that have vector versions asc_expand_<suffix>_avx512 and _avx2. */
#define ASC_EXPAND_FAST_TABLE(X)                                                                             \
    X(F16, f16)                                                                                              \
    X(BF16, bf16)                                                                                            \
    X(Q4_0, q4_0) X(Q4_1, q4_1) X(Q5_0, q5_0) X(Q5_1, q5_1) X(Q8_0, q8_0) X(Q4_K, q4_k) X(Q6_K, q6_k)

#define ASC_EXPAND_FAST_DECLARE(e, suffix)                                                                   \
    void asc_expand_##suffix##_avx512(const void *src, float *dst, int64_t n);                               \
    void asc_expand_##suffix##_avx2(const void *src, float *dst, int64_t n);
ASC_EXPAND_FAST_TABLE(ASC_EXPAND_FAST_DECLARE)
#undef ASC_EXPAND_FAST_DECLARE

#endif
