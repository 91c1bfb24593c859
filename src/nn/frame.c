/* frame.c - nets written in C: a first run without values learns sites and output shapes, later runs check
 * that they build the same. See ascribe/net.h. */
#include "frame.h"
#include "nearest.h"
#include <stdio.h>

/* Sizes of free dimensions in the two runs that learn shapes: what changes between them is free; what is as
 * large as the batch, and changes, counts examples. */
enum { FIRST = 1, SECOND_BATCH = 3, SECOND_OTHER = 2 };

asc_ctx *asc_frame_ctx(asc_frame *f) { return f->ctx; }

static asc_tensor *poison(asc_ctx *ctx) { return asc_graph_poison(asc_graph_of(ctx)); }

/* The interned copy of a site's name, where there is one; else the text itself is copied. */
const char *asc_frame_label(asc_frame *f, const char *name) {
    const asc_net *net = f->cnet->net;
    for (size_t i = f->next_site;
         i-- > 0;) { /* NAME.in has just been named; its layer's label is a prefix of it */
        if (strcmp(net->sites[i], name) == 0) return asc_set_label(f->ctx, net->sites[i]);
    }
    for (size_t i = f->next_site; i < net->n_sites; i++) {
        if (strcmp(net->sites[i], name) == 0) return asc_set_label(f->ctx, net->sites[i]);
    }
    char *copy = asc_arena_strdup(&f->cnet->names, asc_view_of(name));
    return asc_set_label(f->ctx, copy);
}

static bool taken(const asc_net *net, const char *name) {
    for (size_t i = 0; i < net->n_sites; i++) {
        if (strcmp(net->sites[i], name) == 0) return true;
    }
    return false;
}

static asc_status add_site(asc_frame *f, const char *name, asc_tensor *value) {
    asc_cnet *c = f->cnet;
    asc_net *net = c->net;
    asc_ctx *ctx = f->ctx;
    char full[512];
    size_t n = net->n_sites;
    if (name[0] == '\0' || strlen(name) > 480)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "a site's name has 1 to 480 bytes, not %zu", strlen(name));
    snprintf(full, sizeof full, "%s", name);
    for (size_t k = 2; taken(net, full); k++) snprintf(full, sizeof full, "%s#%zu", name, k);
    asc_status st =
        asc_grow(ctx, ASC_MEM_GENERAL, (void **)&net->sites, &c->cap_sites, n + 1, sizeof *net->sites);
    if (st == ASC_OK)
        st = asc_grow(ctx, ASC_MEM_GENERAL, (void **)&c->base_len, &c->cap_base, n + 1, sizeof *c->base_len);
    if (st == ASC_OK)
        st = asc_grow(ctx, ASC_MEM_GENERAL, (void **)&f->value, &f->cap_value, n + 1, sizeof(asc_tensor *));
    if (st != ASC_OK) return st;
    net->sites[n] = asc_arena_strdup(&c->names, asc_view_of(full));
    if (net->sites[n] == NULL) return ASC_RESOURCE_EXHAUSTED;
    c->base_len[n] = strlen(name);
    f->value[n] = value;
    net->n_sites++;
    return ASC_OK;
}

asc_tensor *asc_site(asc_frame *f, const char *name, asc_tensor *value) {
    const asc_net *net = f->cnet->net;
    size_t i = f->next_site;
    if (value->poison != ASC_OK) return value; /* the error is noted; the run ends with it */
    if (f->learning) {
        if (add_site(f, name, value) != ASC_OK) return poison(f->ctx);
    } else if (i >= net->n_sites || strncmp(net->sites[i], name, f->cnet->base_len[i]) != 0 ||
               name[f->cnet->base_len[i]] != '\0') {
        ASC_FAIL(f->ctx, ASC_FAILED_PRECONDITION,
                 "site '%.200s' comes where the net had '%s' when it was made", name,
                 i < net->n_sites ? net->sites[i] : "its end");
        asc_hint(f->ctx, "forward must build the same ops each time; only shapes may differ");
        return poison(f->ctx);
    }
    f->next_site = i + 1;
    if (value->op != NULL && value->label == NULL) value->label = net->sites[i];
    return f->tap != NULL ? f->tap->at(f->tap->self, i, value) : value;
}

bool asc_has_param(asc_frame *f, const char *name) {
    return f->cnet->params != NULL && asc_params_find(f->cnet->params, asc_view_of(name)) >= 0;
}

