/* cpu_dispatch.c - the table of fast kernels and the choice among them. */
#include "kernel.h"

const asc_kernel *const asc_kernels[] = {
#define KERNEL(name) &asc_kernel_##name,
#include "kernels.def"
#undef KERNEL
    NULL, /* so that an empty table compiles */
};
const size_t asc_n_kernels = sizeof asc_kernels / sizeof asc_kernels[0] - 1;

static bool takes(const asc_kernel *k, const asc_call *c, asc_isa isa) {
    return k->isa <= isa && (k->fits == NULL || k->fits(c));
}

const asc_kernel *asc_kernel_pick(const asc_call *c, asc_isa isa) {
    for (size_t i = 0; i < asc_n_kernels; i++) {
        if (asc_kernels[i]->opcode == c->op->opcode && takes(asc_kernels[i], c, isa)) return asc_kernels[i];
    }
    return NULL;
}

void asc_kernel_index_init(asc_kernel_index *x) {
    size_t n = 0;
    for (int op = 0; op < ASC_N_OPS; op++) {
        x->first[op] = (uint16_t)n;
        for (size_t i = 0; i < asc_n_kernels; i++) {
            if (asc_kernels[i]->opcode == op) x->by_op[n++] = asc_kernels[i];
        }
    }
    x->first[ASC_N_OPS] = (uint16_t)n;
}

const asc_kernel *asc_kernel_index_pick(const asc_kernel_index *x, const asc_call *c, asc_isa isa) {
    for (int i = x->first[c->op->opcode]; i < x->first[c->op->opcode + 1]; i++) {
        if (takes(x->by_op[i], c, isa)) return x->by_op[i];
    }
    return NULL;
}
