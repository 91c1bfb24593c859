/* conv_base.c - conv.inl and conv_weight.inl on any machine. */
#define VEC_ISA 0
#include "conv_weight.inl"
