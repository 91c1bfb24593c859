/* reduce_base.c - reduce.inl for any machine. */
#define VEC_ISA 0
#include "reduce.inl"
