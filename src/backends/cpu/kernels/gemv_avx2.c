/* gemv_avx2.c - matrix times few rows with AVX2. */
#define GEMV_NAME gemv_avx2
#define GEMV_LEVEL ASC_ISA_AVX2
#define GEMV_LANES 8
#include "gemv_body.h"
