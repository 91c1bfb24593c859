/* ascp_load.c - makes a compiled function of a file, and says what a file holds.
 * Of a stored program only what it computes is taken over: fused regions and marks of constants are dropped
 * and the passes run anew, so that they suit this context's device and a file cannot say that they are right.
 * The passes keep bits, so this costs some microseconds an op and nothing else. */
#include "ascp_file.h"
#include "capture_parts.h"
#include <string.h>

/* Storage of this context's device with an array's elements; NULL with the error recorded. */
static asc_buffer *storage(asc_ctx *ctx, const asc_ascp_data *a) {
    const asc_device *dev = asc_exec_device(ctx);
    const int64_t elems = asc_shape_elems(&a->shape);
    size_t native = 0;
    const bool same =
        asc_dtype_bytes(a->dtype, elems, &native) && native == dev->storage_bytes(a->dtype, elems);
    if (a->kind == ASC_ASCP_F64 && same && asc_dtype_of(a->dtype)->is_weight_only) {
        ASC_FAIL(ctx, ASC_FAILED_PRECONDITION,
                 "compiled function: it holds %s weights as plain numbers, which the %s device cannot take",
                 asc_dtype_of(a->dtype)->name, dev->name);
        asc_hint(ctx, "load it on the reference device, where it was made, or make it on the cpu device");
        return NULL;
    }
    asc_buffer *b = asc_buffer_make(ctx, ASC_MEM_WEIGHTS, a->dtype, elems);
    if (b == NULL || !dev->has_data || elems == 0) return b;
    const char *bytes = a->data;
    if ((a->kind == ASC_ASCP_F64) != same) {
        memcpy(b->data, a->data, a->bytes);
    } else if (a->dtype == ASC_DTYPE_BOOL && same) {
        for (int64_t i = 0; i < elems; i++) {
            double v;
            memcpy(&v, bytes + 8 * i, sizeof v);
            ((char *)b->data)[i] = v > 0.5 || v < -0.5;
        }
    } else if (a->dtype == ASC_DTYPE_BOOL) {
        for (int64_t i = 0; i < elems; i++) ((double *)b->data)[i] = bytes[i] != 0;
    } else {
        dev->upload(a->dtype, b->data, same ? ASC_DTYPE_F64 : a->dtype, a->data, elems);
    }
    return b;
}

/* Which entry of block->inputs node `node` of the stored program is. */
static const asc_ascp_ref *input_at(const asc_ascp_block *b, const int32_t *number, int32_t node) {
    return &b->inputs[number[node]];
}

static void tie_out(asc_capture_out *o, const asc_ascp_ref *from, const asc_ascp_block *b, const asc_ascp *f,
                    asc_buffer *const *bufs) {
    const asc_ascp_data *d = from->from == ASC_ASCP_INPUT ? &b->params[from->index] : &f->arrays[from->index];
    o->output = -1;
    o->param = from->from == ASC_ASCP_INPUT ? (int32_t)from->index : -1;
    o->dtype = d->dtype;
    o->shape = d->shape;
    if (o->param < 0) {
        o->buf = bufs[from->index];
        asc_buffer_retain(o->buf);
    }
}

static void tie_outputs(asc_capture *c, const asc_ascp *f, const asc_ascp_block *b, const int32_t *number,
                        asc_buffer *const *bufs) {
    const asc_exe *e = c->exe;
    for (size_t k = 0; k < c->n_outs; k++) {
        asc_capture_out *o = &c->outs[k];
        const asc_ascp_ref *from = &b->outs[k];
        if (from->from == ASC_ASCP_PROGRAM) {
            const asc_node *n = &e->program.nodes[e->program.outputs[from->index]];
            if (n->op == NULL) from = input_at(b, number, n->origin - 1);
            const int32_t like = e->output_like[b->outs[k].index];
            *o = (asc_capture_out){.output = like >= 0 ? like : (int32_t)b->outs[k].index,
                                   .param = -1,
                                   .dtype = n->dtype,
                                   .shape = n->shape};
        }
        if (from->from != ASC_ASCP_PROGRAM) tie_out(o, from, b, f, bufs);
        o->elems = asc_shape_elems(&o->shape);
    }
}

/* Which scalar of the function goes to a slot of a node; -1 = none. Entries are in the order of nodes. */
static int32_t which_scalar(const asc_ascp_block *b, int32_t node, int32_t slot) {
    size_t low = 0, high = b->n_scalars;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if ((int32_t)b->scalars[mid].node < node) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    for (; low < b->n_scalars && (int32_t)b->scalars[low].node == node; low++) {
        if ((int32_t)b->scalars[low].slot == slot) return (int32_t)b->scalars[low].which;
    }
    return -1;
}

