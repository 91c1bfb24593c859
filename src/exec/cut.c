/* cut.c - turns recorded ops into an executable and runs it: the single end of every mode.
 * A cut computes the values asked for and nothing else; values in between are dropped after their last use
 * (the plan knows it) and would be computed again if someone asked later.
 *
 * What was recorded is written down as a key first. Only when the cache has no executable for it is a program
 * built. So a pattern seen before costs a walk over the graph and the pointers of its inputs and outputs, and
 * no allocation but that of the outputs; everything else lives in the context and is used again. */
#include "ascribe/stats.h"
#include "cache.h"
#include "disk.h"
#include "debug.h"
#include "follow.h"
#include "profile.h"
#include "replay_file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Passes that are off where ops run one by one: all. One op gains nothing from them. */
static const uint64_t ONE_BY_ONE = UINT64_MAX;

static asc_status room_for(asc_ctx *ctx, void *array, size_t *cap, size_t need, size_t size) {
    return need <= *cap ? ASC_OK : asc_grow(ctx, ASC_MEM_PROGRAM, array, cap, need, size);
}

/* ---- which nodes ---- */

static int by_id(const void *a, const void *b) {
    const asc_tensor *x = *(asc_tensor *const *)a, *y = *(asc_tensor *const *)b;
    return (x->id > y->id) - (x->id < y->id);
}

/* Order of recording. What was recorded lately has nearly consecutive numbers: a table by number beats a
 * sort. Weights and other old leaves come first and are sorted. */
static asc_status sort_nodes(asc_ctx *ctx, asc_cut_room *r) {
    uint64_t low = UINT64_MAX, high = 0;
    size_t n_old = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (r->nodes[i]->buf == NULL && r->nodes[i]->id < low) low = r->nodes[i]->id;
        if (r->nodes[i]->id > high) high = r->nodes[i]->id;
    }
    if (high - low >= 8 * r->n + 1024) {
        qsort(r->nodes, r->n, sizeof *r->nodes, by_id);
        return ASC_OK;
    }
    size_t span = (size_t)(high - low) + 1;
    asc_status st = room_for(ctx, &r->stack, &r->cap_stack, span, sizeof *r->stack);
    if (st != ASC_OK) return st;
    memset(r->stack, 0, span * sizeof *r->stack);
    for (size_t i = 0; i < r->n; i++) {
        asc_tensor *t = r->nodes[i];
        if (t->id < low) {
            r->nodes[n_old++] = t;
        } else {
            r->stack[t->id - low] = t;
        }
    }
    qsort(r->nodes, n_old, sizeof *r->nodes, by_id);
    for (size_t i = 0, k = n_old; i < span; i++) {
        if (r->stack[i] != NULL) r->nodes[k++] = r->stack[i];
    }
    return ASC_OK;
}

/* What ts need and has no value yet, and the values it reads. */
static asc_status collect(asc_ctx *ctx, asc_cut_room *r, asc_tensor *const *ts, size_t n) {
    int mark = ++asc_graph_of(ctx)->mark;
    size_t top = 0;
    asc_status st = ASC_OK;
    r->n = 0;
    ASC_TRY(room_for(ctx, &r->stack, &r->cap_stack, n + ASC_MAX_IN, sizeof *r->stack));
    for (size_t i = 0; i < n; i++) {
        if (ts[i]->mark == mark || ts[i]->buf != NULL) continue;
        ts[i]->mark = mark;
        r->stack[top++] = ts[i];
    }
    while (top > 0) {
        asc_tensor *t = r->stack[--top];
        ASC_TRY(room_for(ctx, &r->nodes, &r->cap_nodes, r->n + 1, sizeof *r->nodes));
        r->nodes[r->n++] = t;
        if (t->buf != NULL) continue;
        ASC_TRY(room_for(ctx, &r->stack, &r->cap_stack, top + ASC_MAX_IN, sizeof *r->stack));
        for (int k = 0; k < t->n_in; k++) {
            if (t->in[k]->mark == mark) continue;
            t->in[k]->mark = mark;
            r->stack[top++] = t->in[k];
        }
    }
    if (r->n > 0) ASC_TRY(sort_nodes(ctx, r));
done:
    return st;
}