asc_tensor *asc_param(asc_frame *f, const char *name) {
    asc_params *p = f->cnet->params;
    int64_t i = p != NULL ? asc_params_find(p, asc_view_of(name)) : -1;
    if (i >= 0) return asc_params_leaf(p, (size_t)i);
    ASC_FAIL(f->ctx, ASC_NOT_FOUND, "there is no parameter '%.200s'", name);
    const char **names =
        p != NULL && p->n > 0 ? asc_calloc(f->ctx, ASC_MEM_GENERAL, p->n, sizeof *names) : NULL;
    if (names != NULL) {
        char near[256];
        for (size_t k = 0; k < p->n; k++) names[k] = p->entries[k].name;
        asc_hint(f->ctx, "the nearest of %zu: %s", p->n,
                 asc_nearest_text(names, p->n, asc_view_of(name), near));
        asc_free(f->ctx, names);
    }
    return poison(f->ctx);
}

static asc_status run(asc_frame *f, asc_tensor *const *in, asc_tensor **out) {
    asc_cnet *c = f->cnet;
    asc_net *net = c->net;
    for (size_t i = 0; i < net->n_outputs; i++) out[i] = NULL;
    const char *label = asc_set_label(f->ctx, NULL);
    c->forward(f, c->self, in, out);
    asc_set_label(f->ctx, label);
    for (size_t i = 0; i < net->n_outputs; i++) {
        if (out[i] == NULL)
            return ASC_FAIL(f->ctx, ASC_FAILED_PRECONDITION, "forward set no value for output '%s'",
                            net->outputs[i].name);
        if (out[i]->poison != ASC_OK) return ASC_OK; /* the caller meets it when it reads */
    }
    for (size_t i = 0; i < net->n_outputs; i++) {
        bool found = false;
        for (size_t k = net->n_sites; f->learning && k-- > 0 && !found;) {
            if (f->value[k] != out[i]) continue;
            net->output_site[i] = k;
            found = true;
        }
        if (f->learning && !found) {
            c->named[i] = true;
            net->output_site[i] = f->next_site;
        }
        if (c->named[i]) out[i] = asc_site(f, net->outputs[i].name, out[i]);
    }
    if (!f->learning && f->next_site != net->n_sites)
        return ASC_FAIL(f->ctx, ASC_FAILED_PRECONDITION,
                        "forward named %zu sites; when the net was made, %zu", f->next_site, net->n_sites);
    return ASC_OK;
}

static asc_status forward(asc_net *net, asc_tensor *const *in, const asc_tap *tap, asc_tensor **out) {
    asc_frame f = {.ctx = net->ctx, .cnet = net->self, .tap = tap};
    return run(&f, in, out);
}

/* A value of a shape without numbers: recorded, and never computed because nothing reads it. */
static asc_tensor *blank(asc_ctx *ctx, const asc_port *p, int64_t batch, int64_t other) {
    asc_shape s = p->shape;
    for (int i = 0; i < s.rank; i++) {
        if (s.dims[i] < 0) s.dims[i] = i == 0 && p->batch ? batch : other;
    }
    asc_tensor *t = asc_full(ctx, s, 0.0);
    return asc_elem_is_float(p->elem) ? t : asc_cast(ctx, t, ASC_DTYPE_I32);
}

/* Shapes of the outputs for free dimensions of these sizes. */
static asc_status learn(asc_net *net, bool first, int64_t batch, int64_t other, asc_tensor **ts,
                        asc_shape *shapes) {
    asc_ctx *ctx = net->ctx;
    asc_graph *g = asc_graph_of(ctx);
    asc_frame f = {.ctx = ctx, .cnet = net->self, .learning = first};
    asc_tensor **out = ts + net->n_inputs;
    asc_record_fn on_record = g->on_record;
    g->on_record = NULL; /* nothing is computed, in no mode */
    asc_scope_begin(ctx);
    for (size_t i = 0; i < net->n_inputs; i++) ts[i] = blank(ctx, &net->inputs[i], batch, other);
    asc_status st = run(&f, ts, out);
    for (size_t i = 0; st == ASC_OK && i < net->n_outputs; i++) {
        if (out[i]->poison != ASC_OK) break; /* the scope's end returns why */
        shapes[i] = out[i]->shape;
        if (first) net->outputs[i].elem = out[i]->dtype == ASC_DTYPE_I32 ? ASC_ELEM_I64 : ASC_ELEM_F32;
    }
    st = asc_scope_close(ctx, st);
    g->on_record = on_record;
    asc_free(ctx, f.value);
    return st;
}

