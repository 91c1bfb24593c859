/* budget.c - see budget.h. Every prediction is that of the very programs that run afterwards: they are
 * planned with stand-ins for their inputs, and kept. */
#include "budget.h"
#include "adaptive.h"
#include "blockwise.h"
#include "estimate.h"
#include "exec.h"
#include "site_path.h"
#include "target.h"
#include "trie_values.h"
#include <string.h>

/* Rows a batch needs before a wider one stops paying (docs/SPEED.md, GEMM): more only makes the plan larger.
 */
enum { ENOUGH_ROWS = 512 };
static const size_t DEFAULT_MEMORY = (size_t)400 << 20;

size_t asc_request_limit(const asc_ctx *ctx, const asc_request *q) {
    /* A bound that was given holds for everything. The default one is for what the job adds: weights that are
     * kept expanded, as every device but cpu does, are there before it. */
    return q->memory_bytes > 0 ? q->memory_bytes
                               : asc_price_plus(DEFAULT_MEMORY, ctx->mem.live_bytes[ASC_MEM_WEIGHTS]);
}

size_t asc_job_limit(const asc_job *j) { return asc_request_limit(j->ctx, j->req); }

bool asc_pass_is_backward(asc_pass_kind kind) {
    return kind != ASC_PASS_VALUES && kind != ASC_PASS_POINTS && kind != ASC_PASS_SITE_VALUES;
}

static bool looks_inside(asc_pass_kind kind) { return kind > ASC_PASS_GRADIENT; }

/* Largest blocks of a sequence of programs; outputs of the second come on top of those held. */
static void then(asc_price *sum, const asc_price *next, size_t held) {
    if (next->arena_bytes > sum->arena_bytes) sum->arena_bytes = next->arena_bytes;
    if (next->scratch_bytes > sum->scratch_bytes) sum->scratch_bytes = next->scratch_bytes;
    if (asc_price_plus(held, next->output_bytes) > sum->output_bytes)
        sum->output_bytes = asc_price_plus(held, next->output_bytes);
    sum->cost.flops += next->cost.flops;
    sum->cost.bytes_read += next->cost.bytes_read;
    sum->cost.bytes_written += next->cost.bytes_written;
    sum->program_bytes += next->program_bytes;
    sum->code_bytes += next->code_bytes;
}

/* The points of a path, made by themselves and held, and what becomes of the gradient there. */
static asc_status around_blocks(asc_job *j, asc_tensor *const *leaves, asc_price *before, asc_price *after) {
    asc_ctx *ctx = j->ctx;
    asc_tensor *points = asc_record_points(j, leaves[0], leaves[1], leaves[2]);
    asc_status st = asc_price_of(ctx, &points, 1, before);
    if (st != ASC_OK) return st;
    asc_tensor *grad = asc_price_leaf(ctx, ASC_DTYPE_F32, points->shape),
               *parts = asc_record_parts(j, grad, leaves[0], leaves[1]);
    return asc_price_of(ctx, &parts, 1, after);
}

static asc_status need_blocks(asc_job *j, asc_pass_kind kind, size_t len, size_t b, size_t keep_every,
                              asc_tensor *const *leaves, asc_price *out) {
    asc_ctx *ctx = j->ctx;
    asc_price before = {0}, after = {0}, walk;
    asc_status st = ASC_OK;
    *out = (asc_price){0};
    if (kind == ASC_PASS_PATH) {
        st = around_blocks(j, leaves, &before, &after);
    } else {
        asc_tensor *x = asc_record_prompts(j, leaves[0]);
        st = asc_price_of(ctx, &x, 1, &before);
    }
    if (st == ASC_OK) st = asc_blockwise_price(j, b, len, keep_every, &walk);
    if (st != ASC_OK) return st;
    then(out, &before, 0);
    then(out, &walk, before.output_bytes);
    then(out, &after, asc_price_plus(before.output_bytes, before.output_bytes));
    return ASC_OK;
}