/* The same for one op whose inputs have values: no walk. */
static asc_status collect_one(asc_ctx *ctx, asc_cut_room *r, asc_tensor *t) {
    int mark = ++asc_graph_of(ctx)->mark;
    asc_status st = room_for(ctx, &r->nodes, &r->cap_nodes, ASC_MAX_IN + 1, sizeof *r->nodes);
    r->n = 0;
    for (int k = 0; st == ASC_OK && k < t->n_in; k++) {
        if (t->in[k]->mark == mark) continue;
        t->in[k]->mark = mark;
        r->nodes[r->n++] = t->in[k];
    }
    if (st == ASC_OK) r->nodes[r->n++] = t;
    return st;
}

/* ---- what they are ---- */

/* Numbers the nodes, lists the outputs and writes the key. */
static asc_status write_key(asc_ctx *ctx, asc_cut_room *r, asc_tensor *const *ts, size_t n, uint64_t off) {
    asc_runtime *rt = asc_runtime_of(ctx);
    int seen = ++rt->graph.mark;
    asc_status st = ASC_OK;
    ASC_TRY(room_for(ctx, &r->outs, &r->cap_outs, n, sizeof *r->outs));
    ASC_TRY(room_for(ctx, &r->key, &r->cap_key, ASC_KEY_HEAD + n + r->n * 8, sizeof *r->key));
    r->n_key = ASC_KEY_HEAD;
    for (size_t i = 0; i < r->n; i++) {
        r->nodes[i]->slot = (int)i;
        ASC_TRY(room_for(ctx, &r->key, &r->cap_key, r->n_key + ASC_KEY_NODE_MOST, sizeof *r->key));
        r->n_key += asc_key_write(rt, r->nodes[i], r->key + r->n_key);
    }
    r->n_outs = 0;
    ASC_TRY(room_for(ctx, &r->key, &r->cap_key, r->n_key + n, sizeof *r->key));
    for (size_t i = 0; i < n; i++) {
        if (ts[i]->buf != NULL || ts[i]->mark == seen) continue;
        ts[i]->mark = seen;
        r->outs[r->n_outs++] = (asc_cut_out){.tensor = ts[i]};
        r->key[r->n_key++] = (uint64_t)ts[i]->slot;
    }
    r->key[0] = off;
    r->key[1] = rt->key_device;
    r->key[3] = rt->arena_bound;
    r->key[2] = r->n | (uint64_t)r->n_outs << 32;
done:
    return st;
}

asc_status asc_cut_collect(asc_ctx *ctx, asc_tensor *const *ts, size_t n) {
    asc_runtime *rt = asc_runtime_of(ctx);
    asc_status st = collect(ctx, &rt->room, ts, n);
    return st == ASC_OK ? write_key(ctx, &rt->room, ts, n, rt->passes_off) : st;
}

asc_status asc_cut_build(asc_ctx *ctx, asc_program *out) {
    const asc_cut_room *r = &asc_runtime_of(ctx)->room;
    if (r->n > ASC_PROGRAM_MAX_NODES)
        return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "a program holds at most %d nodes",
                        ASC_PROGRAM_MAX_NODES);
    for (size_t i = 0; i < r->n; i++) {
        asc_tensor *t = r->nodes[i];
        asc_node n = {.dtype = t->dtype, .shape = t->shape};
        n.label = asc_label_intern(ctx, t->label); /* the program may outlive what named it */
        if (t->buf == NULL) {
            n.op = t->op;
            n.attrs = t->attrs;
            n.level = t->level;
            n.many_rows = t->many_rows;
            n.n_in = t->n_in;
            for (int k = 0; k < t->n_in; k++) n.in[k] = t->in[k]->slot;
        }
        if (asc_program_add(out, &n) < 0) return ASC_RESOURCE_EXHAUSTED;
    }
    asc_status st = ASC_OK;
    for (size_t i = 0; st == ASC_OK && i < r->n_outs; i++)
        st = asc_program_output(out, r->outs[i].tensor->slot);
    return st;
}

