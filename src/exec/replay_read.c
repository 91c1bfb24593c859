/* replay_read.c - reads replay files. Every length is compared with the bytes that are left before it is
 * used; the checksum is looked at last, so that what is wrong is said by name where that is possible. */
#include "replay_file.h"
#include "file.h"
#include "packed.h"
#include "view.h"
#include <stdio.h>
#include <string.h>

static const size_t MOST_FILE = (size_t)1 << 36;

static asc_status array(asc_unpack *r, const asc_program *p, int32_t node, asc_replay_array *out) {
    const asc_node *n = &p->nodes[node];
    const int64_t elems = asc_shape_elems(&n->shape);
    size_t native = 0, want;
    if (asc_unpack_left(r) < 16) return asc_unpack_bad(r, ASC_DATA_LOSS, "an array's head is cut short");
    const uint32_t which = asc_unpack_u32(r), kind = asc_unpack_u32(r);
    const uint64_t bytes = asc_unpack_u64(r);
    if (which != (uint32_t)node)
        return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "an array belongs to another node than expected");
    if (kind > ASC_REPLAY_F64) return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "an array's kind is not known");
    if (kind == ASC_REPLAY_NATIVE && !asc_dtype_bytes(n->dtype, elems, &native))
        return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "an array is not a whole number of blocks");
    if (kind == ASC_REPLAY_F64 && !asc_mul_size((size_t)elems, sizeof(double), &native))
        return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "an array is too large");
    want = native;
    if (bytes != want)
        return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "an array's bytes do not fit its shape");
    if (bytes > asc_unpack_left(r)) return asc_unpack_bad(r, ASC_DATA_LOSS, "an array is cut short");
    *out = (asc_replay_array){.node = node, .kind = kind, .data = r->p, .bytes = (size_t)bytes};
    r->p += bytes;
    return asc_unpack_fill(r);
}

static asc_status head(asc_unpack *r, size_t size, asc_replay *out, uint32_t *n_in, uint32_t *n_out) {
    asc_view program = {0};
    if (size < 8 || memcmp(r->p, ASC_REPLAY_MAGIC, 8) != 0)
        return asc_unpack_bad(r, ASC_INVALID_ARGUMENT,
                              "this is no replay file (it does not begin with " ASC_REPLAY_MAGIC ")");
    if (size < ASC_REPLAY_HEAD + ASC_REPLAY_SUM)
        return asc_unpack_bad(r, ASC_DATA_LOSS, "the head is cut short");
    r->end = r->start + size - ASC_REPLAY_SUM;
    r->p += 8;
    const uint32_t version = asc_unpack_u32(r);
    if (version != ASC_REPLAY_VERSION) {
        ASC_FAIL(r->ctx, ASC_UNIMPLEMENTED, "replay file: version %u, this program reads %d", version,
                 ASC_REPLAY_VERSION);
        return asc_hint(r->ctx, "write it again, or read it with the version that wrote it");
    }
    *n_in = asc_unpack_u32(r);
    *n_out = asc_unpack_u32(r);
    const uint32_t device = asc_unpack_u32(r), mode = asc_unpack_u32(r), error = asc_unpack_u32(r);
    const uint64_t length = asc_unpack_u64(r), zero = asc_unpack_u64(r);
    if (zero != 0) return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "a reserved field is not zero");
    if (*n_in > ASC_REPLAY_MOST_ARRAYS || *n_out > ASC_REPLAY_MOST_ARRAYS)
        return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "more arrays than allowed");
    asc_status st = asc_unpack_text(r, device, ASC_REPLAY_MOST_NAME, "the device's name", &out->info.device);
    if (st == ASC_OK) st = asc_unpack_text(r, mode, ASC_REPLAY_MOST_NAME, "the mode's name", &out->info.mode);
    if (st == ASC_OK) st = asc_unpack_text(r, error, ASC_REPLAY_MOST_ERROR, "the message", &out->info.error);
    if (st == ASC_OK) st = asc_unpack_text(r, length, ASC_REPLAY_MOST_TEXT, "the program", &program);
    out->info.program = program;
    return st == ASC_OK ? asc_unpack_fill(r) : st;
}

