/* bf16_gemm_amx.c - matrix products by bf16 products (bf16_gemm.inl). */
#define BF16_NAME matmul_bf16_amx
#define BF16_ISA amx
#define BF16_LEVEL ASC_ISA_AMX
#define BF16_FILL asc_gemm_fill_avx512
#define BF16_WIDE
#include "bf16_gemm.inl"
