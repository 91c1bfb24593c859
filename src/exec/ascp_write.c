/* ascp_write.c - writes the captures of a compiled function to a file; docs/formats/ascp.md has the bytes.
 * A program is stored as it is after the passes. Storage that several signatures hold is stored once. */
#include "ascp_file.h"
#include "capture_parts.h"
#include "cpu.h"
#include "file.h"
#include "hash.h"
#include "packed.h"
#include "program_text.h"
#include "strbuf.h"
#include <stdio.h>
#include <string.h>

/* What is fixed: storage seen with a type and a shape. */
typedef struct held_array {
    const asc_buffer *buf;
    asc_dtype dtype;
    asc_shape shape;
} held_array;

typedef struct writer {
    asc_ctx *ctx;
    asc_strbuf b;
    bool dry;       /* elements of arrays are only counted */
    size_t skipped; /* bytes of those */
    uint64_t bytes; /* of all arrays' elements */
    held_array *arrays;
    size_t n_arrays, cap_arrays;
} writer;

void asc_ascp_build_text(char out[ASC_ASCP_BUILD]) {
    uint64_t h = asc_hash64("ascp", 4, ASC_N_OPS);
    for (int i = 0; i < ASC_N_OPS; i++) {
        const asc_op *op = asc_ops[i];
        const int32_t ends[2] = {op->min_in, op->max_in};
        h = asc_hash64(op->name, strlen(op->name), asc_hash64(ends, sizeof ends, h));
        for (int k = 0; k < op->n_attrs; k++) {
            const int32_t what[2] = {(int32_t)op->attrs[k].kind, op->attrs[k].slot};
            h = asc_hash64(op->attrs[k].name, strlen(op->attrs[k].name), asc_hash64(what, sizeof what, h));
        }
    }
    for (int i = 0; i < ASC_N_DTYPES; i++) {
        const char *name = asc_dtype_of((asc_dtype)i)->name;
        h = asc_hash64(name, strlen(name), h);
    }
    memset(out, 0, ASC_ASCP_BUILD);
    snprintf(out, ASC_ASCP_BUILD, "ascribe %s ops %016llx", asc_version(), (unsigned long long)h);
}

void asc_ascp_device_text(const asc_ctx *ctx, char out[ASC_ASCP_MOST_DEVICE + 1]) {
    snprintf(out, ASC_ASCP_MOST_DEVICE + 1, "%s %s", ctx->device_name, asc_isa_name((asc_isa)ctx->isa));
}

static void put_u32(writer *w, size_t v) { asc_pack_u32(&w->b, (uint32_t)v); }
static void put_u64(writer *w, uint64_t v) { asc_pack_u64(&w->b, v); }

static void pad(writer *w) {
    while ((w->b.len + w->skipped) % 8 != 0 && !w->b.failed) asc_strbuf_addc(&w->b, '\0');
}

static void put_name(writer *w, const char *s, size_t room) {
    size_t n = strlen(s);
    asc_strbuf_add(&w->b, s, n < room ? n : room - 1);
    for (n = n < room ? n : room - 1; n < room; n++) asc_strbuf_addc(&w->b, '\0');
}

static void put_type(writer *w, asc_dtype dtype, const asc_shape *s, uint32_t kind) {
    put_name(w, asc_dtype_of(dtype)->name, ASC_ASCP_DTYPE);
    put_u32(w, kind);
    put_u32(w, (size_t)s->rank);
    for (int d = 0; d < s->rank; d++) put_u64(w, (uint64_t)s->dims[d]);
}

static asc_status put_array(writer *w, const held_array *a) {
    const int64_t elems = asc_shape_elems(&a->shape);
    size_t native = 0, bytes = asc_exec_device(w->ctx)->storage_bytes(a->dtype, elems);
    const bool same = asc_dtype_bytes(a->dtype, elems, &native) && native == bytes;
    if (elems == 0) bytes = 0;
    if (elems > 0 && a->buf->bytes < bytes)
        return ASC_FAIL(w->ctx, ASC_INTERNAL, "a constant has %zu bytes, not %zu", a->buf->bytes, bytes);
    put_type(w, a->dtype, &a->shape, same || elems == 0 ? ASC_ASCP_NATIVE : ASC_ASCP_F64);
    put_u64(w, bytes);
    w->bytes += bytes;
    if (w->dry) {
        w->skipped += bytes;
    } else if (bytes > 0) {
        asc_strbuf_add(&w->b, a->buf->data, bytes);
    }
    pad(w);
    return ASC_OK;
}

