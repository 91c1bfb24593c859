/* ascp_read.c - reads files of compiled functions. Every length is compared with the bytes that are left
 * before it is used, programs go through the parser's checks, and every reference is looked at; the checksum
 * comes last, so that what is wrong is said by name where that is possible. Nothing is compiled here. */
#include "ascp_file.h"
#include "file.h"
#include "packed.h"
#include "view.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const size_t MOST_FILE = (size_t)1 << 40;

/* Whether n things of so many bytes each are left. */
static bool has(const asc_unpack *r, uint64_t n, size_t each) { return n <= asc_unpack_left(r) / each; }

/* Type and shape; room for the type's name, kind and rank has been checked. */
static asc_status type(asc_unpack *r, asc_ascp_data *out) {
    int t = -1;
    for (int i = 0; i < ASC_N_DTYPES; i++) {
        char name[ASC_ASCP_DTYPE] = {0};
        strncpy(name, asc_dtype_of((asc_dtype)i)->name, sizeof name - 1);
        if (memcmp(r->p, name, sizeof name) == 0) t = i;
    }
    if (t < 0) return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "an unknown element type");
    r->p += ASC_ASCP_DTYPE;
    *out = (asc_ascp_data){.dtype = (asc_dtype)t, .kind = asc_unpack_u32(r)};
    const uint32_t rank = asc_unpack_u32(r);
    if (rank > ASC_MAX_RANK) return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "a shape of too many dimensions");
    if (!has(r, rank, 8)) return asc_unpack_bad(r, ASC_DATA_LOSS, "a shape is cut short");
    out->shape.rank = (int)rank;
    for (uint32_t d = 0; d < rank; d++) out->shape.dims[d] = (int64_t)asc_unpack_u64(r);
    return asc_shape_elems(&out->shape) >= 0 ? ASC_OK
                                             : asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "an impossible shape");
}

/* Elements that would be no values of their type. */
static bool sound(const asc_ascp_data *a, int64_t elems) {
    if (a->kind == ASC_ASCP_NATIVE) {
        const unsigned char *v = a->data;
        for (int64_t i = 0; a->dtype == ASC_DTYPE_BOOL && i < elems; i++) {
            if (v[i] > 1) return false;
        }
        return true;
    }
    for (int64_t i = 0; a->dtype == ASC_DTYPE_I32 && i < elems; i++) {
        double v;
        memcpy(&v, (const char *)a->data + 8 * i, sizeof v);
        if (!(v >= INT32_MIN && v <= INT32_MAX)) return false;
    }
    return true;
}

static asc_status array(asc_unpack *r, asc_ascp_data *out) {
    size_t want = 0;
    if (!has(r, 1, ASC_ASCP_DTYPE + 8))
        return asc_unpack_bad(r, ASC_DATA_LOSS, "an array's head is cut short");
    asc_status st = type(r, out);
    if (st != ASC_OK) return st;
    const int64_t elems = asc_shape_elems(&out->shape);
    const bool f64 = out->kind == ASC_ASCP_F64;
    if (!has(r, 1, 8)) return asc_unpack_bad(r, ASC_DATA_LOSS, "an array's head is cut short");
    if (out->kind > ASC_ASCP_F64 ||
        (f64 && out->dtype != ASC_DTYPE_F32 && out->dtype != ASC_DTYPE_I32 && out->dtype != ASC_DTYPE_BOOL &&
         !asc_dtype_of(out->dtype)->is_weight_only))
        return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "an array of a kind that is not known");
    const uint64_t bytes = asc_unpack_u64(r);
    if (!(f64 ? asc_mul_size((size_t)elems, 8, &want) : asc_dtype_bytes(out->dtype, elems, &want)) ||
        bytes != want)
        return asc_unpack_bad(r, ASC_INVALID_ARGUMENT,
                              "an array's bytes are not those of its type and shape");
    if (bytes > asc_unpack_left(r)) return asc_unpack_bad(r, ASC_DATA_LOSS, "an array is cut short");
    out->data = r->p;
    out->bytes = want;
    if (!sound(out, elems))
        return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "an array with elements out of range");
    r->p += bytes;
    return asc_unpack_fill(r);
}

