/* cpu.c - see cpu.h. */
#include "cpu.h"
#include <sched.h>
#include <string.h>

asc_isa asc_cpu_best_isa(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return ASC_ISA_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return ASC_ISA_AVX2;
#endif
    return ASC_ISA_BASELINE;
}

const char *asc_isa_name(asc_isa isa) {
    return isa == ASC_ISA_AVX512 ? "avx512" : isa == ASC_ISA_AVX2 ? "avx2" : "baseline";
}

int asc_isa_from_name(const char *name) {
    if (strcmp(name, "auto") == 0) return (int)asc_cpu_best_isa();
    for (int i = ASC_ISA_BASELINE; i <= ASC_ISA_AVX512; i++) {
        if (strcmp(name, asc_isa_name((asc_isa)i)) == 0) return i;
    }
    return -1;
}

int asc_cpu_count(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    int n = CPU_COUNT(&set);
    return n > 0 ? n : 1;
}
