/* trie_values.c - see trie_values.h. */
#include "trie_values.h"
#include "estimate.h"
#include "exec.h"
#include "neuron.h"
#include "profile.h"
#include "rehearse.h"
#include "target.h"
#include <math.h>

/* Tokens of a pass: fewer make less of the weights, which are expanded once a pass; more only make the
 * activations larger (docs/SPEED.md). */
enum { ENOUGH_TOKENS = 1024, FEWEST_TOKENS = 16, STEP = 16, PROGRAMS = 1 << 20 };

static size_t bytes_of(const asc_trie_plan *plan) {
    const size_t programs = (plan->look.shapes - 1) * plan->need.program_bytes; /* one is there already */
    return asc_price_plus(asc_price_total(&plan->need), asc_price_plus(plan->store_bytes, programs));
}

static asc_packed largest(asc_job *j, const asc_trie_plan *plan) {
    const asc_trie_survey *s = &plan->look;
    return (asc_packed){.j = j,
                        .n = s->n,
                        .tail = s->tail,
                        .past = s->past,
                        .n_layers = s->n_layers,
                        .whole = plan->whole,
                        .keep = s->past > 0};
}

/* What the largest pass needs, without running it. */
static asc_status price(asc_job *j, asc_trie_plan *plan) {
    asc_ctx *ctx = j->ctx;
    const int64_t n_blocks = asc_neuron_blocks(j);
    asc_packed x = largest(j, plan);
    asc_kv *store = NULL;
    asc_scope_begin(ctx);
    asc_price_begin(ctx);
    asc_status st = asc_packed_store(j, x.past, 0, n_blocks, true, &store);
    x.store = store;
    if (st == ASC_OK) st = asc_packed_leaves(&x, NULL);
    if (st == ASC_OK) st = asc_packed_record(&x);
    if (st == ASC_OK) {
        const bool prepares = asc_price_prepares(ctx, true); /* it will run: so this is all it takes */
        st = asc_price_of(ctx, x.results, x.n_results, &plan->need);
        (void)asc_price_prepares(ctx, prepares);
    }
    asc_price_end(ctx);
    plan->store_bytes = 0;
    if (st == ASC_OK && store != NULL && n_blocks > 0)
        plan->store_bytes = 2 * (size_t)n_blocks * asc_price_buffer(ctx, ASC_DTYPE_F32, &store[0].k->shape);
    asc_packed_deinit(&x);
    asc_free(ctx, store);
    return asc_scope_close(ctx, st);
}

static asc_status look(asc_job *j, const asc_trie *t, size_t most, bool store, asc_trie_plan *plan) {
    plan->most = most;
    plan->store = store;
    asc_status st = asc_trie_look(t, most, store, &plan->look);
    return st == ASC_OK ? price(j, plan) : st;
}

asc_status asc_trie_least(asc_job *j, size_t len, size_t *bytes) {
    enum { SHAPES = 4 }; /* with answers, without, the last one, and a shorter tail */
    asc_answer answers[2];
    (void)asc_job_answers(j, answers);
    const size_t all = len + answers[0].n, n = all < FEWEST_TOKENS ? all : FEWEST_TOKENS;
    asc_trie_plan plan = {.most = n, .store = true, .whole = all};
    plan.look = (asc_trie_survey){.n = n, .tail = n, .n_layers = 1, .past = all, .shapes = SHAPES};
    asc_status st = price(j, &plan);
    *bytes = asc_price_plus(bytes_of(&plan), PROGRAMS);
    return st;
}

/* out: 0, or the least bytes that would do. Passes as large as memory allows; equal ones, so that they are
 * one program. Where keys and values of a sequence do not fit, passes of whole sequences that share only
 * among themselves. */
static asc_status fit(asc_job *j, const asc_trie *t, asc_trie_plan *plan, size_t *out) {
    const size_t room = asc_job_room(j);
    size_t least = SIZE_MAX;
    asc_status st = ASC_OK;
    *out = 0;
    for (size_t most = j->most_tokens > 0 ? j->most_tokens : ENOUGH_TOKENS; most >= FEWEST_TOKENS;
         most /= 2) {
        ASC_TRY(asc_trie_look(t, most, true, &plan->look));
        size_t even = (plan->look.tokens + plan->look.passes - 1) / plan->look.passes;
        ASC_TRY(look(j, t, (even + STEP - 1) / STEP * STEP, true, plan));
        if (bytes_of(plan) <= room) return ASC_OK;
        if (bytes_of(plan) < least) least = bytes_of(plan);
    }
    ASC_TRY(look(j, t, t->longest, false, plan));
    if (bytes_of(plan) <= room) return ASC_OK;
    *out = bytes_of(plan) < least ? bytes_of(plan) : least;
done:
    return st;
}

static asc_status choose(asc_job *j, const asc_trie *t, asc_trie_plan *plan) {
    size_t least, later; /* later: of other prompts, which may be more of them */
    if (asc_memory(j->ctx).live_bytes[ASC_MEM_PROGRAM] > asc_job_limit(j) / 8) (void)asc_job_drop_programs(j);
    asc_status st = fit(j, t, plan, &least);
    if (st == ASC_OK && least > 0 && asc_job_drop_programs(j)) st = fit(j, t, plan, &least);
    if (st != ASC_OK || least == 0) return st;
    st = asc_trie_least(j, t->longest, &later);
    return st != ASC_OK ? st : asc_job_too_small(j, t->longest, least > later ? least : later);
}

