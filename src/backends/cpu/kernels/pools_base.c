/* pools_base.c - pools.inl on any machine. */
#define VEC_ISA 0
#include "pools.inl"
