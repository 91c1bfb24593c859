/* disk_file.c - an executable as bytes and back. What is stored is the program after the passes, as text,
 * with the node of the recorded program that each node came from, under the whole key of what was recorded.
 * The plan and the device's code are made again: that is cheap, and a plan from a file would have to be
 * proved right. */
#include "disk.h"
#include "cpu.h"
#include "hash.h"
#include "packed.h"
#include "passes.h"
#include "program_text.h"
#include "view.h"
#include <stdio.h>
#include <string.h>

void asc_disk_build_text(const asc_ctx *ctx, char out[ASC_DISK_MOST_BUILD]) {
    uint64_t h = asc_hash64("ops", 3, ASC_N_OPS);
    for (int i = 0; i < ASC_N_OPS; i++) {
        const asc_op *op = asc_ops[i];
        h = asc_hash64(op->name, strlen(op->name), h);
        for (int k = 0; k < op->n_attrs; k++) {
            int64_t what[2] = {op->attrs[k].kind, op->attrs[k].slot};
            h = asc_hash64(op->attrs[k].name, strlen(op->attrs[k].name), h);
            h = asc_hash64(what, sizeof what, h);
        }
    }
    for (size_t i = 0; i < asc_n_passes; i++)
        h = asc_hash64(asc_passes[i]->name, strlen(asc_passes[i]->name), h);
    const asc_runtime *rt = asc_runtime_of(ctx);
    const bool rows = rt->device->rows_depend != NULL && rt->device->rows_depend(ctx);
    snprintf(out, ASC_DISK_MOST_BUILD, "ascribe %s tables %016llx device %s isa %s of %s rows %d%s%s",
             asc_version(), (unsigned long long)h, ctx->device_name, asc_isa_name((asc_isa)ctx->isa),
             asc_isa_name(asc_cpu_best_isa()), rows, rt->emulates ? " emulated " : "",
             rt->emulates ? asc_precision_name(ctx->precision) : "");
}

/* ---- writing ---- */

asc_status asc_disk_pack(asc_ctx *ctx, const uint64_t *key, size_t n_key, const asc_exe *e, asc_strbuf *out) {
    const asc_program *p = &e->program;
    char build[ASC_DISK_MOST_BUILD];
    asc_strbuf text;
    asc_status st = ASC_OK;
    for (size_t i = 0; i < p->n_nodes; i++) {
        if (p->nodes[i].op != NULL && p->nodes[i].op->opcode == ASC_OPCODE_CUSTOM)
            return ASC_FAIL(ctx, ASC_UNIMPLEMENTED,
                            "a program with ops of the caller's own cannot be stored");
    }
    asc_strbuf_init(&text, ctx);
    asc_disk_build_text(ctx, build);
    /* Labels stay out: they are the recording's, and a program may come from another one of the same
     * structure. */
    ASC_TRY(asc_program_text(ctx, p, false, &text));
    asc_strbuf_adds(out, ASC_DISK_MAGIC);
    asc_pack_u32(out, ASC_DISK_VERSION);
    asc_pack_u32(out, (uint32_t)strlen(build));
    asc_pack_u64(out, n_key);
    asc_pack_u64(out, text.len);
    asc_pack_u64(out, p->n_nodes);
    asc_pack_u64(out, (uint32_t)key[2]); /* nodes recorded */
    asc_pack_u64(out, e->compile_ns);
    asc_pack_u64(out, 0);
    asc_strbuf_adds(out, build);
    for (size_t i = 0; i < n_key; i++) asc_pack_u64(out, key[i]);
    asc_strbuf_addv(out, asc_strbuf_view(&text));
    for (size_t i = 0; i < p->n_nodes; i++) asc_pack_u32(out, (uint32_t)p->nodes[i].origin);
    st = asc_pack_sum(out);
done:
    asc_strbuf_deinit(&text);
    return st;
}

/* ---- reading ---- */

/* Takes n bytes from the front of what is left. */
static bool take(const char **at, size_t *left, uint64_t n, const char **out) {
    if (n > *left) return false;
    *out = *at;
    *at += n;
    *left -= (size_t)n;
    return true;
}

asc_status asc_disk_read_parts(asc_ctx *ctx, const char *bytes, size_t n, bool sum, asc_disk_parts *out) {
    *out = (asc_disk_parts){0};
    if (n < 8 || memcmp(bytes, ASC_DISK_MAGIC, 8) != 0)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "no program (it does not begin with " ASC_DISK_MAGIC ")");
    if (n < ASC_DISK_HEAD + ASC_DISK_SUM) return ASC_FAIL(ctx, ASC_DATA_LOSS, "the head is cut short");
    if (asc_unpack_u32_at(bytes + 8) != ASC_DISK_VERSION)
        return ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "version %u of the format; this program reads %d",
                        (unsigned)asc_unpack_u32_at(bytes + 8), ASC_DISK_VERSION);
    const uint64_t n_build = asc_unpack_u32_at(bytes + 12), n_key = asc_unpack_u64_at(bytes + 16),
                   n_text = asc_unpack_u64_at(bytes + 24), n_nodes = asc_unpack_u64_at(bytes + 32),
                   n_recorded = asc_unpack_u64_at(bytes + 40);
    if (n_build >= ASC_DISK_MOST_BUILD || n_key > ASC_DISK_MOST_KEY || n_text > ASC_DISK_MOST_TEXT ||
        n_nodes > ASC_PROGRAM_MAX_NODES || n_recorded > ASC_PROGRAM_MAX_NODES || n_key < ASC_KEY_HEAD)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "a length is beyond its limit");
    const char *at = bytes + ASC_DISK_HEAD, *build = NULL, *text = NULL;
    size_t left = n - ASC_DISK_HEAD - ASC_DISK_SUM;
    if (!take(&at, &left, n_build, &build) || !take(&at, &left, n_key * 8, &out->key) ||
        !take(&at, &left, n_text, &text) || !take(&at, &left, n_nodes * 4, &out->origins))
        return ASC_FAIL(ctx, ASC_DATA_LOSS, "cut short at byte %zu", n);
    if (left != 0) return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%zu bytes too many", left);
    out->build = asc_view_make(build, (size_t)n_build);
    out->text = asc_view_make(text, (size_t)n_text);
    out->n_key = (size_t)n_key;
    out->n_nodes = (size_t)n_nodes;
    out->n_recorded = (size_t)n_recorded;
    out->compile_ns = asc_unpack_u64_at(bytes + 48);
    if (sum && !asc_unpack_sum_fits(bytes, n))
        return ASC_FAIL(ctx, ASC_DATA_LOSS, "the checksum is not that of the contents");
    return ASC_OK;
}

