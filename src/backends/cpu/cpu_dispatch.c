/* cpu_dispatch.c - the table of fast kernels and the choice among them. */
#include "kernel.h"

const asc_kernel *const asc_kernels[] = {
#define KERNEL(name) &asc_kernel_##name,
#include "kernels.def"
#undef KERNEL
    NULL, /* so that an empty table compiles */
};
const size_t asc_n_kernels = sizeof asc_kernels / sizeof asc_kernels[0] - 1;

const asc_kernel *asc_kernel_pick(const asc_call *c, asc_isa isa) {
    for (size_t i = 0; i < asc_n_kernels; i++) {
        const asc_kernel *k = asc_kernels[i];
        if (k->opcode == c->op->opcode && k->isa <= isa && (k->fits == NULL || k->fits(c))) return k;
    }
    return NULL;
}