static asc_status frozen(asc_ctx *ctx) {
    ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "the context is frozen, and a program is not in its cache: %s",
             asc_exec_cache_why(ctx, 0));
    return asc_hint(ctx, "run it once before asc_exec_freeze, or without ASC_FREEZE=1");
}

/* The executable for what was collected, from the cache or made. */
static asc_status executable(asc_ctx *ctx, asc_cut_room *r, uint64_t off, asc_cache_entry **out) {
    asc_runtime *rt = asc_runtime_of(ctx);
    uint64_t hash = asc_key_hash(r->key, r->n_key);
    asc_program p;
    asc_exe *e = NULL;
    *out = asc_cache_find(rt, r->key, r->n_key, hash);
    if (*out != NULL) return ASC_OK;
    e = asc_disk_load(ctx, r->key, r->n_key);
    if (e != NULL) {
        asc_status kept = asc_cache_add(ctx, r->key, r->n_key, hash, e, out);
        if (kept == ASC_OK) (*out)->stored = true;
        return kept;
    }
    asc_cache_explain(ctx, r->key, r->nodes);
    if (rt->debug > 0) asc_logf(ctx, ASC_LOG_DEBUG, "cache miss: %s", asc_exec_cache_why(ctx, 0));
    if (rt->cache.frozen) return frozen(ctx);
    asc_program_init(&p, ctx);
    asc_status st = asc_cut_build(ctx, &p);
    if (st != ASC_OK) {
        asc_program_deinit(&p);
        return st;
    }
    st = asc_exe_make(ctx, &p, off, &e);
    if (st != ASC_OK) return st;
    rt->stats.compile_ns += e->compile_ns;
    return asc_cache_add(ctx, r->key, r->n_key, hash, e, out);
}

/* ---- running ---- */

/* Buffers of the outputs, attached to their tensors only after the run; scalars; inputs. */
static asc_status bind(asc_ctx *ctx, asc_cut_room *r, asc_exe *e) {
    for (size_t i = 0; i < e->n_inputs; i++)
        e->data[e->input_node[i]] = r->nodes[e->input_from[i]]->buf->data;
    for (size_t i = 0; i < e->n_scalars; i++) {
        const asc_exe_scalar *s = &e->scalars[i];
        e->program.nodes[s->node].attrs.f[s->slot] = r->nodes[s->from]->attrs.f[s->slot];
    }
    for (size_t i = 0; i < r->n_outs; i++) {
        const asc_node *node = &e->program.nodes[e->program.outputs[i]];
        asc_buffer *b;
        if (node->op == NULL) { /* the passes found that it is an input */
            b = r->nodes[node->origin - 1]->buf;
            asc_buffer_retain(b);
        } else if (e->output_like[i] >= 0) {
            b = r->outs[e->output_like[i]].buf;
            asc_buffer_retain(b);
        } else {
            b = asc_buffer_make(ctx, ASC_MEM_ACTIVATIONS, node->dtype, asc_shape_elems(&node->shape));
            if (b == NULL) return ASC_RESOURCE_EXHAUSTED;
            e->data[e->program.outputs[i]] = b->data;
        }
        r->outs[i].buf = b;
    }
    return ASC_OK;
}

/* The executable may come from ops of the same structure elsewhere: the names are those of the ops at hand.
 */
