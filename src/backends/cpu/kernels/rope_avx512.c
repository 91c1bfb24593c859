/* rope_avx512.c - rope.inl with AVX-512. */
#define VEC_ISA 2
#include "rope.inl"
