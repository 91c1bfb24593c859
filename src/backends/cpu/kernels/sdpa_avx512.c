/* sdpa_avx512.c - sdpa.inl with AVX-512. */
#define VEC_ISA 2
#include "sdpa.inl"
