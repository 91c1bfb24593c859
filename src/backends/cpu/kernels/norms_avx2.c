/* norms_avx2.c - norms.inl with AVX2 and FMA. */
#define VEC_ISA 1
#include "norms.inl"