static void relabel(asc_ctx *ctx, const asc_cut_room *r, asc_exe *e) {
    for (size_t i = 0; i < e->program.n_nodes; i++) {
        asc_node *n = &e->program.nodes[i];
        const asc_tensor *t = r->nodes[n->origin - 1];
        if (n->op == NULL && t->op != NULL) { /* a value of an earlier cut: what made it */
            char text[256];
            snprintf(text, sizeof text, "%.200s%s%s", t->label != NULL ? t->label : "",
                     t->label != NULL ? ": " : "", t->op->name);
            n->label = asc_label_intern(ctx, text);
        } else {
            const bool same = n->label != NULL && t->label != NULL && strcmp(n->label, t->label) == 0;
            if (!same) n->label = asc_label_intern(ctx, t->label);
        }
    }
}

/* Saves the cut at hand: one that failed, or the one that was asked for. */
static void save(asc_ctx *ctx, const asc_cut_room *r, bool failed) {
    asc_program p;
    const asc_error error = ctx->error;
    asc_program_init(&p, ctx);
    asc_status st = asc_cut_build(ctx, &p);
    void **data = st == ASC_OK ? asc_calloc(ctx, ASC_MEM_PROGRAM, p.n_nodes + 1, sizeof *data) : NULL;
    for (size_t i = 0; data != NULL && i < p.n_nodes; i++) {
        if (p.nodes[i].op == NULL) data[i] = r->nodes[i]->buf->data;
    }
    for (size_t i = 0; data != NULL && !failed && i < r->n_outs; i++)
        data[p.outputs[i]] = r->outs[i].buf->data;
    ctx->error = error;
    if (data != NULL && failed) asc_replay_of_failure(ctx, &p, data);
    if (data != NULL && !failed) asc_replay_of_cut(ctx, &p, data);
    asc_free(ctx, data);
    asc_program_deinit(&p);
}

static asc_status run(asc_ctx *ctx, asc_cut_room *r, asc_cache_entry *entry, asc_cut_reason why) {
    asc_exe *e = entry->exe;
    asc_status st = bind(ctx, r, e);
    bool first = !e->prepared;
    uint64_t made = e->compile_ns;
    if (st == ASC_OK) st = asc_exe_begin(ctx, e);
    if (ctx->prof != NULL || asc_runtime_of(ctx)->debug > 0) relabel(ctx, r, e);
    if (st == ASC_OK) st = asc_exe_run(ctx, e, why);
    uint64_t *wanted = &asc_runtime_of(ctx)->replay_cut;
    if (st == ASC_OK && *wanted > 0 && --*wanted == 0) save(ctx, r, false);
    for (size_t i = 0; i < r->n_outs; i++) {
        if (st == ASC_OK) {
            r->outs[i].tensor->buf = r->outs[i].buf;
        } else {
            asc_buffer_release(ctx, r->outs[i].buf);
        }
    }
    if (first) { /* the device's code counts */
        if (st == ASC_OK && !entry->stored)
            asc_disk_store(ctx, entry->key, entry->n_key, e, asc_exec_cache_why(ctx, 0));
        entry->stored = true;
        asc_runtime_of(ctx)->stats.compile_ns += e->compile_ns - made;
        asc_cache_recount(ctx, entry);
        asc_cache_shrink(ctx, NULL);
    }
    return st;
}

static bool has_inputs(const asc_tensor *t) {
    for (int k = 0; k < t->n_in; k++) {
        if (t->in[k]->buf == NULL) return false;
    }
    return t->buf == NULL;
}

asc_status asc_exec_cut(asc_ctx *ctx, asc_tensor *const *ts, size_t n, asc_cut_reason why) {
    asc_runtime *rt = asc_runtime_of(ctx);
    asc_cut_room *r = &rt->room;
    asc_cache_entry *entry;
    bool one = why == ASC_CUT_EAGER && n == 1 && has_inputs(ts[0]);
    asc_prof_mark m = asc_prof_begin(ctx);
    uint64_t off = one ? ONE_BY_ONE : rt->passes_off;
    asc_status st = one ? collect_one(ctx, r, ts[0]) : collect(ctx, r, ts, n);
    if (st != ASC_OK || r->n == 0) return st;
    st = write_key(ctx, r, ts, n, off);
    if (st == ASC_OK) st = executable(ctx, r, off, &entry);
    if (st == ASC_OK) st = run(ctx, r, entry, why);
    if (rt->debug > 0)
        asc_logf(ctx, ASC_LOG_DEBUG, "cut (%s): %zu nodes, %zu values: %s", asc_cut_reason_name(why), r->n,
                 r->n_outs, st == ASC_OK ? "done" : ctx->error.message);
    if (st != ASC_OK && (rt->debug > 0 || rt->replay_path[0] != '\0')) save(ctx, r, true);
    asc_prof_end(ctx, m, ASC_PROF_CUT, asc_cut_reason_name(why), NULL);
    rt->pending_nodes = 0;
    return st;
}

