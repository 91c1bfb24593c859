/* request.c - checks a request and turns it into a job: options, prompt, target, features. */
#include "ascribe/precision.h"
#include "method.h"
#include "neuron.h"
#include "plain.h"
#include "site_edits.h"
#include "target_encoder.h"
#include "view.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

asc_status asc_job_warn(asc_job *j, const char *fmt, ...) {
    char line[512];
    va_list ap;
    va_start(ap, fmt);
    asc_vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (j->r->n_warnings >= ASC_MAX_WARNINGS) return ASC_OK;
    char *copy = asc_strdup_view(j->ctx, ASC_MEM_GENERAL, asc_view_of(line));
    if (copy == NULL) return ASC_RESOURCE_EXHAUSTED;
    j->r->warnings[j->r->n_warnings++] = copy;
    return ASC_OK;
}

static asc_status find_method(asc_job *j) {
    const char *name = j->req->method != NULL ? j->req->method : "feature-ablation";
    int found = asc_method_find(name);
    if (found >= 0) j->method = asc_methods[found];
    if (j->method != NULL && j->method->run == NULL) {
        const char *why = j->method->not_on_prompts;
        ASC_FAIL(j->ctx, ASC_UNIMPLEMENTED, "%s works on nets (ONNX files), not on prompts%s%s", name,
                 why != NULL ? ": it " : "", why != NULL ? why : "");
        return asc_hint(j->ctx, "feature-ablation, integrated-gradients, deep-lift and lrp work on prompts");
    }
    if (j->method != NULL) {
        j->r->method = j->method->info.name;
        return ASC_OK;
    }
    char list[256] = "";
    for (size_t i = 0; i < asc_n_methods; i++) {
        size_t n = strlen(list);
        snprintf(list + n, sizeof list - n, "%s%s", i > 0 ? ", " : "", asc_methods[i]->info.name);
    }
    ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "unknown method '%.60s'", name);
    return asc_hint(j->ctx, "methods: %s", list);
}

/* "2" of "blocks.3.attn.heads:head=2": only its columns count. */
static asc_status choose_head(asc_job *j, const char *text) {
    const bool encoder = j->m->kind == ASC_MODEL_ENCODER;
    const int64_t n = encoder ? j->m->encoder->cfg.n_heads : j->m->decoder.cfg.n_heads;
    int64_t head;
    if (j->site != ASC_SITE_ATTN_HEADS) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "'%.60s': only attn.heads has heads", j->req->site);
        return asc_hint(j->ctx, "as blocks.%lld.attn.heads:head=0",
                        j->site_layer < 0 ? 0LL : (long long)j->site_layer);
    }
    if (!asc_site_number(asc_view_of(text), false, &head) || head >= n) {
        ASC_FAIL(j->ctx, ASC_OUT_OF_RANGE, "'%.60s': heads are 0 to %lld", j->req->site, (long long)n - 1);
        return asc_hint(j->ctx, "as blocks.%lld.attn.heads:head=0", (long long)j->site_layer);
    }
    j->site_columns = encoder ? j->m->encoder->cfg.head_dim : j->m->decoder.cfg.head_dim;
    j->site_first = head * j->site_columns;
    return ASC_OK;
}

