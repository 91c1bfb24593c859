/* bf16_gemm_base.c - matrix products by bf16 products (bf16_gemm.inl). */
#define BF16_NAME matmul_bf16_base
#define BF16_ISA base
#define BF16_LEVEL ASC_ISA_BASELINE
#define BF16_FILL asc_gemm_fill_any
#include "bf16_gemm.inl"
