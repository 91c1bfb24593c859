/* broadcast_base.c - broadcast.inl for any machine. */
#define VEC_ISA 0
#include "broadcast.inl"
