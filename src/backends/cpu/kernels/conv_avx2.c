/* conv_avx2.c - conv.inl and conv_weight.inl with AVX2 and FMA. */
#define VEC_ISA 1
#include "conv_weight.inl"