static asc_status ref(asc_unpack *r, const asc_ascp_info *info, asc_ascp_ref *out) {
    static const char *const what[] = {"", "an input of the function that there is not",
                                       "an array that there is not"};
    out->from = asc_unpack_u32(r);
    out->index = asc_unpack_u32(r);
    if (out->from > ASC_ASCP_ARRAY)
        return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "an end that comes from nowhere known");
    const size_t most = out->from == ASC_ASCP_INPUT ? info->n_in : info->n_arrays;
    if (out->from != ASC_ASCP_PROGRAM && out->index >= most)
        return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, what[out->from]);
    return ASC_OK;
}

/* Inputs of the program and outputs of the function. */
static asc_status ends(asc_unpack *r, const asc_ascp *f, asc_ascp_block *b) {
    const asc_program *p = &b->program;
    asc_status st = ASC_OK;
    size_t k = 0;
    if (!has(r, b->n_inputs + f->info.n_out, 8))
        return asc_unpack_bad(r, ASC_DATA_LOSS, "inputs and outputs are cut short");
    for (size_t i = 0; i < p->n_nodes; i++) {
        const asc_node *n = &p->nodes[i];
        if (n->op != NULL) continue;
        if (k == b->n_inputs)
            return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "another number of inputs than the program");
        asc_ascp_ref *in = &b->inputs[k++];
        if ((st = ref(r, &f->info, in)) != ASC_OK) return st;
        if (in->from == ASC_ASCP_PROGRAM)
            return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "an input of the program that is its own output");
        const asc_ascp_data *d = in->from == ASC_ASCP_INPUT ? &b->params[in->index] : &f->arrays[in->index];
        if (d->dtype != n->dtype || !asc_shape_eq(&d->shape, &n->shape))
            return asc_unpack_bad(r, ASC_INVALID_ARGUMENT,
                                  "an input of the program has another type or shape");
    }
    if (k != b->n_inputs)
        return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "another number of inputs than the program");
    for (k = 0; k < f->info.n_out; k++) {
        if ((st = ref(r, &f->info, &b->outs[k])) != ASC_OK) return st;
        if (b->outs[k].from == ASC_ASCP_PROGRAM && b->outs[k].index >= p->n_outputs)
            return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "an output that the program does not have");
    }
    return ASC_OK;
}

/* Every value that the program returns needs storage, and that is an output's of the function. */
static asc_status outputs_used(asc_unpack *r, const asc_ascp *f, const asc_ascp_block *b) {
    const asc_program *p = &b->program;
    char *used = asc_calloc(r->ctx, ASC_MEM_PROGRAM, p->n_nodes + 1, 1);
    bool all = true;
    if (used == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t k = 0; k < f->info.n_out; k++) {
        if (b->outs[k].from == ASC_ASCP_PROGRAM) used[p->outputs[b->outs[k].index]] = 1;
    }
    for (size_t i = 0; i < p->n_outputs; i++)
        all = all && (used[p->outputs[i]] || p->nodes[p->outputs[i]].op == NULL);
    asc_free(r->ctx, used);
    return all ? ASC_OK : asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "the program returns what is no output");
}

static bool is_scalar(const asc_program *p, const asc_ascp_scalar *s) {
    const asc_op *op = s->node < p->n_nodes ? p->nodes[s->node].op : NULL;
    for (int i = 0; op != NULL && i < op->n_attrs; i++) {
        if (op->attrs[i].kind == ASC_ATTR_SCALAR && op->attrs[i].slot == (int)s->slot) return true;
    }
    return false;
}

