/* reduce_avx2.c - reduce.inl with AVX2 and FMA. */
#define VEC_ISA 1
#include "reduce.inl"
