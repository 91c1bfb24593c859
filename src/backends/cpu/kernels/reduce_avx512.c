/* reduce_avx512.c - reduce.inl with AVX-512. */
#define VEC_ISA 2
#include "reduce.inl"