static asc_status scalars(asc_unpack *r, const asc_ascp *f, asc_ascp_block *b) {
    int of_node = 0; /* entries with this node so far */
    if (!has(r, b->n_scalars, 16)) return asc_unpack_bad(r, ASC_DATA_LOSS, "scalars are cut short");
    for (size_t i = 0; i < b->n_scalars; i++) {
        asc_ascp_scalar *s = &b->scalars[i];
        s->node = asc_unpack_u32(r);
        s->slot = asc_unpack_u32(r);
        s->which = asc_unpack_u32(r);
        if (asc_unpack_u32(r) != 0 || !is_scalar(&b->program, s) || s->which >= f->info.n_scalars)
            return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "a scalar that goes nowhere");
        of_node = i > 0 && s[-1].node == s->node ? of_node + 1 : 1;
        if ((i > 0 && s[-1].node > s->node) || of_node > ASC_N_FATTR)
            return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "scalars in no order");
    }
    return ASC_OK;
}

static asc_status bounds(asc_unpack *r, const asc_ascp *f, asc_ascp_block *b) {
    if (!has(r, b->n_bounds, 16 + ASC_ASCP_WHAT))
        return asc_unpack_bad(r, ASC_DATA_LOSS, "checks are cut short");
    for (size_t i = 0; i < b->n_bounds; i++) {
        asc_capture_bound *c = &b->bounds[i];
        c->param = asc_unpack_u32(r);
        const uint32_t zero = asc_unpack_u32(r);
        c->n = (int64_t)asc_unpack_u64(r);
        memcpy(c->what, r->p, ASC_ASCP_WHAT);
        if (zero != 0 || c->param >= f->info.n_in || b->params[c->param].dtype != ASC_DTYPE_I32 || c->n < 0 ||
            c->what[ASC_ASCP_WHAT - 1] != '\0')
            return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "a check that makes no sense");
        r->p += ASC_ASCP_WHAT;
    }
    return ASC_OK;
}

static asc_status params(asc_unpack *r, const asc_ascp *f, asc_ascp_block *b) {
    for (size_t k = 0; k < f->info.n_in; k++) {
        if (!has(r, 1, ASC_ASCP_DTYPE + 8)) return asc_unpack_bad(r, ASC_DATA_LOSS, "inputs are cut short");
        asc_status st = type(r, &b->params[k]);
        if (st != ASC_OK) return st;
        if (b->params[k].kind != 0) return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "an input with elements");
        const asc_shape *s = &b->params[k].shape;
        b->key[b->n_key++] = (int64_t)b->params[k].dtype;
        b->key[b->n_key++] = s->rank;
        for (int d = 0; d < s->rank; d++) b->key[b->n_key++] = s->dims[d];
    }
    for (const asc_ascp_block *o = f->blocks; o < b; o++) {
        if (o->n_key == b->n_key && (b->n_key == 0 || memcmp(o->key, b->key, b->n_key * sizeof *b->key) == 0))
            return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "a signature that was there before");
    }
    return ASC_OK;
}

