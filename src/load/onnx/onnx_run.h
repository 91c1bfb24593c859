/* onnx_run.h - one run of an ONNX net, and what the net keeps between runs; only onnx_*.c files that run
 * nodes include it (operator files see onnx_call.h). */
#ifndef ASC_ONNX_RUN_H
#define ASC_ONNX_RUN_H

#include "net.h"
#include "onnx_call.h"

enum {
    ASC_ONNX_HOST_ELEMS = 4096,   /* values up to this size are computed on the host when they can be */
    ASC_ONNX_INPUT_ELEMS = 64,    /* integer inputs up to this size steer shapes: read before a run */
    ASC_ONNX_MAX_TRIPS = 1 << 16, /* iterations of a loop in one run */
    ASC_ONNX_MAX_CALLS = 1 << 22  /* nodes run in one run */
};

/* What an open net holds. */
typedef struct asc_onnx_net {
    asc_net *net;
    asc_onnx_model *model;
    asc_ctx *host;     /* small context of the reference device, for shapes and constants */
    asc_arena arena;   /* values that outlive a run */
    asc_tensor **kept; /* counted references: weights, folded constants */
    size_t n_kept, cap_kept;
    uint32_t *site; /* of each value of the main graph; UINT32_MAX = none */
} asc_onnx_net;

typedef struct asc_onnx_run {
    asc_onnx_net *on;
    asc_ctx *ctx, *host;
    asc_arena arena; /* of this run */
    const asc_tap *tap;
    size_t n_calls, max_calls;
} asc_onnx_run;

/* One graph being run. */
typedef struct asc_onnx_frame {
    const asc_onnx_graph *g;
    asc_onnx_value **v; /* by value of g; NULL = not made yet */
    struct asc_onnx_frame *up;
} asc_onnx_frame;

/* A net of a model, which it takes over (also when it fails). */
ASC_MUST_USE asc_status asc_onnx_net_make(asc_ctx *ctx, asc_onnx_model *take_m, const char *path,
                                          asc_net **out);
/* onnx_infer.c. Fills the shapes of outputs that the file leaves out, where that can be done. */
ASC_MUST_USE asc_status asc_onnx_infer_outputs(asc_onnx_net *on);
/* onnx_census.c. Fills net->ops and net->notes. */
ASC_MUST_USE asc_status asc_onnx_census(asc_onnx_net *on);
/* Runs the main graph: in[] are its inputs' values; out[] receives its outputs' (of the run). */
ASC_MUST_USE asc_status asc_onnx_run_main(asc_onnx_run *run, asc_onnx_value *const *in, asc_onnx_value **out);
ASC_MUST_USE asc_status asc_onnx_run_graph(asc_onnx_run *run, asc_onnx_frame *up, const asc_onnx_graph *g,
                                           asc_onnx_value *const *in, size_t n_in, asc_onnx_value **out,
                                           size_t n_out);
ASC_MUST_USE asc_status asc_onnx_run_init(asc_onnx_run *run, asc_net *net, const asc_tap *tap);
void asc_onnx_run_deinit(asc_onnx_run *run);
asc_onnx_value *asc_onnx_run_value(asc_onnx_run *run); /* fresh; NULL when out of memory */

/* An input's value from its tensor. */
void asc_onnx_input_value(asc_onnx_run *run, int elem, asc_tensor *t, asc_onnx_value *out);
/* onnx_data.c. A value from a file of ONNX's test data: a TensorProto, SequenceProto or OptionalProto, as
 * the port says. The bytes are borrowed until the end of the run. */
ASC_MUST_USE asc_status asc_onnx_read_value(asc_onnx_run *run, const void *data, size_t size,
                                            const asc_onnx_port *type, asc_onnx_value **out);

/* A value as a tensor of the main context; poisoned after an error. */
asc_tensor *asc_onnx_main_tensor(asc_onnx_run *run, asc_onnx_value *v);
/* All elements as doubles; NULL after an error (recorded in run->ctx). */
const double *asc_onnx_run_doubles(asc_onnx_run *run, asc_onnx_value *v);
/* Known without computing anything, and small? */
bool asc_onnx_is_known(const asc_onnx_value *v);
/* Keeps a tensor until the net is closed. */
ASC_MUST_USE asc_status asc_onnx_keep(asc_onnx_net *on, asc_tensor *t);
/* The value of an initialiser; made once. */
asc_onnx_value *asc_onnx_init_value(asc_onnx_run *run, asc_onnx_def *d);

#endif
