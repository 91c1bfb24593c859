/* net.h - a net as the rest of the library sees it: a function that records ops, and what runs want at its
 * sites. Loaders (ONNX) and nets written in C fill in the same record.
 */
#ifndef ASC_NET_H
#define ASC_NET_H

#include "ascribe/net.h"
#include "ops.h"
#include "view.h"

/* What a run wants at sites. at() is called for every site, in the order of the computation, and returns the
 * value to go on with: the same one, or a replacement of the same shape (then nothing behind the old one need
 * run). */
typedef struct asc_tap {
    asc_tensor *(*at)(void *self, size_t site, asc_tensor *value);
    void *self;
} asc_tap;

/* Bytes that passes of one kind need: for one row, and for each further row. Kept by attribution. */
typedef struct asc_net_price {
    uint64_t key; /* of kind, shapes and sites; 0 = empty */
    size_t one, more;
} asc_net_price;
enum { ASC_N_NET_PRICES = 16 };

/* Operators of a model file, by type, with how many nodes have it. */
typedef struct asc_net_op {
    const char *name;
    size_t count;
} asc_net_op;

struct asc_net {
    asc_ctx *ctx;
    asc_port *inputs, *outputs; /* names belong to the net */
    size_t n_inputs, n_outputs;
    const char **sites; /* names belong to the net; an output's value is a site too */
    size_t n_sites;
    size_t *output_site; /* site of each output */
    const char *kind;    /* "onnx", "c" */
    char *path;          /* NULL for a net in C */
    asc_net_price prices[ASC_N_NET_PRICES];
    int rule; /* the quadrature rule that attribution used last, its nodes and then its weights */
    size_t n_rule_nodes;
    double *rule_nodes;    /* [2 * n_rule_nodes]; NULL = none yet */
    const asc_net_op *ops; /* by name; NULL for a net in C. Like notes, of the net */
    size_t n_ops;
    const char **notes; /* what a result must say: gradients that are not derivatives (rounding) */
    size_t n_notes;
    const char *const *labels; /* names of the last axis of output 0, of the net; NULL = unknown */
    size_t n_labels;
    const struct asc_image_prep *prep; /* how a picture becomes the input, of the net; NULL = unknown */
    int opset;                         /* of a model file's default domain; 0 for a net in C */
    void *self;
    struct asc_net_held *held; /* what stands in the place of sites' values (asc_net_hold); NULL = nothing */
    /* Records one run, through asc_net_forward. inputs: floats as f32 tensors, integers and booleans as i32
     * tensors, in the order of the ports; their shapes agree with the ports. tap may be NULL.
     * outputs[n_outputs] is filled; errors are statuses or poisoned outputs. Ops of a site carry its name as
     * label. */
    ASC_MUST_USE asc_status (*forward)(asc_net *net, asc_tensor *const *inputs, const asc_tap *tap,
                                       asc_tensor **outputs);
    void (*destroy)(asc_net *net); /* frees self; the record itself is asc_net_close's */
};

/* net->forward with what is held at sites, before the tap sees it. Every run goes through here. */
ASC_MUST_USE asc_status asc_net_forward(asc_net *net, asc_tensor *const *inputs, const asc_tap *tap,
                                        asc_tensor **outputs);
/* Name of the first site at which something is held, and at how many; NULL when there is none. */
const char *asc_net_held_site(const asc_net *net, size_t *n);
void asc_net_held_deinit(asc_net *net);

/* An empty net with room for the counts given; names and the rest are filled by the maker. */
ASC_MUST_USE asc_status asc_net_alloc(asc_ctx *ctx, size_t n_inputs, size_t n_outputs, asc_net **out);
/* Index of a site or output by name; -1 = unknown, with NOT_FOUND and the nearest names in the hint. */
int64_t asc_net_find_site(const asc_net *net, asc_view name);
/* INVALID_ARGUMENT naming input, wanted and given shape or type unless the arrays fit the ports; *batch
 * receives the common first dimension of batch ports (1 if there are none). one_example: the arrays belong to
 * one example, so that these dimensions may differ. */
ASC_MUST_USE asc_status asc_net_check_inputs(const asc_net *net, const asc_array *inputs, size_t n,
                                             bool one_example, int64_t *batch);
/* A leaf from an array: f32 (floats) or i32 (integers, booleans; OUT_OF_RANGE beyond 32 bits poisons). */
asc_tensor *asc_from_array(asc_ctx *ctx, const asc_array *a);

#endif