/* The number of what is fixed. */
static asc_status array_of(writer *w, const asc_buffer *buf, asc_dtype dtype, const asc_shape *shape,
                           size_t *out) {
    for (size_t i = 0; i < w->n_arrays; i++) {
        const held_array *a = &w->arrays[i];
        if (a->buf->data != buf->data || a->dtype != dtype || !asc_shape_eq(&a->shape, shape)) continue;
        *out = i;
        return ASC_OK;
    }
    if (w->n_arrays >= ASC_ASCP_MOST_ARRAYS)
        return ASC_FAIL(w->ctx, ASC_INVALID_ARGUMENT, "more than %d weights and constants",
                        ASC_ASCP_MOST_ARRAYS);
    asc_status st = asc_grow(w->ctx, ASC_MEM_PROGRAM, (void **)&w->arrays, &w->cap_arrays, w->n_arrays + 1,
                             sizeof *w->arrays);
    if (st != ASC_OK) return st;
    *out = w->n_arrays;
    w->arrays[w->n_arrays++] = (held_array){buf, dtype, *shape};
    return ASC_OK;
}

/* Where each input of the program and each output of the function comes from. With put false only the arrays
 * are collected. */
static asc_status put_ends(writer *w, const asc_capture *p, bool put) {
    const asc_exe *e = p->exe;
    for (size_t i = 0; e != NULL && i < e->n_inputs; i++) {
        const asc_node *n = &e->program.nodes[e->input_node[i]];
        size_t index = (size_t)p->input_param[i];
        asc_status st =
            p->input_param[i] < 0 ? array_of(w, p->fixed[i], n->dtype, &n->shape, &index) : ASC_OK;
        if (st != ASC_OK) return st;
        if (!put) continue;
        put_u32(w, p->input_param[i] >= 0 ? ASC_ASCP_INPUT : ASC_ASCP_ARRAY);
        put_u32(w, index);
    }
    for (size_t k = 0; k < p->n_outs; k++) {
        const asc_capture_out *o = &p->outs[k];
        const asc_ascp_from from = o->output >= 0  ? ASC_ASCP_PROGRAM
                                   : o->param >= 0 ? ASC_ASCP_INPUT
                                                   : ASC_ASCP_ARRAY;
        size_t index = (size_t)(o->output >= 0 ? o->output : o->param);
        asc_status st = from == ASC_ASCP_ARRAY ? array_of(w, o->buf, o->dtype, &o->shape, &index) : ASC_OK;
        if (st != ASC_OK) return st;
        if (!put) continue;
        put_u32(w, from);
        put_u32(w, index);
    }
    return ASC_OK;
}

static asc_status put_block(writer *w, const asc_compiled *c, const asc_capture *p) {
    const asc_exe *e = p->exe;
    size_t note_bytes, n_scalars = 0;
    const int32_t *which = asc_capture_note_of(p, &note_bytes);
    const int64_t *key = (const int64_t *)(const void *)p->key;
    asc_strbuf text;
    asc_status st = ASC_OK;
    asc_strbuf_init(&text, w->ctx);
    if (e != NULL) ASC_TRY(asc_program_text(w->ctx, &e->program, true, &text));
    if (text.len > ASC_ASCP_MOST_TEXT) {
        st = ASC_FAIL(w->ctx, ASC_INVALID_ARGUMENT, "a program of %zu bytes of text", text.len);
        goto done;
    }
    for (size_t i = 0; i < note_bytes / sizeof *which; i++) n_scalars += which[i] >= 0;
    put_u64(w, text.len);
    put_u32(w, e != NULL ? e->n_inputs : 0);
    put_u32(w, n_scalars);
    put_u32(w, p->n_bounds);
    put_u32(w, 0);
    for (size_t k = 0; k < c->def.n_in; k++) {
        asc_shape s = {.rank = (int)key[1]};
        for (int d = 0; d < s.rank; d++) s.dims[d] = key[2 + d];
        put_type(w, (asc_dtype)key[0], &s, ASC_ASCP_NATIVE);
        key += 2 + s.rank;
    }
    asc_strbuf_addv(&w->b, asc_strbuf_view(&text));
    pad(w);
    ASC_TRY(put_ends(w, p, true));
    for (size_t i = 0; i < note_bytes / sizeof *which; i++) {
        if (which[i] < 0) continue;
        put_u32(w, (size_t)e->scalars[i].node);
        put_u32(w, (size_t)e->scalars[i].slot);
        put_u32(w, (size_t)which[i]);
        put_u32(w, 0);
    }
    for (size_t i = 0; i < p->n_bounds; i++) {
        put_u32(w, p->bounds[i].param);
        put_u32(w, 0);
        put_u64(w, (uint64_t)p->bounds[i].n);
        put_name(w, p->bounds[i].what, ASC_ASCP_WHAT);
    }
    st = asc_strbuf_status(&w->b);
done:
    asc_strbuf_deinit(&text);
    return st;
}