static asc_status need_plain(asc_job *j, asc_pass_kind kind, asc_tensor *const *leaves, asc_price *out) {
    bool path = kind == ASC_PASS_POINTS || kind == ASC_PASS_PATH, backward = asc_pass_is_backward(kind);
    asc_tensor *ts[ASC_SITE_OUTS] = {NULL, NULL, NULL};
    if (looks_inside(kind)) return asc_price_of(j->ctx, ts, asc_record_site_pass(j, kind, leaves, ts), out);
    asc_tensor *x =
        path ? asc_record_points(j, leaves[0], leaves[1], leaves[2]) : asc_record_prompts(j, leaves[0]);
    ts[0] = asc_record_scalar(j, x, backward ? &ts[1] : NULL, &ts[2]);
    if (kind == ASC_PASS_PATH) ts[1] = asc_record_parts(j, ts[1], leaves[0], leaves[1]);
    size_t n = kind == ASC_PASS_GRADIENT ? 3 : backward ? 2 : 1;
    return asc_price_of(j->ctx, ts, n, out);
}

asc_status asc_job_need(asc_job *j, asc_pass_kind kind, size_t len, size_t b, size_t keep_every,
                        asc_price *out) {
    asc_ctx *ctx = j->ctx;
    int64_t n = (int64_t)b, p = (int64_t)len, d = j->m->info.d_model;
    asc_tensor *leaves[ASC_SITE_LEAVES];
    asc_shape shapes[ASC_SITE_LEAVES];
    size_t held = 0;
    asc_scope_begin(ctx);
    asc_price_begin(ctx);
    if (looks_inside(kind)) {
        const size_t n_leaves = asc_site_leaves(j, kind, len, b, shapes);
        for (size_t i = 0; i < n_leaves; i++) {
            leaves[i] = asc_price_leaf(ctx, ASC_DTYPE_F32, shapes[i]);
            held += i + 1 < n_leaves ? asc_price_buffer(ctx, ASC_DTYPE_F32, &shapes[i]) : 0;
        }
    } else if (kind == ASC_PASS_VALUES || kind == ASC_PASS_GRADIENT) {
        leaves[0] = asc_price_leaf(ctx, ASC_DTYPE_I32, ASC_SHAPE(n, p));
        leaves[1] = leaves[2] = leaves[0];
        held = asc_price_buffer(ctx, ASC_DTYPE_I32, &leaves[0]->shape);
        if (kind == ASC_PASS_GRADIENT) held += (size_t)(2 * ASC_REDUCED_ROWS * d) * sizeof(double);
    } else {
        asc_shape rows = ASC_SHAPE(p, d);
        leaves[0] = asc_price_leaf(ctx, ASC_DTYPE_F32, rows);
        leaves[1] = asc_price_leaf(ctx, ASC_DTYPE_F32, rows);
        leaves[2] = asc_price_leaf(ctx, ASC_DTYPE_F32, ASC_SHAPE(n, 1, 1));
        held = 2 * asc_price_buffer(ctx, ASC_DTYPE_F32, &rows);
        if (kind == ASC_PASS_PATH) held += b * len * sizeof(double); /* the parts, read */
    }
    asc_status st = keep_every > 0 ? need_blocks(j, kind, len, b, keep_every, leaves, out)
                                   : need_plain(j, kind, leaves, out);
    asc_price_end(ctx);
    out->output_bytes = asc_price_plus(out->output_bytes, held);
    return asc_scope_close(ctx, st);
}

/* The smallest plan for one prompt over all ways to keep the blocks' inputs. */
static asc_status least(asc_job *j, asc_pass_kind kind, size_t len, size_t *keep_every, asc_price *best) {
    size_t n_layers = (size_t)j->m->info.n_layers, bytes = SIZE_MAX;
    for (size_t k = 2; k < n_layers; k++) {
        asc_price p;
        asc_status st = asc_job_need(j, kind, len, 1, k, &p);
        if (st != ASC_OK) return st;
        if (asc_price_total(&p) < bytes) {
            bytes = asc_price_total(&p);
            *best = p;
            *keep_every = k;
        }
        if (k * k > 4 * n_layers) break; /* it only grows from about the root on */
    }
    return ASC_OK;
}

/* Prompts a batch, at most `most`, such that batches are about equal: 17 prompts at 16 a batch run as 9 + 8.
 * Where up to a quarter more batches make all of them equal, so it is: 64 at 10 run as 8 times 8, which takes
 * one program and less memory, and not as 6 times 10 and 4. */
static size_t even_batch(size_t want, size_t most) {
    const size_t rounds = (want + most - 1) / most;
    for (size_t r = rounds; r <= rounds + rounds / 4; r++) {
        if (want % r == 0) return want / r;
    }
    return (want + rounds - 1) / rounds;
}

