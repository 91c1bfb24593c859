/* sdpa_grad_base.c - sdpa_grad.inl for any machine. */
#define VEC_ISA 0
#include "sdpa_grad.inl"
