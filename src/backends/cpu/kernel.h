/* kernel.h - what a fast kernel of the cpu device is. kernels.def lists them per op, fastest first; the
 * device takes the first whose instruction set the context allows and whose `fits` accepts the call; an op
 * without one falls back to its reference kernel. Kernels are pure: no allocation, no globals, no failure.
 * Reduction order must not depend on the number of threads: split work in fixed blocks, or give each output
 * element to one thread.
 */
#ifndef ASC_KERNEL_H
#define ASC_KERNEL_H

#include "cpu.h"
#include "op.h"

typedef struct asc_kargs {
    const asc_call *call;       /* shapes, dtypes, attributes */
    const void *in[ASC_MAX_IN]; /* contiguous, row-major; stored weights in their own format, then possibly
                                   unaligned */
    void *out;     /* 64-byte aligned start of its storage; may equal an input under ASC_OP_INPLACE */
    void *scratch; /* as asked for, 64-byte aligned */
    int n_threads; /* use `#pragma omp parallel for num_threads(n)`; 1 for small work */
} asc_kargs;

typedef struct asc_kernel {
    const char *name;
    int opcode; /* asc_opcode */
    asc_isa isa;
    bool (*fits)(const asc_call *c);                     /* NULL = always */
    size_t (*scratch)(const asc_call *c, int n_threads); /* bytes; NULL = none */
    void (*run)(const asc_kargs *a);
} asc_kernel;

#define KERNEL(name) extern const asc_kernel asc_kernel_##name;
#include "kernels.def"
#undef KERNEL
extern const asc_kernel *const asc_kernels[];
extern const size_t asc_n_kernels;

/* First kernel that takes the call, NULL = none. */
const asc_kernel *asc_kernel_pick(const asc_call *c, asc_isa isa);

/* The same choice without walking through the kernels of other ops; the device's state. */
enum {
#define KERNEL(name) ASC_KERNEL_##name,
#include "kernels.def"
#undef KERNEL
    ASC_N_KERNELS
};
typedef struct asc_kernel_index {
    uint16_t first[ASC_N_OPS + 1]; /* of each op in by_op */
    const asc_kernel *by_op[ASC_N_KERNELS];
} asc_kernel_index;
void asc_kernel_index_init(asc_kernel_index *x);
const asc_kernel *asc_kernel_index_pick(const asc_kernel_index *x, const asc_call *c, asc_isa isa);

#endif
