/* sdpa_tree_avx2.c - sdpa_tree.inl with AVX2 and FMA. */
#define VEC_ISA 1
#include "sdpa_tree.inl"
