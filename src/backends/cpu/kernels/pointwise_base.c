/* pointwise_base.c - pointwise.inl for any machine. */
#define VEC_ISA 0
#include "pointwise.inl"