static size_t grown(size_t one, size_t two, size_t more) {
    size_t by;
    return two > one && asc_mul_size(two - one, more, &by) ? asc_price_plus(one, by) : one;
}

/* How many prompts fit `room` bytes in this way, when one takes *need; what all of them take. */
static asc_status fit(asc_job *j, asc_pass_kind kind, size_t len, size_t want, size_t room, asc_way *way,
                      asc_price *need) {
    const asc_price one = *need;
    asc_price two;
    size_t most = (ENOUGH_ROWS + len - 1) / len;
    if (most > want) most = want;
    way->batch = 1;
    if (most < 2) return ASC_OK;
    asc_status st = asc_job_need(j, kind, len, 2, way->keep_every, &two);
    if (st != ASC_OK) return st;
    size_t per = asc_price_total(&two) > asc_price_total(&one) ? asc_price_total(&two) - asc_price_total(&one)
                                                               : 1,
           more = (room - asc_price_total(&one)) / per;
    way->batch = more < most - 1 ? 1 + more : most;
    way->batch = even_batch(want, way->batch);
    need->arena_bytes = grown(one.arena_bytes, two.arena_bytes, way->batch - 1);
    need->scratch_bytes = grown(one.scratch_bytes, two.scratch_bytes, way->batch - 1);
    need->output_bytes = grown(one.output_bytes, two.output_bytes, way->batch - 1);
    need->code_bytes = grown(one.code_bytes, two.code_bytes, way->batch - 1);
    if (way->batch > 2) need->code_bytes += two.program_bytes; /* that of the whole batch is still to come */
    return ASC_OK;
}

/* What is live beside a pass; in a dry run also what a real run would hold. */
static size_t base_of(const asc_job *j) {
    size_t base = asc_price_base(j->ctx);
    if (j->estimate == NULL) return base;
    const asc_estimate *e = j->estimate;
    return asc_price_plus(base > e->probes ? base - e->probes : 0, asc_price_plus(e->prefix, e->held));
}

void asc_job_note_peak(asc_job *j, size_t bytes) {
    size_t before = asc_memory(j->ctx).peak_total, peak = asc_price_plus(bytes, base_of(j));
    if (j->estimate == NULL && before > peak) peak = before;
    if (peak > j->r->predicted_peak_bytes) j->r->predicted_peak_bytes = peak;
}

static size_t beyond(size_t have, size_t need) { return have > need ? have - need : 0; }

size_t asc_job_settle(asc_job *j, const asc_price *p, size_t beside) {
    asc_estimate *e = j->estimate;
    const size_t limit = asc_job_limit(j), bytes = asc_price_plus(asc_price_total(p), beside);
    const asc_price_idle left = e == NULL
                                    ? asc_price_left(j->ctx)
                                    : (asc_price_idle){.arena_bytes = e->arena, .scratch_bytes = e->scratch};
    size_t idle = beyond(left.arena_bytes, p->arena_bytes) + beyond(left.scratch_bytes, p->scratch_bytes) +
                  beyond(left.buffer_bytes, p->output_bytes);
    if (idle > 0 && asc_price_plus(base_of(j), asc_price_plus(bytes, idle)) > limit) {
        if (e == NULL) asc_exec_trim(j->ctx);
        if (e != NULL) e->arena = e->scratch = 0;
        idle = 0;
    }
    const size_t all = asc_price_plus(base_of(j), bytes);
    if (e == NULL && all > limit) asc_price_drop_programs(j->ctx, all - limit);
    return asc_price_plus(bytes, idle);
}

bool asc_job_drop_programs(asc_job *j) {
    enum { SPARE = 64 << 10 };
    const size_t before = asc_memory(j->ctx).live_bytes[ASC_MEM_PROGRAM];
    if (j->req->memory_bytes == 0) return false;
    asc_price_drop_programs(j->ctx, before);
    const size_t gone = before - asc_memory(j->ctx).live_bytes[ASC_MEM_PROGRAM];
    if (j->estimate != NULL) /* those of measurements are among them */
        j->estimate->probes = beyond(j->estimate->probes, gone),
        j->estimate->held = beyond(j->estimate->held, gone);
    return gone > SPARE;
}

size_t asc_job_room(const asc_job *j) {
    size_t base = base_of(j), limit = asc_job_limit(j);
    return limit > base ? limit - base : 0;
}