static asc_status find_site(asc_job *j) {
    j->site = ASC_SITE_EMBED;
    j->site_layer = -1;
    const char *s = j->req->site;
    const bool given = s != NULL && s[0] != '\0';
    if (j->neuron.through && !given) { /* what flows through the neuron is read there */
        j->site = j->neuron.site;
        j->site_layer = j->neuron.layer;
        return ASC_OK;
    }
    if (!given && j->method->needs_site) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "%s needs a site", j->method->info.name);
        return asc_hint(j->ctx, "as blocks.0.mlp.act or blocks.0.out (ascribe inspect lists them)");
    }
    if (!given) return ASC_OK;
    if (!asc_method_reads(&j->method->info, "site")) {
        ASC_FAIL(j->ctx, ASC_UNIMPLEMENTED, "%s cannot attribute to a site", j->method->info.name);
        return asc_hint(j->ctx, "saliency, input-x-gradient, integrated-gradients and conductance can");
    }
    if (j->method->needs_baseline && j->req->per_token) {
        ASC_FAIL(j->ctx, ASC_UNIMPLEMENTED, "%s at a site has no scores of each answer token",
                 j->method->info.name);
        return asc_hint(j->ctx, "input-x-gradient has; or leave the site out");
    }
    const char *head = strstr(s, ":head=");
    asc_view name = head != NULL ? asc_view_make(s, (size_t)(head - s)) : asc_view_of(s);
    if (!asc_model_find_site(j->m, name, &j->site, &j->site_layer)) {
        ASC_FAIL(j->ctx, ASC_NOT_FOUND, "the model has no site '%.60s'", s);
        return asc_hint(
            j->ctx, "sites: embed, blocks.0.attn.in, blocks.0.attn.out, blocks.0.mlp.in, blocks.0.mlp.out, "
                    "blocks.0.out, ... (ascribe inspect lists them)");
    }
    if (j->site == ASC_SITE_FINAL_NORM) {
        ASC_FAIL(j->ctx, ASC_UNIMPLEMENTED,
                 "%.60s has only what the target is made of, not one row per token", s);
        return asc_hint(j->ctx, "use blocks.%lld.out", (long long)j->m->info.n_layers - 1);
    }
    if (asc_model_site_width(j->m, j->site, j->site_layer) == 0) {
        ASC_FAIL(j->ctx, ASC_UNIMPLEMENTED,
                 "%.60s is a mixture of experts, which has no one row of neurons for each token", s);
        return asc_hint(j->ctx, "use blocks.%lld.mlp.out", (long long)j->site_layer);
    }
    if (head != NULL) {
        asc_status st = choose_head(j, head + strlen(":head="));
        if (st != ASC_OK) return st;
    }
    j->r->site = asc_strdup_view(j->ctx, ASC_MEM_GENERAL, asc_view_of(s));
    return j->r->site != NULL ? asc_neuron_check_site(j) : ASC_RESOURCE_EXHAUSTED;
}

