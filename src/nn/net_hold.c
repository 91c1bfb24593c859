/* net_hold.c - values that stand in the place of a net's own in every run: asc_net_hold of ascribe/net.h. */
#include "compiled.h"
#include "device.h"
#include "net.h"
#include <string.h>

enum { MAX_HELD = 4096 }; /* more are a mistake: every one is looked at in each visit of a site */

typedef struct held_value {
    int64_t site;
    asc_array values; /* own data; NULL with change */
    asc_value_change change;
    void *self;
} held_value;

struct asc_net_held {
    held_value *v;
    size_t n;
};

/* A run, and what its caller wants at sites. */
typedef struct visits {
    asc_net *net;
    const asc_tap *then; /* NULL = nothing */
} visits;

static bool same_shape(const asc_shape *a, const asc_shape *b, int from) {
    bool same = a->rank == b->rank;
    for (int d = from; same && d < a->rank; d++) same = a->dims[d] == b->dims[d];
    return same;
}

static asc_tensor *refuse(asc_ctx *ctx, const char *site, const char *what, const asc_shape *have,
                          const asc_shape *want) {
    char a[128], b[128];
    asc_shape_text(have, a);
    asc_shape_text(want, b);
    ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s for site '%.80s': %s of another type, or for %s", what, site, a,
             b);
    (void)asc_hint(ctx, "runs bring one example or many: a first axis of 1 stands for all of them");
    return asc_graph_poison(asc_graph_of(ctx));
}

static asc_tensor *put(asc_net *net, const held_value *h, asc_tensor *value) {
    asc_ctx *ctx = net->ctx;
    const char *site = net->sites[h->site];
    asc_tensor *y = h->change != NULL ? h->change(h->self, ctx, value) : asc_from_array(ctx, &h->values);
    if (y == NULL) {
        ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "the function for site '%.80s' gave no value", site);
        return asc_graph_poison(asc_graph_of(ctx));
    }
    if (asc_tensor_poisoned(y)) return y;
    const bool many = h->change == NULL && y->shape.rank > 0 && y->shape.dims[0] == 1;
    if (y->dtype != value->dtype || !same_shape(&y->shape, &value->shape, many ? 1 : 0))
        return refuse(ctx, site, h->change != NULL ? "what the function made" : "the values", &y->shape,
                      &value->shape);
    return many && value->shape.dims[0] != 1 ? asc_broadcast(ctx, y, value->shape) : y;
}

static asc_tensor *visit(void *self, size_t site, asc_tensor *value) {
    visits *v = self;
    const struct asc_net_held *h = v->net->held;
    for (size_t i = 0; i < h->n && !asc_tensor_poisoned(value); i++) {
        if (h->v[i].site == (int64_t)site) value = put(v->net, &h->v[i], value);
    }
    return v->then != NULL ? v->then->at(v->then->self, site, value) : value;
}

asc_status asc_net_forward(asc_net *net, asc_tensor *const *inputs, const asc_tap *tap,
                           asc_tensor **outputs) {
    visits v = {.net = net, .then = tap};
    const asc_tap ours = {.at = visit, .self = &v};
    return net->forward(net, inputs, net->held != NULL ? &ours : tap, outputs);
}

const char *asc_net_held_site(const asc_net *net, size_t *n) {
    *n = net->held != NULL ? net->held->n : 0;
    return *n > 0 ? net->sites[net->held->v[0].site] : NULL;
}

static void held_free(asc_ctx *ctx, struct asc_net_held *h) {
    if (h == NULL) return;
    for (size_t i = 0; i < h->n; i++) asc_array_free(ctx, &h->v[i].values);
    asc_free(ctx, h->v);
    asc_free(ctx, h);
}

void asc_net_held_deinit(asc_net *net) {
    held_free(net->ctx, net->held);
    net->held = NULL;
}

static asc_status copy_values(asc_ctx *ctx, const asc_held_value *from, held_value *to) {
    const asc_array *a = &from->values;
    const int64_t n = asc_array_count(a);
    size_t bytes;
    if (n < 1 || asc_elem_name(a->elem) == NULL || a->data == NULL)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                        "the values for site '%.80s' have no numbers, or no known type", from->site);
    if (!asc_mul_size((size_t)n, asc_elem_bytes(a->elem), &bytes)) return ASC_RESOURCE_EXHAUSTED;
    void *data = asc_calloc(ctx, ASC_MEM_GENERAL, 1, bytes);
    if (data == NULL) return ASC_RESOURCE_EXHAUSTED;
    memcpy(data, a->data, bytes);
    to->values = (asc_array){.elem = a->elem, .shape = a->shape, .data = data};
    return ASC_OK;
}

asc_status asc_net_hold(asc_net *net, const asc_held_value *values, size_t n) {
    asc_ctx *ctx = net->ctx;
    asc_status st = ASC_OK;
    struct asc_net_held *h = NULL;
    if (n > MAX_HELD)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%zu sites to replace; at most %d", n, MAX_HELD);
    if (n > 0) {
        h = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *h);
        if (h == NULL) return ASC_RESOURCE_EXHAUSTED;
        h->v = asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *h->v);
        if (h->v == NULL) st = ASC_RESOURCE_EXHAUSTED;
    }
    for (size_t i = 0; st == ASC_OK && i < n; i++) {
        held_value *to = &h->v[h->n++];
        *to = (held_value){.change = values[i].change, .self = values[i].self};
        to->site = asc_net_find_site(net, asc_view_of(values[i].site != NULL ? values[i].site : ""));
        if (to->site < 0) st = ASC_NOT_FOUND;
        if (st == ASC_OK && to->change == NULL) st = copy_values(ctx, &values[i], to);
    }
    if (st != ASC_OK || (h == NULL && net->held == NULL)) {
        held_free(ctx, h);
        return st;
    }
    asc_net_held_deinit(net);
    asc_capture_forget(ctx, net); /* what was made with other values */
    memset(net->prices, 0, sizeof net->prices);
    net->held = h;
    return ASC_OK;
}
