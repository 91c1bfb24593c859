/* norms_base.c - norms.inl for any machine. */
#define VEC_ISA 0
#include "norms.inl"