static asc_status set_baseline_text(asc_job *j) {
    char text[160];
    if (j->baseline_id >= 0) {
        asc_view p = asc_view_cut(asc_job_piece(j, j->baseline_id), 60);
        snprintf(text, sizeof text, "%s (token %d, \"" ASC_VIEW_FMT "\")", asc_baseline_name(j->baseline),
                 j->baseline_id, ASC_VIEW_ARG(p));
    } else {
        const char *name =
            j->baseline == ASC_BASELINE_AUTO ? "random tokens" : asc_baseline_name(j->baseline);
        snprintf(text, sizeof text, "%s", j->method->needs_baseline ? name : "none");
    }
    asc_free(j->ctx, j->r->baseline);
    j->r->baseline = asc_strdup_view(j->ctx, ASC_MEM_GENERAL, asc_view_of(text));
    return j->r->baseline != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

static asc_status choose_baseline(asc_job *j) {
    asc_ctx *ctx = j->ctx;
    const asc_tokenizer *tokenizer = asc_model_tokenizer(j->m);
    asc_tokenizer_info tk = {.pad = -1, .eos = -1};
    if (tokenizer != NULL) tk = asc_tokenizer_get_info(tokenizer);
    const asc_method *me = j->method;
    bool ablation = !me->by_gradient, encoder = j->m->kind == ASC_MODEL_ENCODER;
    j->baseline = j->req->baseline != ASC_BASELINE_AUTO ? j->req->baseline : me->auto_baseline;
    j->baseline_id = -1;
    if (!me->needs_baseline) return set_baseline_text(j);
    if (encoder && j->req->baseline == ASC_BASELINE_AUTO &&
        (ablation || me->auto_baseline != ASC_BASELINE_AUTO)) {
        j->baseline = asc_encoder_baseline(j, &j->baseline_id);
        return set_baseline_text(j);
    }
    if (encoder && j->baseline == ASC_BASELINE_PAD) tk.pad = j->m->encoder->cfg.pad;
    if (encoder && j->baseline == ASC_BASELINE_EOS) tk.eos = j->m->encoder->cfg.sep;
    if (j->baseline == ASC_BASELINE_EOS) j->baseline_id = tk.eos;
    if (j->baseline == ASC_BASELINE_PAD) j->baseline_id = tk.pad;
    if (j->baseline == ASC_BASELINE_TOKEN) j->baseline_id = j->req->baseline_token;
    bool by_token = j->baseline == ASC_BASELINE_EOS || j->baseline == ASC_BASELINE_PAD ||
                    j->baseline == ASC_BASELINE_TOKEN;
    if (by_token && (j->baseline_id < 0 || j->baseline_id >= j->m->info.n_vocab)) {
        ASC_FAIL(ctx, ASC_OUT_OF_RANGE, "baseline %s: the model has no such token",
                 asc_baseline_name(j->baseline));
        return asc_hint(ctx, "use --baseline token:ID with an id below %lld", (long long)j->m->info.n_vocab);
    }
    if (ablation && (j->baseline == ASC_BASELINE_ZERO || j->baseline == ASC_BASELINE_MEAN)) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s replaces tokens; the baseline '%s' is an embedding",
                 me->info.name, asc_baseline_name(j->baseline));
        return asc_hint(ctx, "use remove, mask, eos, pad or token:ID");
    }
    if (ablation && j->baseline == ASC_BASELINE_MASK && !encoder && !asc_model_shares_prefixes(j->m)) {
        ASC_FAIL(ctx, ASC_UNIMPLEMENTED,
                 "baseline mask is for models whose tokens see only what is before them");
        return asc_hint(ctx, "use remove, pad or token:ID");
    }
    if (!ablation && (j->baseline == ASC_BASELINE_REMOVE || j->baseline == ASC_BASELINE_MASK)) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s needs a point to start from; '%s' is none", me->info.name,
                 asc_baseline_name(j->baseline));
        return asc_hint(ctx, "use eos, pad, zero, mean or token:ID");
    }
    if (j->baseline == ASC_BASELINE_ZERO && j->m->info.scale_free) {
        asc_status st = asc_job_warn(
            j, "this model has RMS norms and no biases: near a zero baseline its output jumps at "
               "scales down to 1e-97, so scores from there have no meaning; use --baseline eos or "
               "feature-ablation");
        if (st != ASC_OK) return st;
    }
    return set_baseline_text(j);
}

static asc_status one_source(asc_job *j) {
    const asc_request *q = j->req;
    int n = (q->prompt.ptr != NULL) + (q->prompt_ids != NULL) + (q->messages != NULL);
    if (n != 1) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, n == 0 ? "no prompt" : "more than one prompt");
        return asc_hint(j->ctx, "give exactly one of a text, token ids, or chat messages");
    }
    if (q->target.ptr != NULL && q->target_ids != NULL) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "a target as text and as ids");
        return asc_hint(j->ctx, "give one of them");
    }
    return ASC_OK;
}

/* Classes and similarities are those of text encoders. */
static asc_status refuse_encoder_options(asc_job *j) {
    const asc_request *q = j->req;
    const char *what = q->label.ptr != NULL                 ? "a label"
                       : q->similar_to.ptr != NULL          ? "a text to be similar to"
                       : q->second.ptr != NULL              ? "a second text"
                       : q->output == ASC_OUTPUT_SIMILARITY ? "a similarity"
                                                            : NULL;
    if (what == NULL) return ASC_OK;
    ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "%s means nothing to a language model (%s)", what,
             j->m->info.architecture);
    return asc_hint(j->ctx, "explain a continuation instead: --target TEXT; labels belong to text encoders");
}

