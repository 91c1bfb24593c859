/* api_answer.c - the worker's part of an answer: generate, tell it as it comes or at the end, explain it if
 * asked. */
#include "api_generate.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sends a->doc as one event of a stream. */
static bool send_event(api_answer *a) {
    asc_text_clear(a->line);
    api_compact(a->line, asc_text_view(a->doc));
    return asc_text_status(a->line) == ASC_OK && job_event(a->j, NULL, asc_text_view(a->line));
}

static bool hear_prompt(void *self, const asc_generated *t) {
    api_answer *a = self;
    api_tokens_add(&a->prompt_told, t);
    return !a->prompt_told.failed && job_goes_on(a->j);
}

static bool hear(void *self, const asc_generated *t) {
    api_answer *a = self;
    api_tokens_add(&a->told, t);
    if (a->told.failed) return false;
    asc_text_add(a->text, t->text);
    if (!a->stream || (t->text.len == 0 && !a->logprobs)) return job_goes_on(a->j);
    api_shape_chunk(a, t->text, &a->told, a->told.n - 1, 1);
    return send_event(a);
}

/* The reply of a stream begins; of an echo the prompt goes first. */
static bool begin_stream(api_answer *a) {
    if (!a->begun) job_begin(a->j, 200, "text/event-stream");
    a->begun = true;
    if (a->chat) {
        api_shape_begin(a);
        return send_event(a);
    }
    if (!a->echo) return true;
    api_shape_chunk(a, (asc_view){a->prompt, a->prompt_len}, &a->prompt_told, 0, a->prompt_told.n);
    return send_event(a);
}

/* The question about the answer: its tokens without an end token. NULL: the answer is empty, or no memory. */
static char *question_json(const api_answer *a) {
    json_t *q = json_loads(a->question, JSON_ALLOW_NUL, NULL), *ids = json_array();
    size_t n = 0;
    for (size_t i = 0; q != NULL && ids != NULL && i < a->told.n; i++) {
        if (a->told.v[i].t.finish == ASC_FINISH_END) continue;
        json_array_append_new(ids, json_integer(a->told.v[i].t.id));
        n++;
    }
    char *json = NULL;
    if (n > 0 && json_object_set(q, "target_ids", ids) == 0) json = api_dump(q);
    json_decref(ids);
    json_decref(q);
    return json;
}

/* Explains the answer; the document goes to `out`, "null" for an empty one. */
static asc_status explain(api_answer *a, asc_text *out) {
    asc_subject *s = a->at->subject;
    asc_question *q = NULL;
    asc_answer *answer = NULL;
    char *json = question_json(a);
    asc_text_clear(out);
    if (json == NULL) {
        asc_text_adds(out, "null");
        return asc_text_status(out);
    }
    asc_status st = asc_question_parse(s, (asc_view){json, strlen(json)}, NULL, 0, &q);
    if (st == ASC_OK) st = asc_ask(s, q, &answer);
    if (st == ASC_OK) {
        asc_answer_json(answer, out);
        st = asc_text_status(out);
    }
    asc_answer_destroy(answer);
    asc_question_destroy(q);
    free(json);
    return st;
}

/* The question's answer behind the stream's last chunk. */
static asc_status stream_attribution(api_answer *a, asc_text *extra) {
    asc_status st = explain(a, extra);
    if (st != ASC_OK) return st;
    api_shape_empty(a);
    asc_text_clear(a->text);
    api_graft(a->text, asc_text_view(a->doc), "attribution", asc_text_view(extra));
    asc_text_clear(a->line);
    api_compact(a->line, asc_text_view(a->text));
    st = asc_text_status(a->line);
    if (st == ASC_OK) job_event(a->j, NULL, asc_text_view(a->line));
    return st;
}

static asc_status end_stream(api_answer *a, asc_text *extra) {
    asc_status st = ASC_OK;
    bool on = true;
    if (a->usage) {
        api_shape_usage(a);
        on = send_event(a);
    }
    if (on && a->question != NULL) st = stream_attribution(a, extra);
    if (st == ASC_OK) job_event(a->j, NULL, (asc_view){"[DONE]", 6});
    return st;
}

