/* softmax_avx2.c - softmax.inl with AVX2 and FMA. */
#define VEC_ISA 1
#include "softmax.inl"
