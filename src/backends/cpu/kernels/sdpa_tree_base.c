/* sdpa_tree_base.c - sdpa_tree.inl for any machine. */
#define VEC_ISA 0
#include "sdpa_tree.inl"
