/* ask_prompt.c - the keys about language models and text encoders into a request. What makes no sense
 * together is refused here, as the command line does it. */
#include "ask_prompt.h"
#include "nearest.h"

#define ID(name) ASC_KEY_ID_##name

/* ---- the answer ---- */

/* A line of a batch: its own target replaces the run's, of whatever kind that is. */
static void drop_targets(asc_question *q) {
    asc_request *r = &q->request;
    if (asc_ask_has(q, ID(TARGET)) || asc_ask_has(q, ID(TARGET_IDS)) || asc_ask_has(q, ID(GENERATE))) {
        r->target = (asc_view){NULL, 0};
        r->target_ids = NULL;
        r->n_target_ids = r->generate = 0;
    }
    if (asc_ask_has(q, ID(VERSUS)) || asc_ask_has(q, ID(VERSUS_IDS))) {
        r->versus = (asc_view){NULL, 0};
        r->versus_ids = NULL;
        r->n_versus_ids = 0;
    }
    if (asc_ask_has(q, ID(CORRUPTED)) || asc_ask_has(q, ID(CORRUPTED_IDS))) {
        r->corrupted = (asc_view){NULL, 0};
        r->corrupted_ids = NULL;
        r->n_corrupted_ids = 0;
    }
}

static asc_status read_targets(asc_question *q) {
    static const asc_key_id targets[] = {ID(TARGET), ID(TARGET_IDS), ID(GENERATE)},
                            others[] = {ID(VERSUS), ID(VERSUS_IDS)},
                            corrupted[] = {ID(CORRUPTED), ID(CORRUPTED_IDS)},
                            classes[] = {ID(LABEL), ID(SIMILAR_TO)};
    asc_request *r = &q->request;
    drop_targets(q);
    asc_status st = asc_ask_one_of(q, targets, 3, "more than one target");
    if (st == ASC_OK) st = asc_ask_one_of(q, others, 2, "more than one other answer");
    if (st == ASC_OK) st = asc_ask_one_of(q, corrupted, 2, "more than one other prompt");
    if (st == ASC_OK) st = asc_ask_one_of(q, classes, 2, "more than one thing to explain");
    if (st == ASC_OK) st = asc_ask_text(q, ID(TARGET), &r->target);
    if (st == ASC_OK) st = asc_ask_ids(q, ID(TARGET_IDS), &r->target_ids, &r->n_target_ids);
    if (st == ASC_OK) st = asc_ask_count(q, ID(GENERATE), &r->generate);
    if (st == ASC_OK) st = asc_ask_text(q, ID(VERSUS), &r->versus);
    if (st == ASC_OK) st = asc_ask_ids(q, ID(VERSUS_IDS), &r->versus_ids, &r->n_versus_ids);
    if (st == ASC_OK) st = asc_ask_text(q, ID(CORRUPTED), &r->corrupted);
    if (st == ASC_OK) st = asc_ask_ids(q, ID(CORRUPTED_IDS), &r->corrupted_ids, &r->n_corrupted_ids);
    if (st == ASC_OK) st = asc_ask_text(q, ID(SECOND), &r->second);
    if (st == ASC_OK) st = asc_ask_text(q, ID(LABEL), &r->label);
    return st == ASC_OK ? asc_ask_text(q, ID(SIMILAR_TO), &r->similar_to) : st;
}

/* "2:5" is tokens, everything else text. */
static asc_status read_span(asc_question *q) {
    static const char wanted[] = "two token numbers as \"2:5\", the first smaller, or a part of the answer";
    const asc_json *v = q->values[ID(SPAN)];
    asc_request *r = &q->request;
    asc_view s = {0};
    asc_status st = asc_ask_text(q, ID(SPAN), &s);
    if (st != ASC_OK || v == NULL) return st;
    r->span = (asc_view){NULL, 0};
    r->span_start = r->span_end = 0;
    if (s.len == 0) return asc_ask_wrong(q, ID(SPAN), v, wanted);
    size_t colons = 0, digits = 0;
    for (size_t i = 0; i < s.len; i++) {
        colons += s.ptr[i] == ':';
        digits += s.ptr[i] >= '0' && s.ptr[i] <= '9';
    }
    if (colons == 0 || colons + digits < s.len || s.ptr[0] == ':') {
        r->span = s;
        return ASC_OK;
    }
    uint64_t n[2] = {0, 0};
    size_t which = 0;
    bool ok = colons == 1 && s.ptr[s.len - 1] != ':';
    for (size_t i = 0; ok && i < s.len; i++) {
        if (s.ptr[i] == ':')
            which++;
        else if ((n[which] = 10 * n[which] + (uint64_t)(s.ptr[i] - '0')) > INT32_MAX)
            ok = false;
    }
    if (!ok || n[0] >= n[1]) return asc_ask_wrong(q, ID(SPAN), v, wanted);
    r->span_start = n[0];
    r->span_end = n[1];
    return ASC_OK;
}

/* ---- the method ---- */

