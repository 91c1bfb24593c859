/* op.h - what an op is: one const descriptor per op, in a file of its own, listed once in ascribe/ops.def.
 * A missing file is a link error, a missing field fails tests/ops/test_ops_complete.c. */
#ifndef ASC_OP_H
#define ASC_OP_H

#include "tensor.h"

/* One application of an op, described without values: what shape rules, cost and device support look at. */
typedef struct asc_call {
    const struct asc_op *op;
    const asc_attrs *attrs;
    int n_in;
    asc_dtype in_dtype[ASC_MAX_IN];
    asc_shape in_shape[ASC_MAX_IN];
    asc_dtype dtype; /* of the result; set by infer */
    asc_shape shape;
    asc_precision level; /* of a matrix product (ASC_FUSE_GEMM); HIGHEST elsewhere */
    bool many_rows; /* choose kernels as for many rows, so that the bits stay those of the whole product */
    bool pieces;    /* of exactly the pieces that the level names, also where f32 products are faster */
} asc_call;

/* An array as reference kernels see it: doubles (integers and booleans too, exact to 2^53), any strides. */
typedef struct asc_nd {
    double *data;
    int rank;
    int64_t dims[ASC_MAX_RANK];
    int64_t strides[ASC_MAX_RANK]; /* in elements; may be 0 or negative */
} asc_nd;

typedef struct asc_ref_args {
    const asc_attrs *attrs;
    int n_in;
    asc_nd in[ASC_MAX_IN];
    asc_nd out;
    int n_threads; /* a reference kernel may split independent outputs over threads */
} asc_ref_args;

typedef struct asc_vjp_args {
    asc_ctx *ctx;
    asc_tensor *y;         /* the result */
    asc_tensor *g;         /* cotangent of y, same shape */
    asc_tensor *const *in; /* the inputs */
    const asc_attrs *attrs;
    int n_in;
    bool need[ASC_MAX_IN];       /* which cotangents are wanted */
    asc_tensor *gin[ASC_MAX_IN]; /* filled where needed; NULL counts as zero. Shape = the input's */
    /* ---- for the rules of a table (grad.h); an op's own VJP leaves them alone ---- */
    const struct asc_grad_rules *rules;
    void *self;              /* the table's context */
    size_t slot;             /* of y among the values of this pass, from old to new */
    bool moving[ASC_MAX_IN]; /* depends on what is differentiated; without need: integers, stored weights */
    asc_tensor *const *ends; /* [n_ends] what is differentiated: the pass goes no further */
    size_t n_ends;
    asc_tensor *y0;               /* paired passes: y of the partner graph; NULL = not paired */
    asc_tensor *in0[ASC_MAX_IN];  /* the partner's inputs; an input that is not moving is its own partner */
    asc_tensor *g0;               /* cotangent of y0 where the table keeps both; NULL = it does not */
    asc_tensor *gin0[ASC_MAX_IN]; /* with g0, as gin, for the partner's inputs; NULL = gin's */
    asc_status st;                /* set by a rule that fails, with the error recorded in ctx */
} asc_vjp_args;

typedef struct asc_jvp_args {
    asc_ctx *ctx;
    asc_tensor *y;
    asc_tensor *const *in;
    const asc_attrs *attrs;
    int n_in;
    asc_tensor *tin[ASC_MAX_IN]; /* tangents of the inputs; NULL = zero */
} asc_jvp_args;

typedef struct asc_cost {
    double flops; /* multiply and add count as two */
    double bytes_read;
    double bytes_written;
} asc_cost;

typedef enum asc_attr_kind {
    ASC_ATTR_INT,    /* i[slot] */
    ASC_ATTR_BOOL,   /* i[slot], 0 or 1 */
    ASC_ATTR_INTS,   /* i[slot] = count, values behind it */
    ASC_ATTR_AXES,   /* i[slot] and the two behind it: one number per spatial axis, 0 for axes not there */
    ASC_ATTR_FLOAT,  /* f[slot], part of the structural hash */
    ASC_ATTR_SCALAR, /* f[slot], a run-time parameter: not part of the hash */
    ASC_ATTR_DTYPE   /* i[slot], an asc_dtype */
} asc_attr_kind;

typedef struct asc_attr_def {
    const char *name;
    asc_attr_kind kind;
    int slot;
} asc_attr_def;

typedef enum asc_fuse {
    ASC_FUSE_NONE = 1,  /* reads and writes in its own way */
    ASC_FUSE_POINTWISE, /* out[i] depends on in[i] (with broadcasting) */
    ASC_FUSE_REDUCE,
    ASC_FUSE_GEMM, /* takes a pointwise epilogue */
    ASC_FUSE_VIEW  /* moves no arithmetic: may alias its input */
} asc_fuse;