bool asc_job_tokens_move(const asc_job *j) {
    bool moves = false;
    if (j->method->by_gradient) return false;
    for (size_t i = 0; i < j->n_parts; i++) {
        const asc_part *p = &j->parts[i];
        const bool stays = p->n_fill == p->last - p->first || (p->n_fill == 0 && asc_encoder_hides(j));
        moves = moves || p->n_choices > 0 || !stays;
    }
    return moves;
}

/* Values that stand in the place of the model's own (asc_model_hold): nothing of the result says so
 * otherwise. */
static asc_status check_edits(asc_job *j) {
    const asc_site_edits *e = asc_model_edits(j->m);
    for (size_t i = 0; e != NULL && i < e->n; i++) {
        if (e->v[i].n_places == 0 || !asc_job_tokens_move(j)) continue;
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT,
                 "the values at '%s' are for certain tokens, which are elsewhere, or gone, in prompts with "
                 "parts left "
                 "out",
                 e->v[i].name);
        return asc_hint(
            j->ctx, "keep tokens in their places (--baseline eos, pad or token:ID), explain by gradients, "
                    "or replace every token's values");
    }
    if (e == NULL) return ASC_OK;
    return asc_job_warn(
        j,
        "inner values of the model were replaced, at %s%s: without them it answers otherwise, and the "
        "command line does not put them there",
        e->v[0].name, e->n > 1 ? " and other sites" : "");
}

asc_view asc_job_piece(const asc_job *j, int32_t id) {
    const asc_tokenizer *tk = asc_model_tokenizer(j->m);
    return tk != NULL && id >= 0 ? asc_token_piece(tk, id) : asc_view_of("");
}

asc_status asc_job_init(asc_job *j, asc_model *m, const asc_request *req) {
    return asc_job_init_beside(j, m, req, NULL);
}

asc_status asc_job_init_beside(asc_job *j, asc_model *m, const asc_request *req, const asc_job *known) {
    asc_ctx *ctx = m->ctx;
    asc_status st = ASC_OK;
    *j = (asc_job){.ctx = ctx, .m = m, .req = req, .known = known};
    j->r = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *j->r);
    if (j->r == NULL) return ASC_RESOURCE_EXHAUSTED;
    ASC_TRY(one_source(j));
    ASC_TRY(find_method(j));
    if (m->kind == ASC_MODEL_ENCODER) {
        ASC_TRY(asc_encoder_job_begin(j));
    } else {
        ASC_TRY(refuse_encoder_options(j));
    }
    ASC_TRY(asc_precision_check(j->ctx));
    ASC_TRY(asc_job_options(j));
    ASC_TRY(asc_neuron_find(j));
    ASC_TRY(asc_job_question(j));
    ASC_TRY(choose_baseline(j)); /* cheap mistakes first: before anything is computed */
    ASC_TRY(asc_job_prompt(j));
    ASC_TRY(asc_job_targets(j));
    ASC_TRY(asc_neuron_through(j));
    ASC_TRY(asc_job_span(j));
    ASC_TRY(find_site(j));
    ASC_TRY(check_edits(j));
done:
    return st;
}

void asc_job_deinit(asc_job *j) {
    asc_free(j->ctx, j->groups);
    asc_free(j->ctx, j->site_ends);
    asc_free(j->ctx, j->group_message);
    asc_free(j->ctx, j->active);
    asc_free(j->ctx, j->other);
    asc_free(j->ctx, j->parts);
    asc_free(j->ctx, j->fill);
    for (size_t i = 0; i < j->n_slot_fills; i++) asc_free(j->ctx, j->slot_fills[i]);
    asc_free(j->ctx, j->slot_fills);
    asc_free(j->ctx, j->choices);
    asc_free(j->ctx, j->placed);
    asc_free(j->ctx, j->off);
    asc_encoder_job_end(j);
    asc_free(j->ctx, j->whole_p);
    asc_free(j->ctx, j->whole_log_p);
    asc_result_destroy(j->ctx, j->r);
    *j = (asc_job){0};
}