asc_status asc_job_too_small(asc_job *j, size_t len, size_t least_bytes) {
    size_t bytes = asc_price_plus(base_of(j), least_bytes);
    ASC_FAIL(j->ctx, ASC_RESOURCE_EXHAUSTED, "one prompt of %zu tokens needs %zu bytes; the bound is %zu",
             len, bytes, asc_job_limit(j));
    return asc_hint(j->ctx, "raise --memory to at least %zuM", (bytes >> 20) + 1);
}

/* The way for one prompt that fits, the plainest first; or, when none does, the smallest. */
static asc_status choose(asc_job *j, asc_pass_kind kind, size_t len, size_t *keep_every, asc_price *need) {
    asc_price p, smallest;
    size_t every = 1;
    *keep_every = 0;
    asc_status st = asc_job_need(j, kind, len, 1, 0, need);
    if (st != ASC_OK || asc_price_total(need) <= asc_job_room(j) || !asc_pass_is_backward(kind) ||
        looks_inside(kind) || j->encoder != NULL || j->neuron.on)
        return st;
    smallest = *need;
    st = asc_job_need(j, kind, len, 1, 1, &p);
    if (st == ASC_OK && asc_price_total(&p) > asc_job_room(j)) {
        if (asc_price_total(&p) < asc_price_total(&smallest)) smallest = p;
        st = least(j, kind, len, &every, &p);
    }
    *keep_every = every;
    *need = asc_price_total(&p) < asc_price_total(&smallest) || asc_price_total(&p) <= asc_job_room(j)
                ? p
                : smallest;
    return st;
}

size_t asc_job_records(const asc_job *j) {
    enum { EVALUATIONS = 2000 }; /* without --max-evaluations */
    const asc_result *r = j->r;
    const size_t n = j->req->max_evaluations > 0 ? j->req->max_evaluations : EVALUATIONS;
    if (r->rule == NULL || strcmp(r->rule, "adaptive") != 0) return 0;
    return asc_adaptive_bytes(r->n_prompt, n);
}

/* The least bound is that of the method's gradients, when this is a forward pass before them. */
static asc_status refuse(asc_job *j, asc_pass_kind kind, size_t len, size_t bytes) {
    static const size_t PROGRAMS = (size_t)1 << 20; /* those that will have been run by then */
    size_t unused, more = 0;
    asc_price p;
    if (j->method->by_gradient && !asc_pass_is_backward(kind)) {
        asc_status st = choose(j, ASC_PASS_PATH, len, &unused, &p);
        if (st != ASC_OK) return st;
        more = asc_price_plus(asc_price_plus(asc_price_total(&p), 2 * p.program_bytes),
                              asc_price_plus(PROGRAMS, asc_job_records(j)));
    } else if (!j->method->by_gradient && j->encoder == NULL) { /* tries of perturbed prompts */
        asc_status st = asc_trie_least(j, len, &more);
        if (st != ASC_OK) return st;
    }
    const size_t records = asc_job_records(j);
    if (records > 0 && asc_pass_is_backward(kind))
        bytes = asc_price_plus(bytes, asc_price_plus(PROGRAMS, records));
    return asc_job_too_small(j, len, bytes > more ? bytes : more);
}

asc_status asc_job_batch(asc_job *j, asc_pass_kind kind, size_t len, size_t want, asc_way *out) {
    asc_price need;
    *out = (asc_way){.batch = 1};
    asc_status st = choose(j, kind, len, &out->keep_every, &need);
    if (st != ASC_OK) return st;
    if (asc_price_total(&need) > asc_job_room(j) && asc_job_drop_programs(j))
        st = choose(j, kind, len, &out->keep_every, &need);
    if (st != ASC_OK) return st;
    size_t room = asc_job_room(j);
    if (asc_price_total(&need) > room) return refuse(j, kind, len, asc_price_total(&need));
    const size_t program = need.program_bytes;
    st = fit(j, kind, len, want, room, out, &need);
    if (st != ASC_OK) return st;
    if (want % out->batch > 0)
        need.code_bytes = asc_price_plus(need.code_bytes, program); /* of the last ones */
    const size_t bytes = asc_job_settle(j, &need, 0);
    if (j->estimate == NULL) asc_job_note_peak(j, bytes); /* else noted when it is counted */
    if (out->batch > j->r->prompts_per_pass) j->r->prompts_per_pass = out->batch;
    if (asc_pass_is_backward(kind)) j->r->keep_every = out->keep_every;
    return ASC_OK;
}
