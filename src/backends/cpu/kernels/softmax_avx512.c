/* softmax_avx512.c - softmax.inl with AVX-512. */
#define VEC_ISA 2
#include "softmax.inl"