enum {
    ASC_OP_LINEAR_0 = 1 << 0, /* linear in input 0 (given the others); bit k for input k, k < 4 */
    ASC_OP_LINEAR_1 = 1 << 1,
    ASC_OP_LINEAR_2 = 1 << 2,
    ASC_OP_INPLACE = 1 << 8, /* the result may overwrite an input of the same bytes that dies here */
    ASC_OP_NO_GRAD = 1 << 9  /* piecewise constant or integer-valued: zero gradient (comparisons, arg_max) */
};

/* One test case of an op: attributes, shapes, and how to draw the values. */
typedef struct asc_sample {
    asc_attrs attrs;
    int n_in;
    asc_dtype in_dtype[ASC_MAX_IN];
    asc_shape in_shape[ASC_MAX_IN];
    double lo[ASC_MAX_IN], hi[ASC_MAX_IN]; /* uniform range of floats; integers are in [lo, hi) */
    bool no_grad[ASC_MAX_IN];              /* do not differentiate this input (indices, masks) */
    double min_gap; /* all values are this far from each other and from 0 (kinks, ties); 0 = any */
} asc_sample;

typedef struct asc_op {
    const char *name;
    int opcode;
    int min_in, max_in;
    const asc_attr_def *attrs;
    int n_attrs;
    /* Checks dtypes, shapes and attributes of c and sets c->dtype and c->shape. Errors name the op and the
     * values. */
    asc_status (*infer)(asc_ctx *ctx, asc_call *c);
    /* Plain loops in double, any strides; never fails. */
    void (*ref)(const asc_ref_args *a);
    /* Build ops only. NULL only with ASC_OP_NO_GRAD. */
    void (*vjp)(asc_vjp_args *a);
    asc_tensor *(*jvp)(asc_jvp_args *a); /* tangent of y; NULL result = zero */
    /* The same value from more primitive ops; NULL for a primitive. */
    asc_tensor *(*decompose)(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in);
    asc_fuse fuse;
    const char *expr; /* pointwise only: a C expression of a, b, c (inputs) and s0, s1 (float attributes) */
    void (*cost)(const asc_call *c, asc_cost *out);
    /* False when there is no sample i (out is zeroed before the call). */
    bool (*sample)(int i, asc_sample *out);
    uint32_t flags;
    const char *doc;     /* one line */
    const char *formula; /* plain text */
} asc_op;

/* OP(ENUM, name, (builder parameters)) */
typedef enum asc_opcode {
#define OP(E, name, proto) ASC_OPCODE_##E,
#include "ascribe/ops.def"
#undef OP
    ASC_N_OPS
} asc_opcode;

#define OP(E, name, proto) extern const asc_op asc_op_##name;
#include "ascribe/ops.def"
#undef OP

extern const asc_op *const asc_ops[ASC_N_OPS];
const asc_op *asc_op_find(asc_view name); /* NULL = unknown */

/* Checks, infers and records one application; the way every builder makes its tensor. Never NULL. */
asc_tensor *asc_apply(asc_ctx *ctx, const asc_op *op, const asc_attrs *attrs, asc_tensor *const *in,
                      int n_in);

/* A vjp for ops with a decomposition: records op->decompose on the inputs and differentiates that. Lives in
 * src/grad. */
void asc_vjp_decomposed(asc_vjp_args *a);

/* Helpers for descriptors. */
asc_status asc_infer_float(asc_ctx *ctx, asc_call *c); /* all inputs f32 with broadcasting shapes -> f32 */
asc_status asc_infer_same(asc_ctx *ctx, asc_call *c);  /* unary: result like input 0, which must be f32 */
/* INVALID_ARGUMENT unless input k is f32. */
asc_status asc_infer_need_f32(asc_ctx *ctx, const asc_call *c, int k);
/* "op: detail: input shapes" as an INVALID_ARGUMENT. */
asc_status asc_infer_fail(asc_ctx *ctx, const asc_call *c, const char *fmt, ...) ASC_PRINTF(3, 4);
void asc_cost_pointwise(const asc_call *c, asc_cost *out); /* one operation an element */
void asc_cost_move(const asc_call *c, asc_cost *out);      /* no arithmetic */
/* Call from a vjp: sums g over the axes along which `like` was broadcast, so that it gets like's shape. */
asc_tensor *asc_unbroadcast(asc_ctx *ctx, asc_tensor *g, asc_tensor *like);
/* Steps to the next index tuple of dims (last axis fastest) and moves offsets[k] by strides[k]; false after
 * the last. Start with idx and offsets zero; needs all dims > 0. */
bool asc_nd_next(int rank, const int64_t *dims, int64_t *idx, int n, const int64_t (*strides)[ASC_MAX_RANK],
                 int64_t *offsets);
/* Strides of `a` seen with the (broadcast) shape of out: 0 where a repeats. */
void asc_nd_broadcast(const asc_nd *a, const asc_nd *out, int64_t strides[ASC_MAX_RANK]);
int64_t asc_nd_elems(const asc_nd *a);

#endif