static asc_status arrays(asc_unpack *r, asc_replay *out, uint32_t n_in, uint32_t n_out) {
    asc_program *p = &out->program;
    asc_status st = ASC_OK;
    size_t inputs = 0;
    for (size_t i = 0; i < p->n_nodes; i++) inputs += p->nodes[i].op == NULL ? 1 : 0;
    if (inputs != n_in)
        return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "the program has another number of inputs");
    if (n_out != 0 && n_out != p->n_outputs)
        return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "the program has another number of outputs");
    out->inputs = asc_calloc(r->ctx, ASC_MEM_PROGRAM, inputs + 1, sizeof *out->inputs);
    out->outputs = asc_calloc(r->ctx, ASC_MEM_PROGRAM, p->n_outputs + 1, sizeof *out->outputs);
    if (out->inputs == NULL || out->outputs == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0, k = 0; st == ASC_OK && i < p->n_nodes; i++) {
        if (p->nodes[i].op == NULL) st = array(r, p, (int32_t)i, &out->inputs[k++]);
    }
    for (size_t k = 0; st == ASC_OK && k < n_out; k++) st = array(r, p, p->outputs[k], &out->outputs[k]);
    if (st == ASC_OK && asc_unpack_left(r) != 0)
        st = asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "bytes behind the last array");
    out->info.n_nodes = p->n_nodes;
    out->info.n_inputs = inputs;
    out->info.n_outputs = p->n_outputs;
    out->info.has_outputs = n_out != 0;
    return st;
}

asc_status asc_replay_parse(asc_ctx *ctx, const void *data, size_t size, asc_replay **out) {
    asc_unpack r = {
        .ctx = ctx, .what = "replay file", .start = data, .p = data, .end = (const char *)data + size};
    uint32_t n_in = 0, n_out = 0;
    asc_status st = ASC_OK;
    *out = NULL;
    if (((uintptr_t)data & 7) != 0)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "replay file: memory must start at a multiple of 8");
    asc_replay *x = asc_calloc(ctx, ASC_MEM_PROGRAM, 1, sizeof *x);
    if (x == NULL) return ASC_RESOURCE_EXHAUSTED;
    x->ctx = ctx;
    asc_program_init(&x->program, ctx);
    ASC_TRY(head(&r, size, x, &n_in, &n_out));
    st = asc_program_parse(ctx, x->info.program, &x->program);
    if (st != ASC_OK) {
        asc_fail_context(ctx, "replay file");
        goto done;
    }
    ASC_TRY(arrays(&r, x, n_in, n_out));
    ASC_TRY(asc_unpack_sum(&r));
    *out = x;
    x = NULL;
done:
    asc_replay_close(x);
    return st;
}

asc_status asc_replay_open(asc_ctx *ctx, const char *path, asc_replay **out) {
    char *bytes = NULL;
    size_t n = 0;
    *out = NULL;
    asc_status st = asc_file_read(ctx, path, MOST_FILE, &bytes, &n);
    if (st != ASC_OK) return st;
    st = asc_replay_parse(ctx, bytes, n, out);
    return asc_unpack_opened(ctx, st, path, bytes, st == ASC_OK ? &(*out)->owned : NULL);
}

void asc_replay_close(asc_replay *r) {
    if (r == NULL) return;
    asc_ctx *ctx = r->ctx;
    asc_program_deinit(&r->program);
    asc_free(ctx, r->inputs);
    asc_free(ctx, r->outputs);
    asc_free(ctx, r->owned);
    asc_free(ctx, r);
}

asc_replay_info asc_replay_info_of(const asc_replay *r) { return r->info; }
