/* frame.h - one run of a net written in C, while it is being recorded. */
#ifndef ASC_FRAME_H
#define ASC_FRAME_H

#include "net.h"
#include "params.h"

/* What asc_net_create keeps in net->self. */
typedef struct asc_cnet {
    asc_net *net;
    asc_arena names;
    asc_net_fn forward;
    void *self;
    asc_params *params;
    size_t *base_len; /* of each site: length of its name without "#2" */
    size_t cap_base, cap_sites;
    bool *named; /* output i got its site from asc_net_create, not from `forward` */
} asc_cnet;

struct asc_frame {
    asc_ctx *ctx;
    asc_cnet *cnet;
    const asc_tap *tap; /* NULL = none */
    size_t next_site;
    bool learning;      /* sites are added, not checked */
    asc_tensor **value; /* learning: value of each site, to find those of outputs */
    size_t cap_value;
};

/* Label of ops from here on: the layer's name, kept by the net. Returns the previous label. */
const char *asc_frame_label(asc_frame *f, const char *name);

#endif
