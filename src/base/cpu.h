/* cpu.h - which vector instructions this machine has, how many cores the process may use. */
#ifndef ASC_CPU_H
#define ASC_CPU_H

#include <stdbool.h>

typedef enum asc_isa {
    ASC_ISA_BASELINE = 0,
    ASC_ISA_AVX2 = 1,   /* and FMA, F16C */
    ASC_ISA_AVX512 = 2, /* F, BW, DQ, VL */
    ASC_ISA_AMX = 3     /* AVX512 with sums of bytes, bf16, and matrix tiles of both */
} asc_isa;

/* Best level this machine and its operating system support. The process asks the kernel for the tile
 * registers here (which it then has for good); where that is refused, the best is AVX512. */
asc_isa asc_cpu_best_isa(void);
/* The same without tiles, for code that has none: costs nothing. */
asc_isa asc_cpu_vector_isa(void);
/* Whether vectors of that level (AVX2 or AVX512) have sums of products of bytes: the VNNI of each. */
bool asc_cpu_sums_bytes(asc_isa isa);
const char *asc_isa_name(asc_isa isa);
int asc_isa_from_name(const char *name); /* -1 = unknown; "auto" = best */
int asc_cpu_count(void);                 /* cores in the process's affinity mask, at least 1 */

#endif
