/* encoder_words.c - what reports say of text encoders: classes and similarities instead of next tokens. */
#include "report_parts.h"
#include "view.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

bool asc_of_encoder(const asc_result *r) { return r->label != NULL; }

static bool kind_is(const asc_result *r, const char *kind) {
    return r->answer_kind != NULL && strcmp(r->answer_kind, kind) == 0;
}

const char *asc_answer_word(const asc_result *r) {
    if (kind_is(r, "word")) return "word";
    return !asc_of_encoder(r) || kind_is(r, "span") ? "answer" : "class";
}

const char *asc_input_word(const asc_result *r) { return asc_of_encoder(r) ? "text" : "prompt"; }

asc_view asc_top_shown(const asc_report *rep, size_t i) {
    const asc_result *r = rep->result;
    if (asc_of_encoder(r)) return asc_view_of(r->top_labels[i] != NULL ? r->top_labels[i] : "");
    return rep->tokenizer != NULL ? asc_token_piece(rep->tokenizer, r->top[i].id) : asc_view_of("");
}

void asc_encoder_subject(const asc_result *r, const char *output_word, char out[160]) {
    if (r->output == ASC_OUTPUT_SIMILARITY)
        snprintf(out, 160, "the similarity with the other text");
    else
        snprintf(out, 160, "the %s of the %s%s%s", output_word, asc_answer_word(r),
                 r->n_versus > 0 ? " minus that of the other " : "",
                 r->n_versus > 0 ? asc_answer_word(r) : "");
}

void asc_put_encoder_json(asc_text *t, const asc_result *r) {
    if (!asc_of_encoder(r)) return;
    asc_text_object(t, "encoder");
    asc_text_strz(t, "answer", r->answer_kind);
    asc_text_strz(t, "label", r->label[0] != '\0' ? r->label : NULL);
    asc_text_strz(t, "versus_label", r->versus_label[0] != '\0' ? r->versus_label : NULL);
    asc_text_strz(t, "second", r->second[0] != '\0' ? r->second : NULL);
    asc_text_strz(t, "similar_to", r->similar_to[0] != '\0' ? r->similar_to : NULL);
    asc_text_end(t);
}

static void put_text(asc_text *t, const char *key, asc_view v) {
    if (v.ptr == NULL)
        asc_text_null(t, key);
    else
        asc_text_bytes(t, key, v);
}

void asc_put_encoder_request(asc_text *t, const asc_request *q) {
    if (q->second.ptr == NULL && q->label.ptr == NULL && q->similar_to.ptr == NULL && q->prompt_types == NULL)
        return;
    asc_text_object(t, "encoder");
    put_text(t, "second", q->second);
    put_text(t, "label", q->label);
    put_text(t, "similar_to", q->similar_to);
    if (q->prompt_types != NULL && q->prompt_ids != NULL)
        asc_put_ids(t, "types", q->prompt_types, q->n_prompt_ids);
    asc_text_end(t);
}