static asc_status block(asc_unpack *r, asc_ascp *f, asc_ascp_block *b) {
    asc_ctx *ctx = r->ctx;
    asc_status st = ASC_OK;
    if (!has(r, 1, 24)) return asc_unpack_bad(r, ASC_DATA_LOSS, "a signature is cut short");
    const uint64_t n_text = asc_unpack_u64(r);
    b->n_inputs = asc_unpack_u32(r);
    b->n_scalars = asc_unpack_u32(r);
    b->n_bounds = asc_unpack_u32(r);
    if (asc_unpack_u32(r) != 0)
        return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "reserved bytes that are not zero");
    if (!has(r, b->n_inputs, 8) || !has(r, b->n_scalars, 16) || !has(r, b->n_bounds, 16 + ASC_ASCP_WHAT))
        return asc_unpack_bad(r, ASC_DATA_LOSS, "more inputs, scalars or checks than bytes");
    b->params = asc_calloc(ctx, ASC_MEM_PROGRAM, f->info.n_in + 1, sizeof *b->params);
    b->key = asc_calloc(ctx, ASC_MEM_PROGRAM, f->info.n_in + 1, (2 + ASC_MAX_RANK) * sizeof *b->key);
    b->inputs = asc_calloc(ctx, ASC_MEM_PROGRAM, b->n_inputs + 1, sizeof *b->inputs);
    b->outs = asc_calloc(ctx, ASC_MEM_PROGRAM, f->info.n_out + 1, sizeof *b->outs);
    b->scalars = asc_calloc(ctx, ASC_MEM_PROGRAM, b->n_scalars + 1, sizeof *b->scalars);
    b->bounds = asc_calloc(ctx, ASC_MEM_PROGRAM, b->n_bounds + 1, sizeof *b->bounds);
    if (b->params == NULL || b->key == NULL || b->inputs == NULL || b->outs == NULL || b->scalars == NULL ||
        b->bounds == NULL)
        return ASC_RESOURCE_EXHAUSTED;
    ASC_TRY(params(r, f, b));
    ASC_TRY(asc_unpack_text(r, n_text, ASC_ASCP_MOST_TEXT, "a program", &b->text));
    ASC_TRY(asc_unpack_fill(r));
    if (b->text.len > 0) {
        b->parsed = true;
        st = asc_program_parse(ctx, b->text, &b->program);
        if (st != ASC_OK) return asc_fail_context(ctx, "compiled function");
    }
    ASC_TRY(ends(r, f, b));
    ASC_TRY(outputs_used(r, f, b));
    ASC_TRY(scalars(r, f, b));
    st = bounds(r, f, b);
done:
    return st;
}

static asc_status same_build(asc_unpack *r, asc_view *out) {
    char here[ASC_ASCP_BUILD];
    size_t n = 0;
    asc_ascp_build_text(here);
    while (n < ASC_ASCP_BUILD && r->p[n] != '\0') n++;
    *out = asc_view_make(r->p, n);
    if (memcmp(r->p, here, ASC_ASCP_BUILD) != 0) {
        ASC_FAIL(r->ctx, ASC_FAILED_PRECONDITION, "compiled function: made by '%.*s'; this is '%s'", (int)n,
                 r->p, here);
        return asc_hint(r->ctx, "save it again with this build");
    }
    r->p += ASC_ASCP_BUILD;
    return ASC_OK;
}

static asc_status head(asc_unpack *r, size_t size, asc_ascp *f) {
    asc_ascp_info *i = &f->info;
    asc_status st = ASC_OK;
    if (size < 8 || memcmp(r->p, ASC_ASCP_MAGIC, 8) != 0)
        return asc_unpack_bad(r, ASC_INVALID_ARGUMENT,
                              "this is no file of a compiled function (it does not begin with " ASC_ASCP_MAGIC
                              ")");
    if (size < ASC_ASCP_HEAD + ASC_ASCP_SUM) return asc_unpack_bad(r, ASC_DATA_LOSS, "the head is cut short");
    r->p += 8;
    const uint32_t version = asc_unpack_u32(r);
    if (version != ASC_ASCP_VERSION)
        return ASC_FAIL(r->ctx, ASC_UNIMPLEMENTED,
                        "compiled function: version %u of the format; this is version %d", version,
                        ASC_ASCP_VERSION);
    const uint32_t n_device = asc_unpack_u32(r), n_name = asc_unpack_u32(r);
    i->n_in = asc_unpack_u32(r);
    i->n_scalars = asc_unpack_u32(r);
    i->n_out = asc_unpack_u32(r);
    i->n_signatures = asc_unpack_u32(r);
    i->n_arrays = asc_unpack_u32(r);
    i->file_bytes = size;
    if (asc_unpack_u64(r) != 0 || asc_unpack_u64(r) != 0)
        return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "reserved bytes that are not zero");
    ASC_TRY(same_build(r, &i->build));
    if (i->n_in > ASC_ASCP_MOST_ENDS || i->n_scalars > ASC_ASCP_MOST_ENDS || i->n_out > ASC_ASCP_MOST_ENDS)
        return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "more inputs, scalars or outputs than allowed");
    if (i->n_signatures > ASC_ASCP_MOST_SIGNATURES || i->n_arrays > ASC_ASCP_MOST_ARRAYS)
        return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "more signatures or arrays than allowed");
    if (i->n_signatures == 0 || i->n_out == 0)
        return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "no signature, or no output");
    if (!has(r, i->n_arrays, ASC_ASCP_DTYPE + 16) || !has(r, i->n_signatures, 24))
        return asc_unpack_bad(r, ASC_DATA_LOSS, "more arrays or signatures than bytes");
    ASC_TRY(asc_unpack_text(r, n_device, ASC_ASCP_MOST_DEVICE, "the device's name", &i->device));
    ASC_TRY(asc_unpack_text(r, n_name, ASC_ASCP_MOST_NAME, "the function's name", &i->name));
    st = asc_unpack_fill(r);
