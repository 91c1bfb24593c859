/* sdpa_grad_avx2.c - sdpa_grad.inl with AVX2 and FMA. */
#define VEC_ISA 1
#include "sdpa_grad.inl"