static asc_status end_whole(api_answer *a, asc_text *extra) {
    api_shape_whole_end(a);
    asc_status st = asc_text_status(a->doc);
    if (st != ASC_OK || a->question == NULL)
        return st != ASC_OK ? st : api_send(a->j, a->doc, "application/json");
    st = explain(a, extra);
    if (st != ASC_OK) return st;
    asc_text_clear(a->text);
    api_graft(a->text, asc_text_view(a->doc), "attribution", asc_text_view(extra));
    return api_send(a->j, a->text, "application/json");
}

/* One answer: its text, and its place in the reply or its chunks of the stream. *on: somebody listens still.
 */
static asc_status generate(api_answer *a, int32_t *out, bool *on) {
    const asc_view prompt = {a->prompt, a->prompt_len};
    asc_generate_options o = a->o;
    asc_finish why = ASC_FINISH_NONE;
    size_t n = 0;
    asc_text_clear(a->text);
    a->first_told = a->told.n;
    a->offset = a->echo ? api_n_characters(prompt) : 0;
    if (a->echo && !a->stream) asc_text_add(a->text, prompt);
    if (a->stream) *on = begin_stream(a);
    o.seed += a->choice;
    o.on_generated = hear;
    o.self = a;
    o.out_finish = &why;
    asc_status st = asc_generate(asc_subject_model(a->at->subject), a->ids, a->n, &o, out, &n);
    if (a->told.failed || a->prompt_told.failed)
        return job_fail(a->j, 503, "out_of_memory", NULL, "not enough memory for the answer", NULL);
    /* `hear` ends an answer whose job is to stop: half of one is no answer, and the worker knows what to say
     */
    if (st == ASC_OK && why == ASC_FINISH_CALLER) return ASC_CANCELLED;
    if (st != ASC_OK) return st;
    if (a->stream)
        api_shape_end(a, why);
    else
        api_shape_choice(a, why);
    if (a->stream) *on = send_event(a);
    return asc_text_status(a->text);
}

/* All answers, one after the other. */
static asc_status generate_all(api_answer *a, bool *on) {
    int32_t *out = malloc((a->o.max_tokens + 1) * sizeof *out);
    asc_status st = out != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
    if (st == ASC_OK && a->echo && a->logprobs)
        st = asc_model_logprobs(asc_subject_model(a->at->subject), a->ids, a->n, a->n_top, hear_prompt, a);
    if (st == ASC_OK && !a->stream) api_shape_whole_begin(a);
    for (a->choice = 0; st == ASC_OK && *on && a->choice < a->n_choices; a->choice++)
        st = generate(a, out, on);
    free(out);
    return st;
}

asc_status api_answer_run(job *j, const job_place *at, void *self) {
    api_answer *a = self;
    bool on = true;
    asc_text *extra = NULL;
    a->j = j;
    a->at = at;
    a->tk = asc_model_tokenizer(asc_subject_model(at->subject));
    snprintf(a->id, sizeof a->id, "%s-%s", a->chat ? "chatcmpl" : "cmpl", job_id(j));
    asc_status st = asc_text_create(at->ctx, &a->text);
    if (st == ASC_OK) st = asc_text_create(at->ctx, &a->doc);
    if (st == ASC_OK) st = asc_text_create(at->ctx, &a->line);
    if (st == ASC_OK) st = asc_text_create(at->ctx, &extra);
    if (st == ASC_OK) st = generate_all(a, &on);
    job_count_tokens(j, a->n, a->told.n);
    if (st == ASC_OK && on) st = a->stream ? end_stream(a, extra) : end_whole(a, extra);
    asc_text_destroy(extra);
    asc_text_destroy(a->line);
    asc_text_destroy(a->doc);
    asc_text_destroy(a->text);
    a->text = a->doc = a->line = NULL;
    return st;
}

/* A stream that cannot go on: an event that says so, in the shape of an error reply. */
void api_answer_failed(job *j, void *self, const char *code, const char *message, const char *hint) {
    const api_answer *a = self;
    json_t *e = json_pack("{s:{s:s,s:s,s:s,s:n,s:s}}", "error", "message", message, "type", "server_error",
                          "code", code, "param", "hint", hint);
    char *s = e != NULL ? api_dump(e) : NULL;
    if (a->stream && s != NULL) job_event(j, NULL, (asc_view){s, strlen(s)});
    free(s);
    json_decref(e);
}
