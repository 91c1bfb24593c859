/* cpu.h - which vector instructions this machine has, how many cores the process may use. */
#ifndef ASC_CPU_H
#define ASC_CPU_H

typedef enum asc_isa { ASC_ISA_BASELINE = 0, ASC_ISA_AVX2 = 1, ASC_ISA_AVX512 = 2 } asc_isa;

/* Best level this machine and its operating system support (AVX2 implies FMA and F16C; AVX512 implies F, BW,
 * DQ, VL). */
asc_isa asc_cpu_best_isa(void);
const char *asc_isa_name(asc_isa isa);
int asc_isa_from_name(const char *name); /* -1 = unknown; "auto" = best */
int asc_cpu_count(void);                 /* cores in the process's affinity mask, at least 1 */

#endif