static asc_status read(asc_packed *x, const asc_trie_pass *p, double *out) {
    asc_ctx *ctx = x->j->ctx;
    asc_status st = ASC_OK;
    double *numbers = asc_calloc(ctx, ASC_MEM_GENERAL, x->part + 1, sizeof *numbers);
    if (numbers == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t k = 0; k < x->n_parts * x->n_layers; k++) {
        const size_t first = k / x->n_layers * x->part, layer = k % x->n_layers;
        ASC_TRY(asc_read_f64(ctx, x->results[k], numbers, (size_t)asc_tensor_elems(x->results[k])));
        for (size_t i = 0; i < p->n_takes; i++) {
            const size_t row = p->takes[i].row;
            if (p->takes[i].layer != layer || row < first || row >= first + x->part) continue;
            double v = numbers[row - first];
            if (!isfinite(v)) ASC_TRY(asc_model_explain_nan(x->j->m, "a value of the model's output"));
            out[p->takes[i].out] = v;
        }
    }
done:
    asc_free(ctx, numbers);
    return st;
}

static asc_status run_pass(asc_job *j, const asc_trie_plan *plan, const asc_kv *store, const asc_trie_pass *p,
                           double *out) {
    asc_ctx *ctx = j->ctx;
    asc_status st = ASC_OK;
    asc_packed x = {.j = j,
                    .n = p->n,
                    .tail = p->tail,
                    .past = p->past,
                    .n_layers = p->n_layers > 0 ? plan->look.n_layers : 0,
                    .whole = plan->whole,
                    .keep = p->n_keep > 0,
                    .store = store};
    asc_scope_begin(ctx);
    ASC_TRY(asc_packed_leaves(&x, p));
    bool again = asc_rehearse_begin(ctx);
    do {
        x.n_results = 0;
        st = asc_packed_record(&x);
    } while (asc_rehearsed(ctx, st, &again, x.results, x.n_results));
    if (st != ASC_OK) goto done;
    ASC_TRY(asc_run(ctx, x.results, x.n_results));
    ASC_TRY(read(&x, p, out));
    ASC_TRY(asc_packed_keep(&x, p));
    const double priced = asc_packed_priced_flops(j, p->n, p->tail, p->past),
                 seen = asc_packed_pair_flops(j) * p->pairs * (double)asc_neuron_blocks(j);
    if (priced > seen) j->unseen_flops += priced - seen;
done:
    asc_packed_deinit(&x);
    /* Behind the scope: within it, the end of a pass that only keeps keys is a value nobody read, and the
     * mark would run the pass again for it. */
    st = asc_scope_close(ctx, st);
    return st == ASC_OK ? asc_mark(ctx, "tokens") : st;
}

static asc_status run_all(asc_job *j, const asc_trie *t, const asc_trie_plan *plan, double *out) {
    asc_ctx *ctx = j->ctx;
    asc_trie_walk w;
    asc_kv *store = NULL;
    const double total = (double)(j->r->tokens_run + plan->look.tokens);
    bool more = true;
    asc_scope_begin(ctx);
    asc_status st = asc_trie_walk_init(&w, t, plan->most, plan->store, plan->look.past, plan->look.tail);
    if (st == ASC_OK) st = asc_packed_store(j, plan->look.past, 0, asc_neuron_blocks(j), false, &store);
    while (st == ASC_OK) {
        st = asc_trie_walk_next(&w, &more);
        if (st != ASC_OK || !more) break;
        const int depth = asc_prof_push(ctx, "tokens", (int64_t)j->r->tokens_run);
        st = run_pass(j, plan, store, &w.pass, out);
        asc_prof_pop(ctx, depth);
        j->r->tokens_run += w.pass.n;
        if (st == ASC_OK) st = asc_progress(ctx, "tokens", (double)j->r->tokens_run, total);
    }
    asc_trie_walk_deinit(&w);
    asc_free(ctx, store);
    return asc_scope_close(ctx, st);
}

asc_status asc_trie_values(asc_job *j, asc_trie_row *rows, size_t n, size_t whole, double *out) {
    asc_trie t;
    asc_trie_plan plan = {.whole = whole};
    asc_status st;
    ASC_TRY(asc_trie_init(&t, j->ctx, rows, n));
    ASC_TRY(choose(j, &t, &plan));
    const size_t beside = plan.store_bytes + (plan.look.shapes - 1) * plan.need.program_bytes;
    asc_job_note_peak(j, asc_job_settle(j, &plan.need, beside));
    if (plan.look.ended > j->r->prompts_per_pass) j->r->prompts_per_pass = plan.look.ended;
    if (j->estimate != NULL) {
        ASC_TRY(asc_trie_estimate(j, &t, &plan));
        j->r->tokens_run += plan.look.tokens;
    } else {
        ASC_TRY(run_all(j, &t, &plan, out));
    }
    j->r->tokens_plain += t.n_plain;
done:
    asc_trie_deinit(&t);
    return st;
}
