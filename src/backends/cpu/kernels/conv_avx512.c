/* conv_avx512.c - conv.inl and conv_weight.inl with AVX-512. */
#define VEC_ISA 2
#include "conv_weight.inl"
