/* pointwise_avx2.c - pointwise.inl with AVX2 and FMA. */
#define VEC_ISA 1
#include "pointwise.inl"
