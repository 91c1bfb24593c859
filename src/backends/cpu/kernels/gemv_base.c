/* gemv_base.c - matrix times few rows on any processor. */
#define GEMV_NAME gemv_base
#define GEMV_LEVEL ASC_ISA_BASELINE
#define GEMV_LANES 4
#include "gemv_body.h"
