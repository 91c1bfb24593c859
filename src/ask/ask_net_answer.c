/* ask_net_answer.c - the answer to a question about a net as document, page and text: those of `ascribe
 * explain MODEL.onnx`. What the net says by itself is looked at when the first of them is written, not
 * before.
 */
#include "ask_net_parts.h"
#include "text_parts.h"

void asc_ask_net_answer_free(asc_answer *a) { (void)a; /* all of it lies in the question */ }

/* The report of the answer; false: it failed, and out holds that. */
static bool report_of(asc_answer *a, asc_text *out, asc_net_report *r, char text[256]) {
    asc_question *q = (asc_question *)(uintptr_t)a->question; /* what the net says is kept there */
    asc_ask_net *n = q->of_net;
    const asc_target *t = &q->attr.target;
    if (asc_ask_net_look(q) != ASC_OK) {
        out->b.failed = true;
        return false;
    }
    *r = (asc_net_report){.request = &q->attr,
                          .result = a->attribution,
                          .net = q->net,
                          .model_path = a->subject->path[0] != '\0' ? a->subject->path : NULL,
                          .top = n->look.top,
                          .n_top = n->look.n_top};
    if (t->weights == NULL && t->n_rows <= 1) {
        asc_net_target_text(q->net, t, n->labels, n->n_labels, text, 256);
        r->target_text = text;
    }
    if (n->picture.rgb != NULL) {
        r->picture = &n->picture;
        r->nhwc = n->prep.nhwc;
    }
    if (n->bytes.ptr != NULL) {
        r->bytes = n->bytes.ptr;
        r->n_bytes = n->bytes.len;
        r->offsets = n->offsets;
        r->n_offsets = n->n_offsets;
    }
    if (q->attr.n_at == 0) {
        r->feature_names = n->names;
        r->n_feature_names = n->n_names;
    }
    return true;
}

/* The command, kept while a document is written; NULL: no options say it. */
static asc_text *command_of(const asc_question *q) {
    asc_text *t = NULL;
    if (asc_text_create(q->ctx, &t) != ASC_OK) return NULL;
    if (!asc_question_command(q, t)) {
        asc_text_destroy(t);
        return NULL;
    }
    asc_text_add(t, asc_view_make("", 1)); /* ends it as a string */
    return t;
}

void asc_ask_net_json(asc_answer *a, asc_text *out) {
    asc_net_report r;
    char text[256];
    if (!report_of(a, out, &r, text)) return;
    asc_text *command = command_of(a->question);
    if (command != NULL) r.command = asc_text_view(command).ptr;
    asc_net_report_json(a->ctx, out, &r);
    asc_text_destroy(command);
}

void asc_ask_net_html(asc_answer *a, asc_text *out) {
    asc_net_report r;
    char text[256];
    if (!report_of(a, out, &r, text)) return;
    asc_text *command = command_of(a->question);
    if (command != NULL) r.command = asc_text_view(command).ptr;
    asc_net_report_html(a->ctx, out, &r);
    asc_text_destroy(command);
}

void asc_ask_net_text(asc_answer *a, asc_text *out, const asc_report_style *style) {
    asc_net_report r;
    char text[256];
    if (a->question->attr.dry_run) { /* says nothing of outputs: the net need not run for it */
        r = (asc_net_report){
            .request = &a->question->attr, .result = a->attribution, .net = a->question->net};
        asc_net_report_price(out, &r);
    } else if (report_of(a, out, &r, text)) {
        asc_net_report_text(a->ctx, out, &r, style);
    }
}
