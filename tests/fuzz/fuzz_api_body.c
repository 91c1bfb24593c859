/* fuzz_api_body.c - bodies of the HTTP API: the first byte says of which route, the rest is the body. What is
 * read is used as handlers use it: every field is asked for, ids and texts are taken out. */
#include "api.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    api_body b;
    serve_fault fault = {0};
    if (size < 1) return 0;
    const api_which which = (api_which)(data[0] % API_N_BODIES);
    if (!api_body_read(which, (asc_view){(const char *)data + 1, size - 1}, &b, &fault)) {
        if (fault.status != 400 || fault.message[0] == '\0') abort();
        api_body_free(&b);
        return 0;
    }
    if (which == API_CHAT) { /* as the handler does */
        if (!api_plain_messages(&b, &fault)) abort();
        (void)api_tools(&b);
    }
    for (size_t i = 0; i < b.table->n; i++) {
        const api_field *f = &b.table->fields[i];
        size_t n = 0;
        (void)api_number(&b, f->name, 0.0);
        (void)api_flag(&b, f->name, false);
        if (f->type == API_WHOLE) {
            const int64_t v = api_whole(&b, f->name, (int64_t)f->least);
            if ((double)v < f->least || (double)v > f->most) abort();
        }
        if (f->type == API_TEXT && api_get(&b, f->name) != NULL && !api_is_utf8(api_text(&b, f->name)))
            abort();
        if (f->type == API_IDS || f->type == API_PROMPT || f->type == API_INPUTS)
            free(api_ids(api_get(&b, f->name), &n));
        free(api_dump(api_get(&b, f->name)));
    }
    api_body_free(&b);
    return 0;
}
