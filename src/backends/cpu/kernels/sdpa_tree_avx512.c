/* sdpa_tree_avx512.c - sdpa_tree.inl with AVX-512. */
#define VEC_ISA 2
#include "sdpa_tree.inl"
