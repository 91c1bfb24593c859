/* kernel_scope.h - which ops have fast kernels, and which of those test_cpu_kernels.c compares: an op is in
 * one of these lists, or has a kernel. */
#ifndef ASC_TEST_KERNEL_SCOPE_H
#define ASC_TEST_KERNEL_SCOPE_H

#include "kernel.h"

/* Whether test_cpu_kernels.c compares the kernels of op; the others have test programs of their own. */
static inline bool mine(const asc_op *op) {
    switch (op->opcode) {
    case ASC_OPCODE_MATMUL:
    case ASC_OPCODE_MATMUL_BIAS:
    case ASC_OPCODE_EXPERT_MATMUL: /* test_expert_matmul.c */
    case ASC_OPCODE_GATHER:
    case ASC_OPCODE_SDPA:
    case ASC_OPCODE_SDPA_GRAD:
    case ASC_OPCODE_SDPA_TREE:
        return false;
    case ASC_OPCODE_CONV: /* test_cpu_conv.c */
    case ASC_OPCODE_CONV_GRAD_INPUT:
    case ASC_OPCODE_CONV_GRAD_WEIGHT:
    case ASC_OPCODE_MAX_POOL:
    case ASC_OPCODE_MAX_POOL_INDEX:
    case ASC_OPCODE_POOL_TAKE:
    case ASC_OPCODE_POOL_PUT:
    case ASC_OPCODE_AVG_POOL:
    case ASC_OPCODE_AVG_POOL_GRAD:
        return false;
    default:
        return true;
    }
}

static inline bool has_kernel(const asc_op *op) {
    for (size_t i = 0; i < asc_n_kernels; i++)
        if (asc_kernels[i]->opcode == op->opcode) return true;
    return false;
}

/* Ops too rare in models for a kernel of their own: cpu_fallback.c runs their reference. */
static const int rare[] = {ASC_OPCODE_POW,         ASC_OPCODE_MOD,         ASC_OPCODE_TRUNC_DIV,
                           ASC_OPCODE_ATAN2,       ASC_OPCODE_BITWISE,     ASC_OPCODE_FLOOR,
                           ASC_OPCODE_CEIL,        ASC_OPCODE_ROUND,       ASC_OPCODE_TAN,
                           ASC_OPCODE_ASIN,        ASC_OPCODE_ACOS,        ASC_OPCODE_ATAN,
                           ASC_OPCODE_SINH,        ASC_OPCODE_COSH,        ASC_OPCODE_ASINH,
                           ASC_OPCODE_ACOSH,       ASC_OPCODE_ATANH,       ASC_OPCODE_EXPM1,
                           ASC_OPCODE_LOG1P,       ASC_OPCODE_LOGICAL_AND, ASC_OPCODE_LOGICAL_OR,
                           ASC_OPCODE_LOGICAL_XOR, ASC_OPCODE_LOGICAL_NOT, ASC_OPCODE_IS_NAN,
                           ASC_OPCODE_IS_INF,      ASC_OPCODE_PROD,        ASC_OPCODE_LOG_SUM_EXP,
                           ASC_OPCODE_TOP_K,       ASC_OPCODE_RANDOM,      ASC_OPCODE_STRAIGHT_THROUGH,
                           ASC_OPCODE_CUSTOM,      ASC_OPCODE_TREE_MASK};

static inline bool by_reference(const asc_op *op) {
    for (size_t i = 0; i < sizeof rare / sizeof rare[0]; i++)
        if (rare[i] == op->opcode) return true;
    return false;
}

#endif
