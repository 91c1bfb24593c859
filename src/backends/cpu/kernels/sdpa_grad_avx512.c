/* sdpa_grad_avx512.c - sdpa_grad.inl with AVX-512. */
#define VEC_ISA 2
#include "sdpa_grad.inl"
