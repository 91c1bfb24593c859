/* onnx_call.h - what a mapping function sees: one node of an ONNX graph, its inputs, attributes and the
 * context to record in.
 *
 * To add an operator: one line in onnx_ops.def and one function `asc_status asc_onnx_NAME(asc_onnx_call *c)`
 * in the onnx_op_*.c file of its topic. The function records ops on c->ctx and sets outputs. It is called
 * with the main context, or, when all inputs are small and known on the host (constants, shapes), with a
 * context of the reference device (f64): the same code serves both, and results are then known on the host
 * too.
 *
 * Values are f32 tensors whatever their ONNX type (f64 on the reference device): integers and booleans (0, 1)
 * exact to 2^24 (2^53). Inputs of the net that are integers may be i32 tensors: asc_onnx_t casts.
 * Getters never fail loudly: they set c->st (first error) and return something harmless; the caller of the
 * function looks at c->st, and at poisoned outputs, and adds file and node to the message. So functions can
 * be written without checks, but must not index with numbers that they did not check.
 */
#ifndef ASC_ONNX_CALL_H
#define ASC_ONNX_CALL_H

#include "onnx_model.h"
#include "ops.h"

typedef enum asc_onnx_kind {
    ASC_ONNX_UNSET = 0,
    ASC_ONNX_TENSOR,
    ASC_ONNX_STRINGS,  /* a tensor of strings, known on the host */
    ASC_ONNX_SEQUENCE, /* of tensors */
    ASC_ONNX_NOTHING   /* an empty optional */
} asc_onnx_kind;

/* A value during a run. Use asc_onnx_t, asc_onnx_ints, ... instead of t, host and init: any of them may be
 * NULL. */
typedef struct asc_onnx_value {
    asc_onnx_kind kind;
    int elem; /* asc_onnx_type of the elements */
    asc_shape shape;
    asc_tensor *t;      /* on the main context; f32, or i32 */
    const double *host; /* elements, when known */
    const asc_onnx_tensor *init;
    bool persistent; /* of the net, not of a run: t is retained */
    bool t_on_host;  /* t belongs to the host context; only while a function runs */
    const asc_view *strings;
    struct asc_onnx_value *const *items; /* of a sequence */
    size_t n_items;
} asc_onnx_value;

typedef struct asc_onnx_call {
    asc_ctx *ctx; /* record here */
    const asc_onnx_node *node;
    int opset;          /* of the node's domain */
    size_t n_in, n_out; /* as written in the node, left-out ones included */
    asc_status st;      /* first error of a getter */
    bool on_host;       /* ctx is the host's: asc_read_* of anything recorded is cheap and allowed */
    struct asc_onnx_run *run;
    struct asc_onnx_frame *frame;
    asc_onnx_value **in;
    asc_onnx_value **out;
    asc_onnx_value none; /* stands for a missing input after the error was noted */
} asc_onnx_call;

typedef asc_status (*asc_onnx_fn)(asc_onnx_call *c);

enum {
    ASC_ONNX_OP_RANDOM = 1, /* never a constant, never computed on the host */
    ASC_ONNX_OP_MAIN = 2,   /* control flow, sequences, moves of values: always called on the main context */
    ASC_ONNX_OP_ROUNDS = 4  /* rounds to a grid: its gradient is a straight-through one */
};

typedef struct asc_onnx_op {
    const char *name, *domain; /* "" is ONNX's own */
    int since, until;          /* opsets of the domain that the function knows; until 0 = every later one */
    unsigned flags;
    asc_onnx_fn fn;
} asc_onnx_op;

/* The operator of that type and version; NULL = unknown. */
const asc_onnx_op *asc_onnx_op_find(asc_view op_type, asc_view domain, int opset);
extern const asc_onnx_op asc_onnx_ops[];
extern const size_t asc_onnx_n_ops;

#define ONNX_OP(name, domain, since, until, flags) asc_status asc_onnx_##name(asc_onnx_call *c);
#include "onnx_ops.def"
#undef ONNX_OP

