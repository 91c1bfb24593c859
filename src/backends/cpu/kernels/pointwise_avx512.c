/* pointwise_avx512.c - pointwise.inl with AVX-512. */
#define VEC_ISA 2
#include "pointwise.inl"
