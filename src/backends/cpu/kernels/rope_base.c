/* rope_base.c - rope.inl for any machine. */
#define VEC_ISA 0
#include "rope.inl"
