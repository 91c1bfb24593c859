/* bf16_gemm_avx512.c - matrix products by bf16 products (bf16_gemm.inl). */
#define BF16_NAME matmul_bf16_avx512
#define BF16_ISA avx512
#define BF16_LEVEL ASC_ISA_AVX512
#define BF16_FILL asc_gemm_fill_avx512
#define BF16_WIDE
#include "bf16_gemm.inl"
