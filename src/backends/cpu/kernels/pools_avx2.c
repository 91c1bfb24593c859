/* pools_avx2.c - pools.inl with AVX2 and FMA. */
#define VEC_ISA 1
#include "pools.inl"
