/* broadcast_avx512.c - broadcast.inl with AVX-512. */
#define VEC_ISA 2
#include "broadcast.inl"
