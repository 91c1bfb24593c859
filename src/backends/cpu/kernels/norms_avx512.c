/* norms_avx512.c - norms.inl with AVX-512. */
#define VEC_ISA 2
#include "norms.inl"
