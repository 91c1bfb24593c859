/* pools_avx512.c - pools.inl with AVX-512. */
#define VEC_ISA 2
#include "pools.inl"
