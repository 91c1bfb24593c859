/* sdpa_base.c - sdpa.inl for any machine. */
#define VEC_ISA 0
#include "sdpa.inl"