/* ---- inputs ---- */
bool asc_onnx_has(const asc_onnx_call *c, size_t i); /* given, and not an empty optional */
/* The value; a missing one is an error (and an empty value is returned, never NULL). */
asc_onnx_value *asc_onnx_in(asc_onnx_call *c, size_t i);
asc_shape asc_onnx_shape(asc_onnx_call *c, size_t i);
int asc_onnx_elem(asc_onnx_call *c, size_t i); /* asc_onnx_type */
/* As f32 tensor in c->ctx; never NULL (poisoned after an error). */
asc_tensor *asc_onnx_t(asc_onnx_call *c, size_t i);
/* As i32 tensor, for gather and its kin. Negative indices are not changed. */
asc_tensor *asc_onnx_index(asc_onnx_call *c, size_t i);
/* Numbers that shape the computation (Reshape's shape, Slice's starts). Known ones are read; others are
 * computed now. Returns the number of elements, or -1 after an error (more than cap, no numbers). Integers
 * are clamped to the int64 range. */
int asc_onnx_ints(asc_onnx_call *c, size_t i, int64_t *out, int cap);
/* The same for one number; fallback when the input is left out. */
int64_t asc_onnx_int(asc_onnx_call *c, size_t i, int64_t fallback);
double asc_onnx_number(asc_onnx_call *c, size_t i, double fallback);
/* All elements as doubles, computed now if need be; lives until the end of the run. NULL after an error. */
const double *asc_onnx_doubles(asc_onnx_call *c, size_t i);
/* The same for any value. */
const double *asc_onnx_value_doubles(asc_onnx_call *c, asc_onnx_value *v);
asc_tensor *asc_onnx_value_t(asc_onnx_call *c, asc_onnx_value *v);

/* ---- attributes ---- */
int64_t asc_onnx_attr_int(asc_onnx_call *c, const char *name, int64_t fallback);
double asc_onnx_attr_float(asc_onnx_call *c, const char *name, double fallback);
asc_view asc_onnx_attr_string(asc_onnx_call *c, const char *name, const char *fallback);
/* Fills out[0..n) and returns n; -1 when the attribute is absent or an error was set (more than cap). */
int asc_onnx_attr_ints(asc_onnx_call *c, const char *name, int64_t *out, int cap);
const asc_onnx_attr *asc_onnx_attr_find(const asc_onnx_call *c, const char *name); /* NULL = absent */
bool asc_onnx_attr_is(asc_onnx_call *c, const char *name, const char *fallback, const char *wanted);

/* ---- outputs ---- */
bool asc_onnx_wants(const asc_onnx_call *c, size_t i); /* someone named output i */
/* t (f32 or i32, in c->ctx) with the ONNX type elem. Returns c->st, so that it can end the function. */
asc_status asc_onnx_set(asc_onnx_call *c, size_t i, asc_tensor *t, int elem);
/* The same with the type of input 0. */
asc_status asc_onnx_set_like(asc_onnx_call *c, size_t i, asc_tensor *t);
/* Numbers known on the host (copied), whatever the context. */
asc_status asc_onnx_set_host(asc_onnx_call *c, size_t i, asc_shape shape, const double *data, int elem);
/* Output i is that value (Identity, sequences). */
asc_status asc_onnx_set_value(asc_onnx_call *c, size_t i, asc_onnx_value *v);
/* A fresh value, and n zeroed bytes, that live until the end of the run; NULL after an error (c->st is set).
 */
asc_onnx_value *asc_onnx_new_value(asc_onnx_call *c);
void *asc_onnx_memory(asc_onnx_call *c, size_t n, size_t size);

/* ---- errors and checks ---- */
/* Records an error of the node (unless there is one) in c->st and the main context and returns it. */
asc_status asc_onnx_fail(asc_onnx_call *c, asc_status code, const char *fmt, ...) ASC_PRINTF(3, 4);
/* axis, or rank + axis when negative; sets c->st and returns 0 when outside. */
int asc_onnx_axis(asc_onnx_call *c, int64_t axis, int rank);

/* Runs a graph inside the current one (If, Loop, Scan): its inputs get in[], out[] receives its outputs. */
ASC_MUST_USE asc_status asc_onnx_run_body(asc_onnx_call *c, const asc_onnx_graph *g,
                                          asc_onnx_value *const *in, size_t n_in, asc_onnx_value **out,
                                          size_t n_out);

#endif