static bool same_key(const asc_disk_parts *f, const uint64_t *key, size_t n_key) {
    if (f->n_key != n_key) return false;
    for (size_t i = 0; i < n_key; i++) {
        if (asc_unpack_u64_at(f->key + 8 * i) != key[i]) return false;
    }
    return true;
}

static bool same_value(const asc_node *n, const asc_key_node *k) {
    return n->dtype == k->dtype && asc_shape_eq(&n->shape, &k->shape);
}

/* The program's ends must be those of the recording: inputs are its leaves, scalars come from ops of the same
 * kind, outputs have its outputs' types and shapes. nodes: the key, node by node. */
static asc_status check_ends(asc_ctx *ctx, const asc_program *p, const asc_key_node *nodes, size_t n,
                             const uint64_t *outputs, size_t n_outputs) {
    for (size_t i = 0; i < p->n_nodes; i++) {
        const asc_node *node = &p->nodes[i];
        if (node->origin < 1 || (size_t)node->origin > n)
            return ASC_FAIL(ctx, ASC_DATA_LOSS, "node %zu comes from no recorded node", i);
        const asc_key_node *from = &nodes[node->origin - 1];
        if (node->op == NULL && (from->opcode != -1 || !same_value(node, from)))
            return ASC_FAIL(ctx, ASC_DATA_LOSS, "input %zu is no input of what was recorded", i);
        bool scalar = false;
        for (int k = 0; node->op != NULL && k < node->op->n_attrs; k++)
            scalar = scalar || node->op->attrs[k].kind == ASC_ATTR_SCALAR;
        if (scalar && from->opcode != node->op->opcode)
            return ASC_FAIL(ctx, ASC_DATA_LOSS, "node %zu takes its number from another op", i);
    }
    if (p->n_outputs != n_outputs) return ASC_FAIL(ctx, ASC_DATA_LOSS, "another number of outputs");
    for (size_t i = 0; i < n_outputs; i++) {
        const uint64_t at = outputs[i];
        if (at >= n || !same_value(&p->nodes[p->outputs[i]], &nodes[at]))
            return ASC_FAIL(ctx, ASC_DATA_LOSS, "output %zu has another type or shape", i);
    }
    return ASC_OK;
}

static asc_status check_program(asc_ctx *ctx, const asc_program *p, const uint64_t *key) {
    const size_t n = (size_t)(uint32_t)key[2], n_outputs = (size_t)(key[2] >> 32);
    asc_key_node *nodes = asc_calloc(ctx, ASC_MEM_PROGRAM, n + 1, sizeof *nodes);
    uint64_t *outputs = asc_calloc(ctx, ASC_MEM_PROGRAM, n_outputs + 1, sizeof *outputs);
    asc_status st = nodes == NULL || outputs == NULL ? ASC_RESOURCE_EXHAUSTED : ASC_OK;
    if (st == ASC_OK) {
        const uint64_t *at = key + ASC_KEY_HEAD;
        for (size_t i = 0; i < n; i++) at = asc_key_read(at, &nodes[i]);
        for (size_t i = 0; i < n_outputs; i++) outputs[i] = at[i];
        st = check_ends(ctx, p, nodes, n, outputs, n_outputs);
    }
    asc_free(ctx, nodes);
    asc_free(ctx, outputs);
    return st;
}

asc_status asc_disk_unpack(asc_ctx *ctx, const char *bytes, size_t n, const uint64_t *key, size_t n_key,
                           asc_exe **out) {
    char build[ASC_DISK_MOST_BUILD];
    asc_disk_parts f;
    asc_program p;
    *out = NULL;
    asc_program_init(&p, ctx);
    asc_status st = asc_disk_read_parts(ctx, bytes, n, true, &f);
    if (st != ASC_OK) goto done;
    asc_disk_build_text(ctx, build);
    if (!asc_view_eqs(f.build, build) || !same_key(&f, key, n_key)) {
        st = ASC_FAIL(ctx, ASC_NOT_FOUND, "the program of another build or recording");
        goto done;
    }
    ASC_TRY(asc_program_parse(ctx, f.text, &p));
    if (p.n_nodes != f.n_nodes || f.n_recorded != (size_t)(uint32_t)key[2]) {
        st = ASC_FAIL(ctx, ASC_DATA_LOSS, "%zu nodes, and origins of %zu", p.n_nodes, f.n_nodes);
        goto done;
    }
    for (size_t i = 0; i < p.n_nodes; i++) {
        const uint32_t from = asc_unpack_u32_at(f.origins + 4 * i);
        p.nodes[i].origin = from <= ASC_PROGRAM_MAX_NODES ? (int32_t)from : 0;
    }
    ASC_TRY(check_program(ctx, &p, key));
    st = asc_exe_of_program(ctx, &p, out);
done:
    asc_program_deinit(&p);
    return st;
}