asc_status asc_cut_rehearsed(asc_ctx *ctx, asc_tensor *const *ts, size_t n, asc_exe **out) {
    const asc_graph *g = asc_graph_of(ctx);
    asc_cut_room *r = &asc_runtime_of(ctx)->room;
    asc_cache_entry *entry;
    const size_t first = g->n_scopes > 0 ? g->scope_start[g->n_scopes - 1] : 0;
    *out = NULL;
    asc_status st = collect(ctx, r, g->owned + first, g->n_owned - first);
    if (st != ASC_OK || r->n == 0 || r->n > ASC_PROGRAM_MAX_NODES) return st;
    for (size_t i = 0; i < n; i++) {
        if (ts[i]->buf == NULL && ts[i]->mark != g->mark) return ASC_OK; /* recorded elsewhere */
    }
    st = write_key(ctx, r, ts, n, ONE_BY_ONE);
    if (st == ASC_OK) st = executable(ctx, r, ONE_BY_ONE, &entry);
    if (st != ASC_OK) return st;
    asc_exe *e = entry->exe;
    if (e->program.n_nodes != r->n) return ASC_OK; /* another level of products made other ops of it */
    if (!e->prepared) {
        st = asc_exe_prepare(ctx, e);
        if (st == ASC_OK) asc_cache_recount(ctx, entry);
        if (st == ASC_OK) asc_cache_shrink(ctx, entry);
    }
    if (st == ASC_OK && ctx->prof != NULL) relabel(ctx, r, e);
    if (st == ASC_OK) *out = e;
    return st;
}

asc_status asc_exec_price(asc_ctx *ctx, asc_tensor *const *ts, size_t n, asc_plan *out) {
    asc_runtime *rt = asc_runtime_of(ctx);
    asc_cut_room *r = &rt->room;
    asc_cache_entry *entry;
    *out = (asc_plan){0};
    const uint64_t off = asc_follow_plans(ctx) ? ONE_BY_ONE : rt->passes_off;
    asc_status st = asc_graph_take_error(asc_graph_of(ctx));
    if (st == ASC_OK) st = collect(ctx, r, ts, n);
    if (st == ASC_OK) st = write_key(ctx, r, ts, n, off);
    if (st != ASC_OK || r->n == 0) return st;
    st = executable(ctx, r, off, &entry);
    if (st == ASC_OK) *out = entry->exe->plan;
    out->slots = NULL;
    return st;
}

asc_status asc_exec_text(asc_ctx *ctx, asc_tensor *const *ts, size_t n, asc_strbuf *out) {
    asc_runtime *rt = asc_runtime_of(ctx);
    asc_cut_room *r = &rt->room;
    asc_cache_entry *entry;
    asc_status st = asc_cut_collect(ctx, ts, n);
    if (st != ASC_OK || r->n == 0) return st;
    st = executable(ctx, r, rt->passes_off, &entry);
    if (st == ASC_OK) asc_program_print(&entry->exe->program, out);
    return st != ASC_OK ? st : asc_strbuf_status(out);
}

void asc_cut_room_deinit(asc_ctx *ctx, asc_cut_room *r) {
    asc_free(ctx, r->nodes);
    asc_free(ctx, r->stack);
    asc_free(ctx, r->key);
    asc_free(ctx, r->outs);
    *r = (asc_cut_room){0};
}
