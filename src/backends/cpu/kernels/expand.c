/* expand.c - the choice of an expansion function. */
#include "expand.h"

asc_expand_fn asc_expand_for(asc_dtype t, asc_isa isa) {
#if defined(__x86_64__)
    switch (t) {
#define CASE(e, suffix)                                                                                      \
    case ASC_DTYPE_##e:                                                                                      \
        if (isa >= ASC_ISA_AVX512) return asc_expand_##suffix##_avx512;                                      \
        if (isa >= ASC_ISA_AVX2) return asc_expand_##suffix##_avx2;                                          \
        break;
        ASC_EXPAND_FAST_TABLE(CASE)
#undef CASE
    default:
        break;
    }
#else
    (void)isa;
#endif
    return asc_dtype_expand(t);
}
