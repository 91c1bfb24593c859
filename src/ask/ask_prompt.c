/* ask_prompt.c - the keys about prompts and texts into a request. What makes no sense together is refused
 * here, as the command line does it. */
#include "ask_parts.h"

#define ID(name) ASC_KEY_ID_##name

/* ---- the prompt ---- */

static asc_status read_messages(asc_question *q) {
    const asc_json *v = q->values[ID(MESSAGES)];
    size_t n = asc_json_len(v);
    if (v == NULL) return ASC_OK;
    if (asc_json_typeof(v) != ASC_JSON_ARRAY || n == 0)
        return asc_ask_wrong(q, ID(MESSAGES), v, "a list of {\"role\", \"content\"}");
    asc_message *m = asc_ask_alloc(q, n, sizeof *m);
    if (m == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) {
        const asc_json *one = asc_json_at(v, i);
        m[i] = (asc_message){asc_json_str(asc_json_get(one, "role")),
                             asc_json_str(asc_json_get(one, "content"))};
        if (m[i].role.ptr == NULL || m[i].content.ptr == NULL)
            return asc_ask_wrong(q, ID(MESSAGES), one, "a list of {\"role\", \"content\"}");
    }
    q->request.messages = m;
    q->request.n_messages = n;
    return ASC_OK;
}

static asc_status read_prompt(asc_question *q) {
    static const asc_key_id sources[] = {ID(PROMPT), ID(TEXT), ID(MESSAGES), ID(IDS)};
    asc_request *r = &q->request;
    asc_status st = asc_ask_one_of(q, sources, sizeof sources / sizeof *sources, "more than one prompt");
    if (st == ASC_OK) st = asc_ask_text(q, ID(PROMPT), &r->prompt);
    if (st == ASC_OK) st = asc_ask_text(q, ID(TEXT), &r->prompt);
    if (st == ASC_OK) st = asc_ask_ids(q, ID(IDS), &r->prompt_ids, &r->n_prompt_ids);
    if (st == ASC_OK) st = read_messages(q);
    if (st != ASC_OK) return st;
    if (r->prompt.ptr == NULL && r->prompt_ids == NULL && r->messages == NULL)
        return asc_ask_refuse(q, "no prompt: give \"prompt\"");
    return ASC_OK;
}

/* ---- the answer ---- */

static asc_status read_target(asc_question *q) {
    static const asc_key_id targets[] = {ID(TARGET), ID(TARGET_IDS), ID(GENERATE)},
                            others[] = {ID(VERSUS), ID(VERSUS_IDS)};
    asc_request *r = &q->request;
    asc_status st = asc_ask_one_of(q, targets, 3, "more than one target");
    if (st == ASC_OK) st = asc_ask_one_of(q, others, 2, "more than one other answer");
    if (st == ASC_OK) st = asc_ask_text(q, ID(TARGET), &r->target);
    if (st == ASC_OK) st = asc_ask_ids(q, ID(TARGET_IDS), &r->target_ids, &r->n_target_ids);
    if (st == ASC_OK) st = asc_ask_count(q, ID(GENERATE), &r->generate);
    if (st == ASC_OK) st = asc_ask_text(q, ID(VERSUS), &r->versus);
    if (st == ASC_OK) st = asc_ask_ids(q, ID(VERSUS_IDS), &r->versus_ids, &r->n_versus_ids);
    return st;
}

/* ---- the method ---- */

static asc_status read_method(asc_question *q) {
    asc_request *r = &q->request;
    asc_status st = asc_ask_string(q, ID(METHOD), &r->method);
    if (st == ASC_OK) st = asc_ask_choice(q, ID(RULE), &r->rule);
    if (st == ASC_OK) st = asc_ask_count(q, ID(STEPS), &r->steps);
    if (st == ASC_OK) st = asc_ask_positive(q, ID(TOLERANCE), &r->tolerance);
    if (st == ASC_OK) st = asc_ask_count(q, ID(MAX_EVALUATIONS), &r->max_evaluations);
    if (st == ASC_OK) st = asc_ask_number(q, ID(MAX_SECONDS), &r->max_seconds);
    if (st == ASC_OK) st = asc_ask_choice(q, ID(NORM), &r->norm);
    if (st == ASC_OK) st = asc_ask_count(q, ID(SAMPLES), &r->samples);
    if (st == ASC_OK) st = asc_ask_size(q, ID(MEMORY), &r->memory_bytes);
    if (st == ASC_OK) st = asc_ask_whole(q, ID(SEED), &r->seed);
    if (st == ASC_OK) st = asc_ask_bool(q, ID(DRY_RUN), &r->dry_run);
    return st;
}

asc_status asc_ask_prompt_parse(asc_question *q) {
    q->request = (asc_request){.struct_size = sizeof q->request};
    asc_status st = read_method(q);
    if (st == ASC_OK) st = read_prompt(q);
    if (st == ASC_OK) st = read_target(q);
    return st;
}

void asc_ask_prompt_free(asc_question *q) { (void)q; }