asc_status asc_ask_method(asc_question *q, const char **out) {
    const char *names[64], *near, *name = NULL;
    size_t n = 0;
    asc_status st = asc_ask_string(q, ASC_KEY_ID_METHOD, &name);
    if (st != ASC_OK || name == NULL) return st;
    int found = asc_method_find(name);
    if (found >= 0) {
        *out = asc_method_at((size_t)found)->name;
        return ASC_OK;
    }
    for (; n < 64 && asc_method_at(n) != NULL; n++) names[n] = asc_method_at(n)->name;
    ASC_FAIL(q->ctx, ASC_INVALID_ARGUMENT, "\"method\": there is no method '%.60s'", name);
    if ((near = asc_nearest_meant(names, n, asc_view_of(name))) != NULL)
        return asc_hint(q->ctx, "did you mean \"%s\"? `ascribe methods` lists them", near);
    return asc_hint(q->ctx, "`ascribe methods` has their names");
}

static asc_status read_baseline(asc_question *q) {
    asc_request *r = &q->request;
    const char *name = NULL;
    asc_status st = asc_ask_choice(q, ID(BASELINE), &name);
    if (st != ASC_OK || name == NULL) return st;
    if (strncmp(name, "token:", 6) != 0) {
        r->baseline = (asc_baseline)asc_baseline_from_name(name);
        return ASC_OK;
    }
    int64_t id = 0;
    bool ok = name[6] != '\0';
    for (const char *p = name + 6; ok && *p != '\0'; p++) {
        ok = *p >= '0' && *p <= '9' && id <= INT32_MAX;
        if (ok) id = 10 * id + (*p - '0');
    }
    if (!ok || id > INT32_MAX)
        return asc_ask_wrong(q, ID(BASELINE), q->values[ID(BASELINE)], "the id of a token behind token:");
    r->baseline = ASC_BASELINE_TOKEN;
    r->baseline_token = (int32_t)id;
    return ASC_OK;
}

static asc_status read_names(asc_question *q) {
    asc_request *r = &q->request;
    const char *features = NULL, *output = NULL, *compat = NULL;
    asc_status st = asc_ask_method(q, &r->method);
    if (st == ASC_OK) st = asc_ask_choice(q, ID(RULE), &r->rule);
    if (st == ASC_OK) st = asc_ask_choice(q, ID(NORM), &r->norm);
    if (st == ASC_OK) st = asc_ask_choice(q, ID(FEATURES), &features);
    if (st == ASC_OK) st = asc_ask_choice(q, ID(OUTPUT), &output);
    if (st == ASC_OK) st = asc_ask_choice(q, ID(COMPAT), &compat);
    if (st == ASC_OK) st = asc_ask_string(q, ID(SITE), &r->site);
    if (st == ASC_OK) st = asc_ask_string(q, ID(LAYERS), &r->layers);
    if (st == ASC_OK) st = asc_ask_string(q, ID(NEURON), &r->neuron);
    if (st == ASC_OK) st = read_baseline(q);
    if (st != ASC_OK) return st;
    const int method = r->method != NULL ? asc_method_find(r->method) : -1;
    const bool through = method >= 0 && asc_method_traits_at((size_t)method).needs_neuron;
    if (asc_ask_has(q, ID(NEURON)) && output != NULL && !through)
        return asc_ask_refuse(
            q, "give one of \"neuron\" and \"output\": a neuron's value is explained as it is");
    if (features != NULL) r->features = (asc_features)asc_features_from_name(features);
    if (output != NULL) r->output = (asc_output)asc_output_from_name(output);
    if (compat != NULL) r->compat_captum = true;
    return ASC_OK;
}

static asc_status read_numbers(asc_question *q) {
    asc_request *r = &q->request;
    asc_status st = asc_ask_count(q, ID(STEPS), &r->steps);
    if (st == ASC_OK) st = asc_ask_positive(q, ID(TOLERANCE), &r->tolerance);
    if (st == ASC_OK) st = asc_ask_count(q, ID(MAX_EVALUATIONS), &r->max_evaluations);
    if (st == ASC_OK) st = asc_ask_number(q, ID(MAX_SECONDS), &r->max_seconds);
    if (st == ASC_OK) st = asc_ask_count(q, ID(SAMPLES), &r->samples);
    if (st == ASC_OK) st = asc_ask_positive(q, ID(ALPHA), &r->alpha);
    if (st == ASC_OK) st = asc_ask_positive(q, ID(REFINE), &r->refine);
    if (st == ASC_OK) st = asc_ask_count(q, ID(TRIALS), &r->trials);
    if (st == ASC_OK) st = asc_ask_number(q, ID(STDEV), &r->stdev);
    if (st == ASC_OK) st = asc_ask_size(q, ID(MEMORY), &r->memory_bytes);
    if (st == ASC_OK) st = asc_ask_whole(q, ID(SEED), &r->seed);
    if (st == ASC_OK) st = asc_ask_bool(q, ID(PER_TOKEN), &r->per_token);
    return st == ASC_OK ? asc_ask_bool(q, ID(DRY_RUN), &r->dry_run) : st;
}

asc_status asc_ask_prompt_parse(asc_question *q) {
    q->prompt = asc_ask_alloc(q, 1, sizeof *q->prompt);
    if (q->prompt == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_status st = read_names(q);
    if (st == ASC_OK) st = read_numbers(q);
    if (st == ASC_OK) st = read_targets(q);
    if (st == ASC_OK) st = read_span(q);
    return st == ASC_OK ? asc_ask_read_prompt(q) : st;
}

void asc_ask_prompt_free(asc_question *q) {
    if (q->prompt == NULL) return;
    asc_chat_messages_free(q->ctx, &q->prompt->chat);
    asc_joined_prompt_free(q->prompt->joined);
}