/* Capture i of the function, in an order that does not matter; NULL behind the last. */
static const asc_capture *capture_at(const asc_compiled *c, size_t i) {
    if (c->def.fn == NULL) return i < c->n_loaded ? c->loaded[i] : NULL;
    for (const asc_capture *p = asc_runtime_of(c->ctx)->captures; p != NULL; p = p->next) {
        if (p->owner == c && p->runs && i-- == 0) return p;
    }
    return NULL;
}

static asc_status check(asc_compiled *c, size_t *n) {
    asc_ctx *ctx = c->ctx;
    const asc_capture *p;
    if (!asc_exec_device(ctx)->has_data)
        return ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "%s: the %s device has no values to be saved", c->name,
                        asc_exec_device(ctx)->name);
    for (*n = 0; (p = capture_at(c, *n)) != NULL; (*n)++) {
        for (size_t i = 0; p->exe != NULL && i < p->exe->program.n_nodes; i++) {
            const asc_op *op = p->exe->program.nodes[i].op;
            if (op != NULL && op->opcode == ASC_OPCODE_CUSTOM)
                return ASC_FAIL(ctx, ASC_UNIMPLEMENTED,
                                "%s: it has the op '%s' of your own: a file cannot hold "
                                "its code",
                                c->name, op->name);
        }
    }
    if (*n > ASC_ASCP_MOST_SIGNATURES || c->def.n_in > ASC_ASCP_MOST_ENDS ||
        c->def.n_out > ASC_ASCP_MOST_ENDS || c->def.n_scalars > ASC_ASCP_MOST_ENDS)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                        "%s: more than %d signatures, or %d inputs, outputs or scalars", c->name,
                        ASC_ASCP_MOST_SIGNATURES, ASC_ASCP_MOST_ENDS);
    if (*n > 0) return ASC_OK;
    ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "%s: nothing is captured that could be saved", c->name);
    return asc_hint(ctx, "call it once with inputs of each signature first");
}

static asc_status pack(asc_compiled *c, writer *w) {
    char build[ASC_ASCP_BUILD], device[ASC_ASCP_MOST_DEVICE + 1];
    const asc_capture *p;
    size_t n = 0;
    asc_status st = ASC_OK;
    ASC_TRY(check(c, &n));
    for (size_t i = 0; (p = capture_at(c, i)) != NULL; i++) ASC_TRY(put_ends(w, p, false));
    asc_ascp_build_text(build);
    asc_ascp_device_text(c->ctx, device);
    asc_strbuf_adds(&w->b, ASC_ASCP_MAGIC);
    put_u32(w, ASC_ASCP_VERSION);
    put_u32(w, strlen(device));
    put_u32(w, strlen(c->name));
    put_u32(w, c->def.n_in);
    put_u32(w, c->def.n_scalars);
    put_u32(w, c->def.n_out);
    put_u32(w, n);
    put_u32(w, w->n_arrays);
    put_u64(w, 0);
    put_u64(w, 0);
    put_name(w, build, ASC_ASCP_BUILD);
    asc_strbuf_adds(&w->b, device);
    asc_strbuf_adds(&w->b, c->name);
    pad(w);
    for (size_t i = 0; i < w->n_arrays; i++) ASC_TRY(put_array(w, &w->arrays[i]));
    for (size_t i = 0; (p = capture_at(c, i)) != NULL; i++) ASC_TRY(put_block(w, c, p));
    st = asc_strbuf_status(&w->b);
done:
    return st;
}

static asc_status end(writer *w, asc_status st) {
    asc_strbuf_deinit(&w->b);
    asc_free(w->ctx, w->arrays);
    return st;
}

asc_status asc_compiled_size(asc_compiled *c, size_t *bytes) {
    writer w = {.ctx = c->ctx, .dry = true};
    *bytes = 0;
    asc_strbuf_init(&w.b, c->ctx);
    asc_status st = pack(c, &w);
    if (st == ASC_OK) *bytes = w.b.len + w.skipped + ASC_ASCP_SUM;
    return end(&w, st);
}

asc_status asc_compiled_save(asc_compiled *c, const char *path) {
    writer w = {.ctx = c->ctx};
    asc_strbuf_init(&w.b, c->ctx);
    asc_status st = pack(c, &w);
    if (st == ASC_OK) st = asc_pack_sum(&w.b);
    if (st == ASC_OK) st = asc_file_write(c->ctx, path, w.b.ptr, w.b.len);
    return end(&w, st);
}