static asc_status learn_ports(asc_net *net) {
    asc_ctx *ctx = net->ctx;
    asc_status st = ASC_OK;
    bool any_batch = false, any_free = false;
    size_t n = net->n_inputs + net->n_outputs;
    asc_tensor **ts = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof(asc_tensor *));
    asc_shape *one = asc_calloc(ctx, ASC_MEM_GENERAL, 2 * net->n_outputs + 1, sizeof *one);
    if (ts == NULL || one == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    asc_shape *two = one + net->n_outputs;
    for (size_t i = 0; i < net->n_inputs; i++) {
        for (int k = 0; k < net->inputs[i].shape.rank; k++)
            any_free = any_free || net->inputs[i].shape.dims[k] < 0;
        any_batch = any_batch || (net->inputs[i].batch && net->inputs[i].shape.dims[0] < 0);
    }
    st = learn(net, true, FIRST, FIRST, ts, one);
    if (st == ASC_OK && any_free) st = learn(net, false, SECOND_BATCH, SECOND_OTHER, ts, two);
    if (st != ASC_OK) {
        asc_fail_context(ctx, "the net's first run");
        goto done;
    }
    for (size_t i = 0; i < net->n_outputs; i++) {
        asc_port *p = &net->outputs[i];
        p->shape = one[i];
        for (int k = 0; any_free && k < p->shape.rank; k++) {
            if (two[i].rank != one[i].rank || two[i].dims[k] != one[i].dims[k]) p->shape.dims[k] = -1;
        }
        p->batch =
            any_batch && p->shape.rank > 0 && one[i].dims[0] == FIRST && two[i].dims[0] == SECOND_BATCH;
    }
done:
    asc_free(ctx, ts);
    asc_free(ctx, one);
    return st;
}

static asc_status check_def(asc_ctx *ctx, const asc_net_def *d) {
    if (d->forward == NULL || d->n_inputs == 0 || d->n_outputs == 0 || d->inputs == NULL ||
        d->outputs == NULL)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "a net needs a forward function, inputs and outputs");
    for (size_t i = 0; i < d->n_inputs; i++) {
        const asc_port *p = &d->inputs[i];
        if (p->name == NULL || p->name[0] == '\0')
            return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "input %zu has no name", i);
        bool good = asc_elem_name(p->elem) != NULL && p->shape.rank >= (p->batch ? 1 : 0) &&
                    p->shape.rank <= ASC_MAX_RANK;
        for (int k = 0; good && k < p->shape.rank; k++) good = p->shape.dims[k] >= -1;
        if (!good)
            return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "input '%s': no possible type or shape", p->name);
        for (size_t k = 0; k < i; k++) {
            if (strcmp(d->inputs[k].name, p->name) == 0)
                return ASC_FAIL(ctx, ASC_ALREADY_EXISTS, "two inputs are called '%s'", p->name);
        }
    }
    for (size_t i = 0; i < d->n_outputs; i++) {
        if (d->outputs[i] == NULL || d->outputs[i][0] == '\0')
            return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "output %zu has no name", i);
        for (size_t k = 0; k < i; k++) {
            if (strcmp(d->outputs[k], d->outputs[i]) == 0)
                return ASC_FAIL(ctx, ASC_ALREADY_EXISTS, "two outputs are called '%s'", d->outputs[i]);
        }
    }
    return ASC_OK;
}

static void destroy(asc_net *net) {
    asc_cnet *c = net->self;
    asc_free(net->ctx, c->base_len);
    asc_free(net->ctx, c->named);
    asc_arena_deinit(&c->names);
    asc_free(net->ctx, c);
}

asc_status asc_net_create(asc_ctx *ctx, const asc_net_def *def, asc_net **out) {
    asc_status st = ASC_OK;
    asc_net *net = NULL;
    asc_cnet *c = NULL;
    *out = NULL;
    if (def == NULL || def->struct_size != sizeof *def)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "the net's struct_size is not that of this library");
    ASC_TRY(check_def(ctx, def));
    ASC_TRY(asc_net_alloc(ctx, def->n_inputs, def->n_outputs, &net));
    st = ASC_RESOURCE_EXHAUSTED;
    c = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *c);
    if (c == NULL) goto done;
    asc_arena_init(&c->names, ctx, ASC_MEM_GENERAL);
    c->net = net;
    c->forward = def->forward;
    c->self = def->self;
    c->params = def->params;
    net->kind = "c";
    net->self = c;
    net->forward = forward;
    net->destroy = destroy;
    c->named = asc_calloc(ctx, ASC_MEM_GENERAL, def->n_outputs, sizeof *c->named);
    if (c->named == NULL) goto done;
    for (size_t i = 0; i < def->n_inputs; i++) {
        net->inputs[i] = def->inputs[i];
        net->inputs[i].name = asc_arena_strdup(&c->names, asc_view_of(def->inputs[i].name));
        if (net->inputs[i].name == NULL) goto done;
    }
    for (size_t i = 0; i < def->n_outputs; i++) {
        net->outputs[i].name = asc_arena_strdup(&c->names, asc_view_of(def->outputs[i]));
        if (net->outputs[i].name == NULL) goto done;
    }
    ASC_TRY(learn_ports(net));
    *out = net;
    return ASC_OK;
done:
    asc_net_close(net);
    return st;
}
