/* sdpa_avx2.c - sdpa.inl with AVX2 and FMA. */
#define VEC_ISA 1
#include "sdpa.inl"
