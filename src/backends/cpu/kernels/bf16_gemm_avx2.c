/* bf16_gemm_avx2.c - matrix products by bf16 products (bf16_gemm.inl). */
#define BF16_NAME matmul_bf16_avx2
#define BF16_ISA avx2
#define BF16_LEVEL ASC_ISA_AVX2
#define BF16_FILL asc_gemm_fill_any
#include "bf16_gemm.inl"
