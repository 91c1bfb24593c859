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

/* What a fused region does to the result of a matrix product while a part of it is still in a cache (bias,
 * residual addition, activation, gate). A kernel with takes_post calls `block` once for every part of its
 * result, as soon as all of k has been added up and the part is in memory: rows [m0, m1) of the folded batch
 * (batch * m rows in all), columns [n0, n1), on the thread that made it. The parts are disjoint and cover the
 * result; which parts they are must depend on the shapes only, or on nothing that shows in the bits (an
 * epilogue treats elements one by one). `block` reads and may rewrite the part, and nothing else of the
 * result. Parts that fit the L2 cache together with as many operands again (256 KB) and whose n0 is a
 * multiple of 16 are best. Of a convolution rows are [batch][channel], columns positions of a plane. */
typedef struct asc_epilogue {
    void (*block)(const struct asc_epilogue *post, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
                  int thread);
} asc_epilogue;

typedef struct asc_kargs {
    const asc_call *call;       /* shapes, dtypes, attributes */
    const void *in[ASC_MAX_IN]; /* contiguous, row-major; stored weights in their own format, then possibly
                                   unaligned */
    void *out;       /* 64-byte aligned start of its storage; may equal an input under ASC_OP_INPLACE */
    void *scratch;   /* as asked for, 64-byte aligned */
    int n_threads;   /* use `#pragma omp parallel for num_threads(n)`; 1 for small work */
    bool left_ready; /* the start of scratch holds in[0] in the form that left_form tells: do not make it
                        again */
    bool left_keep;  /* leave it there: a product that follows is run with left_ready */
    const asc_epilogue *post; /* NULL = none; set only for kernels with takes_post */
} asc_kargs;

/* A stretch of n elements of a pointwise op, for fused regions: in[k] repeats its one element (step 0) or
 * runs along (step 1). y may equal an input with step 1. */
typedef struct asc_strip {
    const float *in[3];
    int64_t step[3];
    float *y, *y2; /* y2: the second half of swiglu_grad's result */
    int64_t n;
    float s[2]; /* values of the kernel's strip_attr */
} asc_strip;

typedef struct asc_kernel {
    const char *name;
    int opcode; /* asc_opcode */
    asc_isa isa;
    bool (*fits)(const asc_call *c);                     /* NULL = always */
    size_t (*scratch)(const asc_call *c, int n_threads); /* bytes; NULL = none */
    void (*run)(const asc_kargs *a);
    /* Matrix products: run calls a->post as described above (also when k is 0). Where it is false, the device
     * does the same after run, over tiles of rows. */
    bool takes_post;
    /* Matrix products that turn all rows of in[0] into another form first (bf16 pieces): a number for that
     * form, if this call, run with left_keep, leaves all of it at the very start of scratch, at an address
     * and in an order that depend on in[0], its rows and columns and the form only (not on n, W or the number
     * of threads); 0 if not. The next product of the same in[0] whose kernel, be it another one, names the
     * same form is then run with left_ready. NULL = 0. Forms in use: asc_bf16_left_form (bf16_job.h),
     * asc_stored_left_form (stored_job.h), asc_int8_left_form (int8_job.h). */
    int (*left_form)(const asc_call *c);
    /* Pointwise kernels: the arithmetic of run on one stretch, with the same bits; NULL = only run. */
    void (*strip)(const asc_strip *a);
    const char *strip_attr[2]; /* float attributes that strip reads, NULL = none */
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