static asc_status tie_scalars(asc_ctx *ctx, asc_capture *c, const asc_ascp_block *b) {
    const asc_exe *e = c->exe;
    int32_t *which = asc_calloc(ctx, ASC_MEM_PROGRAM, e->n_scalars + 1, sizeof *which);
    if (which == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < e->n_scalars; i++)
        which[i] = which_scalar(b, e->scalars[i].from, e->scalars[i].slot);
    asc_status st = asc_capture_attach(ctx, c, which, e->n_scalars * sizeof *which);
    asc_free(ctx, which);
    return st;
}

/* The program as an executable, its inputs tied. number[node]: which input of the stored program a node is.
 */
static asc_status compile_program(asc_ctx *ctx, asc_capture *c, asc_ascp_block *b, int32_t *number,
                                  asc_buffer *const *bufs) {
    asc_program *p = &b->program;
    int32_t k = 0;
    for (size_t i = 0; i < p->n_nodes; i++) {
        if (p->nodes[i].op == NULL) number[i] = k++;
        p->nodes[i].group = 0;
        p->nodes[i].constant = false;
        p->nodes[i].origin = 0;
    }
    asc_status st = asc_exe_make(ctx, p, asc_runtime_of(ctx)->passes_off, &c->exe);
    if (st != ASC_OK) return st;
    asc_runtime_of(ctx)->stats.compile_ns += c->exe->compile_ns;
    const size_t n = c->exe->n_inputs;
    c->input_param = asc_calloc(ctx, ASC_MEM_PROGRAM, n + 1, sizeof *c->input_param);
    c->fixed = asc_calloc(ctx, ASC_MEM_PROGRAM, n + 1, sizeof *c->fixed);
    if (c->input_param == NULL || c->fixed == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) {
        const asc_ascp_ref *in = input_at(b, number, c->exe->input_from[i]);
        c->input_param[i] = in->from == ASC_ASCP_INPUT ? (int32_t)in->index : -1;
        if (c->input_param[i] >= 0) continue;
        c->fixed[i] = bufs[in->index];
        asc_buffer_retain(c->fixed[i]);
    }
    return tie_scalars(ctx, c, b);
}

