/* ask_net.c - questions about nets. */
#include "ask_parts.h"

asc_status asc_ask_net_parse(asc_question *q) {
    ASC_FAIL(q->ctx, ASC_UNIMPLEMENTED, "questions about nets as JSON are not supported");
    return asc_hint(q->ctx, "use asc_attribute, or ascribe explain MODEL.onnx");
}

void asc_ask_net_free(asc_question *q) { (void)q; }

asc_status asc_ask_net_run(asc_question *q, asc_answer *a) {
    (void)a;
    return ASC_FAIL(q->ctx, ASC_UNIMPLEMENTED, "questions about nets as JSON are not supported");
}

void asc_ask_net_answer_free(asc_answer *a) { (void)a; }

void asc_ask_net_json(asc_answer *a, asc_text *out) {
    (void)a;
    (void)out;
}

void asc_ask_net_html(asc_answer *a, asc_text *out) {
    (void)a;
    (void)out;
}

void asc_ask_net_text(asc_answer *a, asc_text *out, const asc_report_style *style) {
    (void)a;
    (void)out;
    (void)style;
}

bool asc_ask_net_command(const asc_question *q, asc_text *out) {
    (void)q;
    (void)out;
    return false;
}
