/* softmax_base.c - softmax.inl for any machine. */
#define VEC_ISA 0
#include "softmax.inl"