static asc_status capture_of(asc_ascp *f, asc_ascp_block *b, const void *owner, asc_buffer *const *bufs,
                             asc_capture **out) {
    asc_ctx *ctx = f->ctx;
    asc_status st = ASC_OK;
    int32_t *number = NULL;
    *out = NULL;
    asc_capture *c = asc_capture_create(ctx, owner, b->key, b->n_key * sizeof *b->key, NULL, 0);
    if (c == NULL) return ASC_RESOURCE_EXHAUSTED;
    c->params = asc_calloc(ctx, ASC_MEM_PROGRAM, f->info.n_in + 1, sizeof *c->params);
    c->outs = asc_calloc(ctx, ASC_MEM_PROGRAM, f->info.n_out + 1, sizeof *c->outs);
    c->bounds = asc_calloc(ctx, ASC_MEM_PROGRAM, b->n_bounds + 1, sizeof *c->bounds);
    number = asc_calloc(ctx, ASC_MEM_PROGRAM, b->program.n_nodes + 1, sizeof *number);
    if (c->params == NULL || c->outs == NULL || c->bounds == NULL || number == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    c->n_params = f->info.n_in;
    c->n_outs = f->info.n_out;
    memcpy(c->bounds, b->bounds, b->n_bounds * sizeof *c->bounds);
    c->n_bounds = b->n_bounds;
    if (b->parsed) ASC_TRY(compile_program(ctx, c, b, number, bufs));
    tie_outputs(c, f, b, number, bufs);
    c->taken = true; /* no storage for outputs yet: the first run makes it */
    c->runs = true;
    *out = c;
    c = NULL;
done:
    asc_capture_destroy(ctx, c);
    asc_free(ctx, number);
    return st;
}

asc_status asc_ascp_compile(asc_ascp *f, asc_compiled **out) {
    asc_ctx *ctx = f->ctx;
    asc_status st = ASC_OK;
    asc_compiled *c = NULL;
    char name[ASC_ASCP_MOST_NAME + 1] = {0};
    *out = NULL;
    memcpy(name, f->info.name.ptr, f->info.name.len);
    asc_compile_def def = {.struct_size = sizeof def,
                           .n_in = f->info.n_in,
                           .n_scalars = f->info.n_scalars,
                           .n_out = f->info.n_out,
                           .name = name};
    asc_buffer **bufs = asc_calloc(ctx, ASC_MEM_PROGRAM, f->info.n_arrays + 1, sizeof(asc_buffer *));
    if (bufs == NULL) return ASC_RESOURCE_EXHAUSTED;
    ASC_TRY(asc_compiled_create(ctx, &def, &c));
    c->loaded = asc_calloc(ctx, ASC_MEM_PROGRAM, f->info.n_signatures + 1, sizeof(asc_capture *));
    if (c->loaded == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (size_t k = 0; k < f->info.n_arrays; k++) {
        bufs[k] = storage(ctx, &f->arrays[k]);
        if (bufs[k] == NULL) {
            st = ctx->error.code;
            goto done;
        }
    }
    for (size_t k = 0; k < f->info.n_signatures; k++) {
        ASC_TRY(capture_of(f, &f->blocks[k], c, bufs, &c->loaded[k]));
        c->n_loaded++;
    }
    *out = c;
    c = NULL;
done:
    for (size_t k = 0; k < f->info.n_arrays; k++) asc_buffer_release(ctx, bufs[k]);
    asc_free(ctx, bufs);
    asc_compiled_destroy(c);
    return st;
}

asc_status asc_compiled_load(asc_ctx *ctx, const char *path, asc_compiled **out) {
    asc_ascp *f = NULL;
    *out = NULL;
    asc_status st = asc_ascp_open(ctx, path, &f);
    if (st != ASC_OK) return st;
    st = asc_ascp_compile(f, out);
    asc_ascp_close(f);
    return st == ASC_OK ? ASC_OK : asc_fail_context(ctx, "'%.300s'", path);
}

/* "f32 [2,4], i32 [3]" */
static void put_key(asc_strbuf *out, const int64_t *key, size_t n_in) {
    char shape[128];
    asc_strbuf_addc(out, '(');
    for (size_t k = 0; k < n_in; k++) {
        asc_shape s = {.rank = (int)key[1]};
        for (int d = 0; d < s.rank; d++) s.dims[d] = key[2 + d];
        asc_strbuf_addf(out, "%s%s %s", k > 0 ? ", " : "", asc_dtype_of((asc_dtype)key[0])->name,
                        asc_shape_text(&s, shape));
        key += 2 + s.rank;
    }
    asc_strbuf_addc(out, ')');
}

asc_status asc_compiled_find(asc_compiled *c, asc_capture **out) {
    asc_ctx *ctx = c->ctx;
    asc_strbuf here, stored;
    for (size_t i = 0; i < c->n_loaded; i++) {
        *out = c->loaded[i];
        if ((*out)->n_key == c->n_key * sizeof *c->key && memcmp((*out)->key, c->key, (*out)->n_key) == 0)
            return ASC_OK;
    }
    *out = NULL;
    asc_strbuf_init(&here, ctx);
    asc_strbuf_init(&stored, ctx);
    put_key(&here, c->key, c->def.n_in);
    for (size_t i = 0; i < c->n_loaded && stored.len < 400; i++) {
        if (i > 0) asc_strbuf_adds(&stored, " or ");
        put_key(&stored, (const int64_t *)(const void *)c->loaded[i]->key, c->def.n_in);
    }
    asc_status st = ASC_RESOURCE_EXHAUSTED;
    if (!here.failed && !stored.failed) {
        ASC_FAIL(ctx, ASC_NOT_FOUND, "%s: the file has no signature %.300s; it has %.400s", c->name, here.ptr,
                 stored.ptr);
        st = asc_hint(ctx, "call the function with such inputs where it has code, and save it again");
    }
    asc_strbuf_deinit(&here);
    asc_strbuf_deinit(&stored);
    return st;
}

asc_ascp_info asc_ascp_info_of(const asc_ascp *f) { return f->info; }

static asc_ascp_value value(const asc_ascp_data *d, asc_ascp_from from, size_t k) {
    return (asc_ascp_value){.dtype = asc_dtype_of(d->dtype)->name,
                            .shape = d->shape,
                            .from = from,
                            .index = k,
                            .bytes = d->bytes};
}

asc_ascp_value asc_ascp_array(const asc_ascp *f, size_t k) { return value(&f->arrays[k], ASC_ASCP_ARRAY, k); }

asc_ascp_value asc_ascp_input(const asc_ascp *f, size_t s, size_t k) {
    return value(&f->blocks[s].params[k], ASC_ASCP_INPUT, k);
}

asc_ascp_value asc_ascp_output(const asc_ascp *f, size_t s, size_t k) {
    const asc_ascp_block *b = &f->blocks[s];
    const asc_ascp_ref *from = &b->outs[k];
    if (from->from == ASC_ASCP_INPUT) return asc_ascp_input(f, s, from->index);
    if (from->from == ASC_ASCP_ARRAY) return asc_ascp_array(f, from->index);
    const asc_node *n = &b->program.nodes[b->program.outputs[from->index]];
    const asc_ascp_data d = {.dtype = n->dtype, .shape = n->shape};
    return value(&d, ASC_ASCP_PROGRAM, from->index);
}

asc_ascp_signature asc_ascp_signature_of(const asc_ascp *f, size_t s) {
    const asc_ascp_block *b = &f->blocks[s];
    int32_t last = 0;
    asc_ascp_signature out = {.program = b->text,
                              .n_nodes = b->program.n_nodes,
                              .n_inputs = b->n_inputs,
                              .n_scalars = b->n_scalars};
    for (size_t i = 0; i < b->program.n_nodes; i++) { /* a region's nodes stand together */
        const int32_t group = b->program.nodes[i].group;
        out.n_regions += group != 0 && group != last;
        last = group;
    }
    return out;
}
