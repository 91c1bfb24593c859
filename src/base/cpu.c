/* cpu.c - see cpu.h. */
#include "cpu.h"
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* CPUID 7.0, EDX: bit 22 bf16 tiles, 24 tiles, 25 int8 tiles (Intel SDM, volume 2A). The kernel keeps 8 KB
 * more of state per thread only for processes that ask (arch_prctl(2): ARCH_REQ_XCOMP_PERM of XTILEDATA). */
static bool has_tiles(void) {
    enum { REQUEST = 0x1023, TILE_DATA = 18 };
    const unsigned int need = 1u << 22 | 1u << 24 | 1u << 25;
    unsigned int a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & need) != need) return false;
    return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
}

/* CPUID 7.1, EAX bit 4: the sums of AVX512-VNNI for vectors of 256 bits, without AVX-512. Asked once, since
 * the instruction takes microseconds under a hypervisor. */
static bool has_avx_vnni(void) {
    static atomic_int known; /* 1 = no, 2 = yes */
    int is = atomic_load_explicit(&known, memory_order_relaxed);
    if (is == 0) {
        unsigned int a = 0, b = 0, c = 0, d = 0;
        is = __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & 1u << 4) != 0 ? 2 : 1;
        atomic_store_explicit(&known, is, memory_order_relaxed);
    }
    return is == 2;
}
#else
static bool has_tiles(void) { return false; }
static bool has_avx_vnni(void) { return false; }
#endif

/* Kernels of this level also round to bf16, multiply bytes and pick bits in vectors. */
static bool has_bf16_and_bytes(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vnni") &&
           __builtin_cpu_supports("avx512vbmi");
#else
    return false;
#endif
}

asc_isa asc_cpu_best_isa(void) {
    const asc_isa isa = asc_cpu_vector_isa();
    const bool vectors = isa == ASC_ISA_AVX512 && has_bf16_and_bytes();
    return vectors && has_tiles() ? ASC_ISA_AMX : isa;
}

asc_isa asc_cpu_vector_isa(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return ASC_ISA_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return ASC_ISA_AVX2;
#endif
    return ASC_ISA_BASELINE;
}

bool asc_cpu_sums_bytes(asc_isa isa) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (isa >= ASC_ISA_AVX512)
        return asc_cpu_vector_isa() == ASC_ISA_AVX512 && __builtin_cpu_supports("avx512vnni");
#endif
    return isa == ASC_ISA_AVX2 && asc_cpu_vector_isa() >= ASC_ISA_AVX2 && has_avx_vnni();
}

const char *asc_isa_name(asc_isa isa) {
    static const char *const names[] = {"baseline", "avx2", "avx512", "amx"};
    return names[isa];
}

int asc_isa_from_name(const char *name) {
    if (strcmp(name, "auto") == 0) return (int)asc_cpu_best_isa();
    for (int i = ASC_ISA_BASELINE; i <= ASC_ISA_AMX; i++) {
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
