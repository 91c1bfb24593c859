/* rope_avx2.c - rope.inl with AVX2 and FMA. */
#define VEC_ISA 1
#include "rope.inl"
