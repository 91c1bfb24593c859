/* broadcast_avx2.c - broadcast.inl with AVX2 and FMA. */
#define VEC_ISA 1
#include "broadcast.inl"