done:
    return st;
}

asc_status asc_ascp_parse(asc_ctx *ctx, const void *data, size_t size, asc_ascp **out) {
    asc_status st = ASC_OK;
    *out = NULL;
    asc_unpack r = {.ctx = ctx, .what = "compiled function", .start = data, .p = data};
    r.end = r.p + (size > ASC_ASCP_SUM ? size - ASC_ASCP_SUM : 0);
    asc_ascp *f = asc_calloc(ctx, ASC_MEM_PROGRAM, 1, sizeof *f);
    if (f == NULL) return ASC_RESOURCE_EXHAUSTED;
    f->ctx = ctx;
    ASC_TRY(head(&r, size, f));
    f->arrays = asc_calloc(ctx, ASC_MEM_PROGRAM, f->info.n_arrays + 1, sizeof *f->arrays);
    f->blocks = asc_calloc(ctx, ASC_MEM_PROGRAM, f->info.n_signatures + 1, sizeof *f->blocks);
    if (f->arrays == NULL || f->blocks == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (size_t k = 0; k < f->info.n_arrays; k++) {
        ASC_TRY(array(&r, &f->arrays[k]));
        f->info.array_bytes += f->arrays[k].bytes;
    }
    for (size_t k = 0; k < f->info.n_signatures; k++) ASC_TRY(block(&r, f, &f->blocks[k]));
    if (asc_unpack_left(&r) != 0) {
        st = asc_unpack_bad(&r, ASC_INVALID_ARGUMENT, "bytes behind the last signature");
        goto done;
    }
    ASC_TRY(asc_unpack_sum(&r));
    *out = f;
    f = NULL;
done:
    asc_ascp_close(f);
    return st;
}

asc_status asc_ascp_open(asc_ctx *ctx, const char *path, asc_ascp **out) {
    char *bytes = NULL;
    size_t n = 0;
    *out = NULL;
    asc_status st = asc_file_read(ctx, path, MOST_FILE, &bytes, &n);
    if (st != ASC_OK) return st;
    st = asc_ascp_parse(ctx, bytes, n, out);
    return asc_unpack_opened(ctx, st, path, bytes, st == ASC_OK ? &(*out)->owned : NULL);
}

void asc_ascp_close(asc_ascp *f) {
    if (f == NULL) return;
    asc_ctx *ctx = f->ctx;
    for (size_t k = 0; f->blocks != NULL && k < f->info.n_signatures; k++) {
        asc_ascp_block *b = &f->blocks[k];
        if (b->parsed) asc_program_deinit(&b->program);
        asc_free(ctx, b->key);
        asc_free(ctx, b->params);
        asc_free(ctx, b->inputs);
        asc_free(ctx, b->outs);
        asc_free(ctx, b->scalars);
        asc_free(ctx, b->bounds);
    }
    asc_free(ctx, f->blocks);
    asc_free(ctx, f->arrays);
    asc_free(ctx, f->owned);
    asc_free(ctx, f);
}
